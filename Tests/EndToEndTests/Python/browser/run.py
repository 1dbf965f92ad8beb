#!/usr/bin/env python3
"""Runs groups of scenarios against a running node, and prints a line for each step.

    run.py --url http://127.0.0.1:7880 --https https://127.0.0.1:7843 --parlor PATH --out FOLDER [--media PORT] [--spare PORT] [--width N] [--only NAME] GROUP...

Exit code 0: everything held. Screenshots are in the folder, by group.
"""
import argparse
import asyncio
import contextlib
import os
import sys
import time
import traceback

from browser import Failed
from chromium import Chromium
from kit import Stage
from scenarios import GROUPS


class Browsers:
    """One Chromium for all scenarios that want the same arguments: each page is in a context of its own anyway, and a start costs
    more than many a scenario."""

    def __init__(self, folder):
        self.folder = folder
        self.started = {}

    async def get(self, arguments):
        key = tuple(arguments)
        if key not in self.started:
            log = os.path.join(self.folder, f"chromium-{len(self.started)}.log")
            self.started[key] = asyncio.ensure_future(Chromium(log, [*arguments, "--ignore-certificate-errors"]).start())
        return await self.started[key]

    async def stop(self):
        for browser in self.started.values():
            if browser.done() and not browser.exception():
                await browser.result().stop()


async def play(options, browsers, turns, group, title, function, settings):
    """One scenario; gives whether it held."""
    async with contextlib.nullcontext() if settings.get("beside") else turns:
        begin = time.monotonic()
        lines = [f"SCENARIO {group}: {title}"]

        def step(sentence):
            lines.append(f"  {sentence} ({time.monotonic() - begin:.1f} s)")

        stage = Stage(options, await browsers.get(settings.get("arguments", [])), os.path.join(options.out, group))
        try:
            await function(stage, step)
            faults = await stage.close(settings.get("complaints", ()))
            if faults:
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
    """The scenarios of the groups, so many at a time; those that only wait go beside them."""
    chosen = [(group, *each) for group in options.groups for each in GROUPS[group]
              if (options.only in each[1].__name__ if options.only else not each[2].get("slow"))]
    # Those that wait longest first, so that they are not waited for at the end.
    chosen.sort(key=lambda each: not each[3].get("beside"))
    os.makedirs(options.out, exist_ok=True)
    browsers = Browsers(options.out)
    turns = asyncio.Semaphore(options.width)
    begin = time.monotonic()
    try:
        held = await asyncio.gather(*(play(options, browsers, turns, *each) for each in chosen))
    finally:
        await browsers.stop()
    print(f"{sum(held)} of {len(held)} scenarios held, in {time.monotonic() - begin:.0f} s", flush=True)
    return 0 if held and all(held) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--https", default="")
    parser.add_argument("--parlor", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--media", default="0", help="the node's first media port")
    parser.add_argument("--spare", default="0", help="the first of eight free ports, for a second node")
    parser.add_argument("--width", type=int, default=3, help="scenarios at a time")
    parser.add_argument("--only", default="", help="those whose function has this in its name, the slow ones too")
    parser.add_argument("groups", nargs="+", choices=sorted(GROUPS), metavar="GROUP")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
