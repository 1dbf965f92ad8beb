"""Headless Chromium, driven by its DevTools protocol over a WebSocket."""
import asyncio
import base64
import json
import os

from browser import COMMAND, Browser, Failed, Waiting


class Chromium(Browser):
    """One browser process. Each page is in a context of its own, as a person's own browser would be."""

    programs = ("chromium", "chromium-browser", "google-chrome")

    def __init__(self, log_path, arguments=()):
        super().__init__(log_path)
        self.arguments = list(arguments)

    def words(self, program):
        return [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--no-default-browser-check", "--disable-extensions", "--disable-sync", "--disable-component-update",
            "--disable-background-networking", "--mute-audio", "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream", "--autoplay-policy=no-user-gesture-required",
            "--allow-loopback-in-peer-connection", "--disable-background-timer-throttling",
            "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--hide-scrollbars",
            "--auto-select-desktop-capture-source=Entire screen",
            # Nothing of a test may leave the machine.
            # `plain.test` is the node by a name that is not localhost's: no secure context.
            "--host-resolver-rules=MAP plain.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            "--disable-features=WebRtcHideLocalIpsWithMdns,LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
            f"--user-data-dir={self.folder}", "--remote-debugging-port=0", *self.arguments, "about:blank",
        ]

    def address(self):
        try:
            with open(os.path.join(self.folder, "DevToolsActivePort")) as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return None
        return f"ws://127.0.0.1:{lines[0]}{lines[1]}" if len(lines) == 2 else None

    def happened(self, data):
        if page := self.pages.get(data.get("sessionId")):
            page.happened(data["method"], data["params"])

    @staticmethod
    def fault(answer):
        return answer.get("error")


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
        return await self.browser.command(method, parameters, within, sessionId=self.session)

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

    async def click(self, selector, button="left"):
        """As a person does: where the element is, with the mouse."""
        place = await self.place(selector)
        await self.mouse("mousePressed", place, button)
        await self.mouse("mouseReleased", place, button)

    async def mouse(self, kind, place, button="left"):
        await self.command("Input.dispatchMouseEvent", {
            "type": kind, "x": place[0], "y": place[1], "button": button, "clickCount": 1})

    async def place(self, selector):
        """The middle of an element on which nothing lies."""
        return await self.until(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e || e.disabled) return 0;"
            " e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect();"
            " const at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);"
            " return r.width > 0 && (e === at || e.contains(at)) ? [r.x + r.width / 2, r.y + r.height / 2] : 0; })()",
            f"{selector} can be clicked")

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

    async def leave(self):
        """Closes the tab as a person does, so that the page hears of it. Nothing can be done with it afterwards."""
        await self.command("Page.close")

    async def close(self):
        self.browser.pages.pop(self.session, None)
        try:
            await self.browser.command("Target.disposeBrowserContext", {"browserContextId": self.context}, within=10)
        except (Failed, asyncio.TimeoutError):
            pass
