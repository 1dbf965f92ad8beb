"""Headless Chromium, driven by its DevTools protocol over a WebSocket."""
import asyncio
import base64
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


class Failed(Exception):
    """What a step found wrong, in a sentence."""


class Chromium:
    """One browser process. Each page is in a context of its own, as a person's own browser would be."""

    def __init__(self, log_path, arguments=()):
        self.log_path = log_path
        self.arguments = list(arguments)
        self.number = 0
        self.waiting = {}
        self.pages = {}

    async def start(self):
        self.folder = tempfile.mkdtemp(prefix="parlor-chromium.")
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program:
            raise Failed("no chromium on this machine: tools/setup installs it")
        words = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--no-default-browser-check", "--disable-extensions", "--disable-sync", "--disable-component-update",
            "--disable-background-networking", "--mute-audio", "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream", "--autoplay-policy=no-user-gesture-required",
            "--allow-loopback-in-peer-connection", "--disable-background-timer-throttling",
            "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--hide-scrollbars",
            "--auto-select-desktop-capture-source=Entire screen",
            # Nothing of a test may leave the machine.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            "--disable-features=WebRtcHideLocalIpsWithMdns,LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
            f"--user-data-dir={self.folder}", "--remote-debugging-port=0", *self.arguments, "about:blank",
        ]
        self.log = open(self.log_path, "w")
        self.process = subprocess.Popen(words, stdout=self.log, stderr=self.log, start_new_session=True)
        file = os.path.join(self.folder, "DevToolsActivePort")
        end = time.monotonic() + START
        lines = []
        while len(lines) < 2:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"chromium did not start, see {self.log_path}")
            await asyncio.sleep(0.05)
            if os.path.exists(file):
                lines = open(file).read().splitlines()
        self.http = aiohttp.ClientSession()
        self.socket = await self.http.ws_connect(f"ws://127.0.0.1:{lines[0]}{lines[1]}", max_msg_size=0)
        self.reader = asyncio.ensure_future(self.read())
        return self

    async def read(self):
        async for message in self.socket:
            if message.type != aiohttp.WSMsgType.TEXT:
                continue
            data = json.loads(message.data)
            if "id" in data:
                future = self.waiting.pop(data["id"], None)
                if future and not future.done():
                    future.set_result(data)
            elif page := self.pages.get(data.get("sessionId")):
                page.happened(data["method"], data["params"])

    async def command(self, method, parameters=None, session=None, within=COMMAND):
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.number] = future
        data = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            data["sessionId"] = session
        await self.socket.send_str(json.dumps(data))
        answer = await asyncio.wait_for(future, within)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']}")
        return answer["result"]

    async def stop(self):
        try:
            await self.command("Browser.close", within=5)
        except Exception:
            pass
        for _ in range(60):
            if self.process.poll() is not None:
                break
            await asyncio.sleep(0.05)
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
            await asyncio.sleep(0.05)
        try:
            how = await self.js(standing)
        except Failed as failure:
            how = str(failure)
        raise Failed(f"{self.name}: not within {within} s: {what} (last: {last}; {how}; console: {self.console[-5:]})")


class Page(Waiting):
    """A page in a context of its own."""

    def __init__(self, browser, name):
        self.browser = browser
        self.name = name
        self.console = []
        self.frames = []

    async def open(self, url, width=1280, height=800, dark=False, language="en-US", scale=1, mobile=False):
        browser = self.browser
        self.context = (await browser.command("Target.createBrowserContext"))["browserContextId"]
        target = await browser.command(
            "Target.createTarget", {"url": "about:blank", "browserContextId": self.context, "width": width, "height": height})
        self.target = target["targetId"]
        attached = await browser.command("Target.attachToTarget", {"targetId": self.target, "flatten": True})
        self.session = attached["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.command(domain + ".enable")
        await self.look(width, height, dark, scale, mobile)
        agent = (await browser.command("Browser.getVersion"))["userAgent"].replace("HeadlessChrome", "Chrome")
        await self.command("Network.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": language})
        await self.go(url)
        return self

    async def look(self, width, height, dark, scale=1, mobile=False):
        await self.command("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile})
        await self.command("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    async def go(self, url):
        await self.command("Page.navigate", {"url": url})
        await self.until("document.readyState === 'complete'", "the page loads")

    async def command(self, method, parameters=None, within=COMMAND):
        return await self.browser.command(method, parameters, self.session, within)

    def happened(self, method, data):
        if method == "Runtime.consoleAPICalled":
            words = [str(each.get("value", each.get("description"))) for each in data["args"]]
            self.console.append(f"{data['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.console.append(f"exception: {details.get('exception', {}).get('description') or details.get('text')}")
        elif method == "Log.entryAdded" and data["entry"]["level"] == "error":
            self.console.append(f"error: {data['entry']['text']} {data['entry'].get('url', '')}")
        elif method in ("Network.webSocketFrameSent", "Network.webSocketFrameReceived"):
            self.frames.append((">" if method.endswith("Sent") else "<") + data["response"]["payloadData"])

    async def js(self, expression, within=COMMAND):
        """The value of an expression; a promise is awaited."""
        answer = await self.command("Runtime.evaluate", {
            "expression": expression, "awaitPromise": True, "returnByValue": True, "userGesture": True}, within)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or json.dumps(details)[:400]
            raise Failed(f"{self.name}: {expression[:120]}: {text}")
        return answer["result"].get("value")

    async def click(self, selector):
        """As a person does: where the element is, with the mouse."""
        place = await self.until(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e || e.disabled) return 0;"
            " e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect();"
            " const at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);"
            " return r.width > 0 && (e === at || e.contains(at)) ? [r.x + r.width / 2, r.y + r.height / 2] : 0; })()",
            f"{selector} can be clicked")
        for kind in ("mousePressed", "mouseReleased"):
            await self.command("Input.dispatchMouseEvent", {
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1})

    async def type(self, words):
        await self.command("Input.insertText", {"text": words})

    async def press(self, key, code=None, modifiers=0):
        printable = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        base = {"key": key, "code": code or (f"Key{key.upper()}" if key.isalpha() and len(key) == 1 else key),
                "modifiers": modifiers}
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}
        if key in codes:
            base["windowsVirtualKeyCode"] = codes[key]
        await self.command("Input.dispatchKeyEvent", {"type": "keyDown", **base, **printable})
        await self.command("Input.dispatchKeyEvent", {"type": "keyUp", **base})

    async def shot(self, path):
        picture = await self.command("Page.captureScreenshot", {"format": "png"})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    async def close(self):
        self.browser.pages.pop(self.session, None)
        try:
            await self.browser.command("Target.disposeBrowserContext", {"browserContextId": self.context}, within=10)
        except (Failed, asyncio.TimeoutError):
            pass
