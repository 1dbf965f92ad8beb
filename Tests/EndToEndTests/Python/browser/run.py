#!/usr/bin/env python3
"""Runs a group of scenarios against a running node, and prints a line for each step.

    run.py --url http://127.0.0.1:7880 --https https://127.0.0.1:7843 --parlor PATH --out FOLDER [--media PORT] GROUP [NAME]

Exit code 0: everything held. Screenshots are in the folder.
"""
import argparse
import asyncio
import os
import sys
import time
import traceback

from chromium import Failed
from kit import Stage
from scenarios import GROUPS


async def play(options, title, function, settings):
    """One scenario in a browser of its own; gives whether it held."""
    begin = time.monotonic()
    lines = [f"SCENARIO {title}"]

    def step(sentence):
        lines.append(f"  {sentence} ({time.monotonic() - begin:.1f} s)")

    stage = await Stage(options).open(settings.get("arguments", []) + ["--ignore-certificate-errors"])
    try:
        await function(stage, step)
        faults = await stage.leave_all()
        if faults and not settings.get("expects_faults"):
            raise Failed(f"the pages' consoles have errors: {faults[:5]}")
        lines.append(f"PASS {title} ({time.monotonic() - begin:.1f} s)")
        return True
    except Exception as error:
        for number, page in enumerate(stage.people):
            try:
                await stage.shot(page, f"failed-{function.__name__}-{number}")
            except Exception:
                pass
        words = str(error) if isinstance(error, Failed) else "".join(traceback.format_exception(error))
        lines.append(f"FAIL {title} ({time.monotonic() - begin:.1f} s): {words}")
        return False
    finally:
        print("\n".join(lines), flush=True)
        await stage.close()


async def run(options):
    """The scenarios of the group, one after the other; those that mostly wait go beside them."""
    chosen = [each for each in GROUPS[options.group]
              if (options.only in each[1].__name__ if options.only else not each[2].get("slow"))]
    beside = [asyncio.ensure_future(play(options, *each)) for each in chosen if each[2].get("beside")]
    held = [await play(options, *each) for each in chosen if not each[2].get("beside")]
    held += [await each for each in beside]
    return 0 if held and all(held) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--https", default="")
    parser.add_argument("--parlor", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--media", default="0", help="the node's first media port")
    parser.add_argument("group", choices=sorted(GROUPS))
    parser.add_argument("only", nargs="?", default="")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
