"""What the drivers of all browsers have in common: a process with a WebSocket to it, commands and their answers, and waiting for
what a page says."""
import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import aiohttp

# Starting a browser, and loading a page, on a busy machine; in seconds.
START = 60
COMMAND = 60
# Between two looks at something that no event tells of.
LOOK = 0.05


class Failed(Exception):
    """What a step found wrong, in a sentence."""


class Browser:
    """One browser process. The subclass says which program it is, how it is started, and how it speaks."""

    # Programs, the first that is there.
    programs = ()

    def __init__(self, log_path):
        self.log_path = log_path
        self.number = 0
        self.waiting = {}
        # By what the browser calls them.
        self.pages = {}

    # For the subclass

    def words(self, program):
        """The command line; files that the browser needs are put into `self.folder`."""
        raise NotImplementedError

    def address(self):
        """The WebSocket's URL once the browser has told it, else nothing."""
        raise NotImplementedError

    async def opened(self):
        """The WebSocket is open."""

    def happened(self, data):
        """A message that is no answer."""

    @staticmethod
    def fault(answer):
        """Why a command was refused, if it was."""
        raise NotImplementedError

    # The process

    async def start(self):
        program = next(filter(None, map(shutil.which, self.programs)), None)
        if not program:
            raise Failed(f"no {self.programs[0]} on this machine: tools/setup installs it")
        self.folder = tempfile.mkdtemp(prefix=f"parlor-{self.programs[0]}.")
        self.log = open(self.log_path, "w")
        self.process = subprocess.Popen(self.words(program), stdout=self.log, stderr=self.log, start_new_session=True)
        end = time.monotonic() + START
        while not (address := self.address()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"{self.programs[0]} did not start, see {self.log_path}")
            await asyncio.sleep(LOOK)
        self.http = aiohttp.ClientSession()
        self.socket = await self.http.ws_connect(address, max_msg_size=0)
        self.reader = asyncio.ensure_future(self.read())
        await self.opened()
        return self

    async def read(self):
        async for message in self.socket:
            if message.type != aiohttp.WSMsgType.TEXT:
                continue
            data = json.loads(message.data)
            future = self.waiting.pop(data.get("id"), None)
            if future is None:
                self.happened(data)
            elif not future.done():
                future.set_result(data)

    async def command(self, method, parameters=None, within=COMMAND, **more):
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.number] = future
        await self.socket.send_str(json.dumps({"id": self.number, "method": method, "params": parameters or {}, **more}))
        answer = await asyncio.wait_for(future, within)
        if fault := self.fault(answer):
            raise Failed(f"{method}: {fault}")
        return answer["result"]

    async def stop(self):
        # The group that this driver made: the browser and its helpers. Its profile is thrown away, so nothing is to be saved.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.reader.cancel()
        await self.http.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Waiting:
    """What a page of any browser has: `js`, `name`, `console`; and waiting for what they say."""

    async def until(self, condition, what, within=30, standing="undefined"):
        """Waits until the expression is true, and gives its value."""
        end = time.monotonic() + within
        last = None
        while time.monotonic() < end:
            try:
                last = await self.js(condition)
                if last:
                    return last
            except Failed as failure:
                last = str(failure)
            await asyncio.sleep(LOOK)
        try:
            how = await self.js(standing)
        except Failed as failure:
            how = str(failure)
        raise Failed(f"{self.name}: not within {within} s: {what} (last: {last}; {how}; console: {self.console[-5:]})")
