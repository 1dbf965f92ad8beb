"""Headless Firefox, driven by WebDriver BiDi over a WebSocket."""
import base64
import json
import os
import re

from browser import COMMAND, Browser, Failed, Waiting

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


class Firefox(Browser):
    """One browser process."""

    programs = ("firefox-esr", "firefox")

    def words(self, program):
        with open(os.path.join(self.folder, "user.js"), "w") as file:
            for name, value in SETTINGS.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        return [program, "--headless", "--no-remote", "--profile", self.folder, "--remote-debugging-port=0", "about:blank"]

    def address(self):
        with open(self.log_path) as file:
            found = re.search(r"WebDriver BiDi listening on (ws://\S+)", file.read())
        return found and found[1] + "/session"

    async def opened(self):
        await self.command("session.new", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": True}}})
        await self.command("session.subscribe", {"events": ["log.entryAdded"]})

    def happened(self, data):
        if data.get("method") != "log.entryAdded":
            return
        entry = data["params"]
        if page := self.pages.get(entry["source"].get("context")):
            kind = "exception" if entry["type"] == "javascript" and entry["level"] == "error" else entry["level"]
            page.console.append(f"{kind}: {entry.get('text')}")

    @staticmethod
    def fault(answer):
        return answer.get("type") == "error" and f"{answer['error']}: {answer['message']}"


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
