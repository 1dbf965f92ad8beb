#!/usr/bin/env python3
"""Runs a group of scenarios against a running node, and prints a line for each step.

    run.py --url http://127.0.0.1:7880 --https https://127.0.0.1:7843 --parlor PATH --out FOLDER GROUP [NAME]

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


async def run(options):
    failed = 0
    chosen = [each for each in GROUPS[options.group] if not options.only or options.only in each[1].__name__]
    for title, function, settings in chosen:
        begin = time.monotonic()

        def step(sentence):
            print(f"  {sentence} ({time.monotonic() - begin:.1f} s)", flush=True)

        arguments = settings.get("arguments", []) + ["--ignore-certificate-errors"]
        stage = await Stage(options.url, options.https, options.parlor, options.out).open(arguments)
        print(f"SCENARIO {title}", flush=True)
        try:
            await function(stage, step)
            faults = await stage.leave_all()
            if faults and not settings.get("expects_faults"):
                raise Failed(f"the pages' consoles have errors: {faults[:5]}")
            print(f"PASS {title} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception as error:
            failed += 1
            for number, page in enumerate(stage.people):
                try:
                    await stage.shot(page, f"failed-{function.__name__}-{number}")
                except Exception:
                    pass
            words = str(error) if isinstance(error, Failed) else "".join(traceback.format_exception(error))
            print(f"FAIL {title} ({time.monotonic() - begin:.1f} s): {words}", flush=True)
        finally:
            await stage.close()
    return 1 if failed or not chosen else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--https", default="")
    parser.add_argument("--parlor", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("group", choices=sorted(GROUPS))
    parser.add_argument("only", nargs="?", default="")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
