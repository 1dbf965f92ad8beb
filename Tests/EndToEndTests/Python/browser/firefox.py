"""Headless Firefox, driven by WebDriver BiDi over a WebSocket."""
import asyncio
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import aiohttp

from chromium import COMMAND, START, Failed, Waiting

SETTINGS = {
    "media.navigator.streams.fake": True, "media.navigator.permission.disabled": True,
    "media.peerconnection.ice.loopback": True, "media.peerconnection.ice.obfuscate_host_addresses": False,
    "media.autoplay.default": 0, "media.autoplay.blocking_policy": 0, "media.gmp-manager.updateEnabled": False,
    "media.getusermedia.insecure.enabled": True, "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.enabled": False, "app.update.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    # Nothing of a test may leave the machine.
    "network.dns.localDomains": "localhost", "network.dns.offline-localhost": True, "extensions.update.enabled": False,
    "services.settings.server": "data:,none", "browser.safebrowsing.update.enabled": False, "remote.active-protocols": 1,
}


class Firefox:
    """One browser process."""

    def __init__(self, log_path):
        self.log_path = log_path
        self.number = 0
        self.waiting = {}
        self.pages = {}

    async def start(self):
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if not program:
            raise Failed("no firefox on this machine: tools/setup installs it")
        self.folder = tempfile.mkdtemp(prefix="parlor-firefox.")
        with open(os.path.join(self.folder, "user.js"), "w") as file:
            for name, value in SETTINGS.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.log = open(self.log_path, "w")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", self.folder, "--remote-debugging-port=0", "about:blank"],
            stdout=self.log, stderr=self.log, start_new_session=True)
        end = time.monotonic() + START
        found = None
        while not found:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"firefox did not start, see {self.log_path}")
            await asyncio.sleep(0.05)
            found = re.search(r"WebDriver BiDi listening on (ws://\S+)", open(self.log_path).read())
        self.http = aiohttp.ClientSession()
        self.socket = await self.http.ws_connect(found[1] + "/session", max_msg_size=0)
        self.reader = asyncio.ensure_future(self.read())
        await self.command("session.new", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": True}}})
        await self.command("session.subscribe", {"events": ["log.entryAdded"]})
        return self

    async def read(self):
        async for message in self.socket:
            data = json.loads(message.data)
            if future := self.waiting.pop(data.get("id"), None):
                if not future.done():
                    future.set_result(data)
            elif data.get("method") == "log.entryAdded":
                entry = data["params"]
                if page := self.pages.get(entry["source"].get("context")):
                    kind = "exception" if entry["type"] == "javascript" and entry["level"] == "error" else entry["level"]
                    page.console.append(f"{kind}: {entry.get('text')}")

    async def command(self, method, parameters=None, within=COMMAND):
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.number] = future
        await self.socket.send_str(json.dumps({"id": self.number, "method": method, "params": parameters or {}}))
        answer = await asyncio.wait_for(future, within)
        if answer.get("type") == "error":
            raise Failed(f"{method}: {answer['error']}: {answer['message']}")
        return answer["result"]

    async def stop(self):
        try:
            await self.command("browser.close", within=5)
        except Exception:
            pass
        # The group that this driver made: the browser and its helpers.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.reader.cancel()
        await self.http.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class FirefoxPage(Waiting):
    """A page, with what scenarios need of it."""

    def __init__(self, browser, name):
        self.browser = browser
        self.name = name
        self.console = []

    async def open(self, url):
        made = await self.browser.command("browsingContext.create", {"type": "window"})
        self.context = made["context"]
        self.browser.pages[self.context] = self
        await self.browser.command("browsingContext.navigate", {"context": self.context, "url": url, "wait": "complete"})
        return self

    async def js(self, expression, within=COMMAND):
        answer = await self.browser.command("script.evaluate", {
            "expression": expression, "target": {"context": self.context}, "awaitPromise": True, "userActivation": True,
            "serializationOptions": {"maxObjectDepth": 6}}, within)
        if answer["type"] == "exception":
            raise Failed(f"{self.name}: {expression[:120]}: {answer['exceptionDetails']['text']}")
        return plain(answer["result"])

    async def shot(self, path):
        picture = await self.browser.command("browsingContext.captureScreenshot", {"context": self.context})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    async def close(self):
        self.browser.pages.pop(self.context, None)


def plain(value):
    """A value of BiDi as Python has it."""
    kind = value["type"]
    if kind == "array":
        return [plain(each) for each in value.get("value", [])]
    if kind == "object":
        return {key: plain(each) for key, each in value.get("value", [])}
    if kind in ("undefined", "null"):
        return None
    return value.get("value", kind)
