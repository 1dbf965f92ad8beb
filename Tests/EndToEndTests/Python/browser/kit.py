"""What the scenarios have in common: pages that are people in rooms, and what is verified of pictures and sound."""
import asyncio
import base64
import hashlib
import hmac
import json
import os
import struct
import socket
import time
from urllib.parse import urlencode

from browser import LOOK, Failed
from chromium import Page

# In every page: reads the row of the synthetic picture out of each decoded frame, and the tone out of the sound.
WATCHER = """
globalThis.watcher ??= (async () => {
    const { read, sourceOf } = await import('/page/pattern.js');
    const context = new OffscreenCanvas(320, 180).getContext('2d', { willReadFrequently: true });
    const records = new Map();
    const video = (key) => document.querySelector(`.tile[data-key="${key}"] video`);
    // Records every frame of a tile: when it was shown, how wide it was, whose it was and its number.
    const record = (key) => {
        const element = video(key);
        if (!element || records.get(key)?.element === element) return;
        const frames = [];
        records.set(key, { element, frames });
        const next = () => element.requestVideoFrameCallback(() => {
            const found = read(element, context);
            frames.push({ at: performance.now(), width: element.videoWidth, source: found?.source, number: found?.number });
            if (frames.length > 3000) frames.splice(0, 1000);
            next();
        });
        next();
    };
    // A tile that went and came again has another element.
    const frames = (key, since) => {
        record(key);
        return (records.get(key)?.frames ?? []).filter((frame) => frame.at >= since);
    };
    // The strongest frequency in the sound of a user, and how strong it is, in dB.
    const ears = new Map();
    const listen = (user) => {
        const track = parlor.client?.remoteUser(user)?.audioTracks[0];
        if (!track?.mediaStreamTrack) return null;
        let ear = ears.get(track.mediaStreamTrack);
        if (!ear) {
            const audio = new AudioContext();
            const analyser = new AnalyserNode(audio, { fftSize: 8192, smoothingTimeConstant: 0 });
            audio.createMediaStreamSource(new MediaStream([track.mediaStreamTrack])).connect(analyser);
            ear = { audio, analyser, bins: new Float32Array(analyser.frequencyBinCount) };
            ears.set(track.mediaStreamTrack, ear);
        }
        ear.analyser.getFloatFrequencyData(ear.bins);
        let best = 0;
        ear.bins.forEach((level, bin) => { if (level > ear.bins[best]) best = bin; });
        return { frequency: best * ear.audio.sampleRate / 8192, level: Math.max(ear.bins[best], -200) };
    };
    return { record, frames, listen, sourceOf };
})();
"""

# What the browser itself writes to the console of requests and connections that failed.
OF_THE_NETWORK = ("error: Failed to load resource: ", "error: WebSocket connection to ")

# The tones of synthetic.js.
LOWEST, STEP, STEPS = 300, 20, 24


def source_of(name):
    value = 0
    for letter in name:
        value = (value * 33 + ord(letter)) & 0xFF
    return value


def frequency_of(name):
    return LOWEST + source_of(name) % STEPS * STEP


def signature(text):
    return base64.urlsafe_b64encode(hmac.new(b"devsecret", text.encode(), hashlib.sha1).digest()).decode()


def room_token(room, user, expires):
    """Of the development key, until that time of the world; `parlor token` makes none that is over already."""
    payload = {"appId": "demo", "roomName": room, "userId": user, "expireAt": int(expires), "permission": "user"}
    part = base64.urlsafe_b64encode(json.dumps(payload).encode()).decode()
    return f"devkey:{signature(part)}:{part}"


def need(condition, sentence):
    if not condition:
        raise Failed(sentence)


class Person:
    """Somebody in a room, through the page."""

    def __init__(self, page, name, user):
        self.page = page
        self.name = name
        self.user = user

    def __getattr__(self, name):
        return getattr(self.page, name)

    async def state(self):
        return await self.js("JSON.stringify([parlor.client?.connectionState, parlor.client?.mediaStates,"
                             " document.querySelector('#lobby-problem').textContent])")

    async def joined(self, publishes=True):
        media = " && parlor.client.mediaStates.publishing === 'connected'" if publishes else ""
        await self.until(
            f"parlor.client?.connectionState === 'connected' && !document.querySelector('#room').hidden{media}",
            f"{self.user} is in the room", standing="JSON.stringify([parlor.client?.connectionState, "
            "parlor.client?.mediaStates, document.querySelector('#lobby-problem').textContent, "
            "document.querySelector('#notices').textContent])")
        await self.js(WATCHER + "watcher.then(() => true)")

    async def sees(self, other, frames=8, width=None, within=30, since=None):
        """Frames of the other one, decoded: theirs, in their order, and so many. Gives the time at which it was so."""
        key = other.user
        await self.js(f"watcher.then((w) => w.record({json.dumps(key)}))")
        since = await self.js("performance.now()") if since is None else since
        end = time.monotonic() + within
        seen = []
        while time.monotonic() < end:
            seen = await self.js(f"watcher.then((w) => w.frames({json.dumps(key)}, {since}))")
            self.check(other, seen)
            # Of the latest ones most can be read: the last black pictures of a camera that has just come back, and the first rough
            # ones of a layer, are waited out.
            fit = [each for each in seen if width is None or each["width"] == width][-frames * 5 // 4:]
            if len([each for each in fit if each.get("number") is not None]) >= frames:
                return
            await asyncio.sleep(0.05)
        how = await self.js("JSON.stringify([parlor.client?.mediaStates, parlor.client?.remoteUserList.map((u) =>"
                            " [u.userID, ...[...u.tracks.values()].map((t) => [t.kind, t.isSubscribed, t.profile])])])")
        raise Failed(f"{self.user}: not within {within} s: {frames} frames of {key}, width {width}; "
                     f"last {seen[-3:]}, {len(seen)} in all; {how}; {self.page.console[-3:]}")

    def check(self, other, frames):
        """Not one of them is somebody else's, or goes back."""
        marks = [each for each in frames if each.get("number") is not None]
        wrong = [each for each in marks if each["source"] != source_of(other.name)]
        need(not wrong, f"{self.user}: frames in {other.user}'s tile are somebody else's: {wrong[:3]}")
        for one, two in zip(marks, marks[1:]):
            step = (two["number"] - one["number"]) & 0xFFFF
            need(step < 1000, f"{self.user}: frames of {other.user} go back: {one} {two}")

    async def hears(self, other, within=30):
        """The other one's own tone."""
        wanted = frequency_of(other.name)
        end = time.monotonic() + within
        loudest = None
        while time.monotonic() < end:
            ear = await self.js(f"watcher.then((w) => w.listen({json.dumps(other.user)}))")
            if ear and ear["level"] > -60:
                loudest = ear
                if abs(ear["frequency"] - wanted) < 8:
                    return
            await asyncio.sleep(0.05)
        raise Failed(f"{self.user} does not hear {other.user}'s tone of {wanted} Hz within {within} s: {loudest}")

    async def hears_nothing_of(self, other, within=20, quiet=1.5):
        """Silence for longer than the tone's pause."""
        end = time.monotonic() + within
        begin = time.monotonic()
        while time.monotonic() < end:
            ear = await self.js(f"watcher.then((w) => w.listen({json.dumps(other.user)}))")
            if ear and ear["level"] > -75:
                begin = time.monotonic()
            if time.monotonic() - begin > quiet:
                return
            await asyncio.sleep(0.05)
        raise Failed(f"{self.user} still hears {other.user} after {within} s")

    async def longest_gap(self, other, since, until=None):
        """Between two frames of the other one's since that time of the page, in ms."""
        frames = await self.js(f"watcher.then((w) => w.frames({json.dumps(other.user)}, {since}))")
        end = await self.js("performance.now()") if until is None else until
        times = [since] + [each["at"] for each in frames if each["at"] < end] + [end]
        return max(two - one for one, two in zip(times, times[1:]))

    async def usual_gap(self, other, before, seconds=3):
        """The longest gap of the seconds before that time of the page: what the machine makes of it without anybody's doing."""
        return await self.longest_gap(other, before - seconds * 1000, before)

    async def has_picture(self, other, isShown=True, within=20):
        # A tile that is not there has neither.
        await self.until(f"document.querySelector('.tile[data-key={json.dumps(other.user)}]')?.classList.contains('pictured')"
                         f" === {json.dumps(isShown)}", f"{other.user}'s tile has {'a' if isShown else 'no'} picture", within)

    async def banner(self):
        return await self.js("document.querySelector('#banner').hidden ? '' : document.querySelector('#banner').dataset.state")

    async def ending(self, within=20):
        await self.until("!document.querySelector('#ending').hidden", "the ending is shown", within)
        return await self.js("document.querySelector('#ending-reason').textContent")


async def eventually(condition, what, within=30):
    """Waits until something of the test's own is so."""
    end = time.monotonic() + within
    while not condition():
        need(time.monotonic() < end, f"not within {within} s: {what}")
        await asyncio.sleep(LOOK)


async def says(page, selector, key, within=30):
    """The page shows the sentence of that key, in its own language and then in the other one: none of it is left behind."""
    for language in ("en", "zh", "en"):
        sentence = await page.js(f"""(async () => {{
            const [{{ text, setLanguage }}] = [await import('/page/texts.js')];
            setLanguage('{language}');
            const [head] = text('{key}').split('{{');
            return head;
        }})()""")
        need(len(sentence) > 3 and sentence != key, f"{key} has no sentence in {language}")
        await page.until(f"document.querySelector('{selector}').textContent.includes({json.dumps(sentence)})",
                         f"{selector} says {sentence!r}", within, standing=f"document.querySelector('{selector}').textContent")


class Proxy:
    """Between a page and the node, for HTTP and signalling: it can cut, and refuse. The media does not come through it."""

    def __init__(self, port):
        self.target = port
        self.pairs = []
        self.refuses = False
        self.refused = 0

    async def start(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def accept(self, reader, writer):
        if self.refuses:
            self.refused += 1
            return self.reset(writer)
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return self.reset(writer)
        pair = (writer, there_writer)
        self.pairs.append(pair)

        async def carry(source, sink):
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            except (ConnectionError, OSError):
                pass
            finally:
                sink.close()

        await asyncio.gather(carry(reader, there_writer), carry(there_reader, writer))
        if pair in self.pairs:
            self.pairs.remove(pair)

    @staticmethod
    def reset(writer):
        raw = writer.get_extra_info("socket")
        try:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        writer.transport.abort()

    def cut(self):
        for one, two in self.pairs:
            self.reset(one)
            self.reset(two)
        self.pairs = []

    def stop(self):
        self.cut()
        self.server.close()


class Relay:
    """A network for the media: takes datagrams on one address of loopback and sends them on to the node on another, as a
    NAT does; it can lose everything, and change the ports that the node sees."""

    def __init__(self, address, ports, target):
        self.address = address
        self.ports = ports
        self.target = target
        self.loses = False
        self.paths = {}
        self.passed = 0

    async def start(self):
        loop = asyncio.get_running_loop()
        relay = self

        class Outside(asyncio.DatagramProtocol):
            def __init__(self, port):
                self.port = port

            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, client):
                if not relay.loses:
                    asyncio.ensure_future(relay.forward(self, data, client))

        self.outside = [
            await loop.create_datagram_endpoint(lambda port=port: Outside(port), local_addr=(self.address, port))
            for port in self.ports]
        return self

    async def forward(self, outside, data, client):
        key = (outside.port, client)
        path = self.paths.get(key)
        if path is None:
            relay = self

            class Inside(asyncio.DatagramProtocol):
                def datagram_received(self, data, _):
                    if not relay.loses:
                        outside.transport.sendto(data, client)

                def error_received(self, _):
                    pass

            path = asyncio.get_running_loop().create_task(asyncio.get_running_loop().create_datagram_endpoint(
                Inside, remote_addr=(self.target, outside.port)))
            self.paths[key] = path
        transport, _ = await path
        self.passed += 1
        transport.sendto(data)

    def rebind(self):
        """Forgets the ports: whatever comes next goes out from another one."""
        for path in self.paths.values():
            path.result()[0].close()
        self.paths = {}

    def stop(self):
        self.rebind()
        for transport, _ in self.outside:
            transport.close()


class Stage:
    """What one scenario has: a node, a browser, and the people in it."""

    def __init__(self, options, browser, folder):
        self.options = options
        self.browser = browser
        self.url = options.url
        self.https = options.https
        self.parlor = options.parlor
        self.folder = folder
        self.people = []
        self.proxies = []
        self.nodes = []
        os.makedirs(folder, exist_ok=True)

    async def person(self, room, name, user, publishes=True, base=None, look=None, waits=True, **wishes):
        query = {"room": room, "name": name, "user": user, "source": "synthetic" if publishes else "none", "autojoin": "1",
                 "size": "480x270", "fps": "10", "lang": "en", **wishes}
        page = Page(self.browser, user)
        self.people.append(page)
        await page.open(f"{base or self.url}/?{urlencode(query)}", **(look or {}))
        person = Person(page, name, user)
        if waits:
            await person.joined(publishes)
        return person

    async def page(self, path, name, base=None, **look):
        page = Page(self.browser, name)
        self.people.append(page)
        return await page.open((base or self.url) + path, **look)

    async def proxy(self):
        proxy = await Proxy(int(self.url.rsplit(":", 1)[1])).start()
        self.proxies.append(proxy)
        return proxy, f"http://127.0.0.1:{proxy.port}"

    async def cli(self, *words):
        """A client command of the node; gives what it printed."""
        where = [] if words[0] == "token" else ["--url", self.url]
        process = await asyncio.create_subprocess_exec(
            self.parlor, *words, *where, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        output, error = await asyncio.wait_for(process.communicate(), 30)
        need(process.returncode == 0, f"parlor {' '.join(words)}: {error.decode()}")
        return output.decode().strip()

    async def api(self, method, target, body):
        """A request to the server API, signed with the development key; gives the status."""
        host = self.url.removeprefix("http://")
        text = json.dumps(body)
        sign = f"{method} {target}\nHost: {host}\nContent-Type: application/json\n\n{text}"
        headers = {"Content-Type": "application/json", "Authorization": f"Qiniu devkey:{signature(sign)}"}
        async with self.browser.http.request(method, self.url + target, data=text, headers=headers) as answer:
            return answer.status

    async def node(self):
        """A second node, which the scenario may end: the process, and its URL. `close` ends it, too."""
        port = int(self.options.spare)
        need(port, "the run was given no spare ports")
        process = await asyncio.create_subprocess_exec(
            self.parlor, "serve", "--dev", "--http-listen", f"127.0.0.1:{port}", "--http-tls-listen", "off",
            "--media-listen", "127.0.0.1", "--media-port", str(port + 2), "--media-workers", "1",
            "--media-plain-port-range", f"{port + 4}-{port + 7}", stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL)
        self.nodes.append(process)

        async def ready():
            while (line := await process.stdout.readline()) != b"ready\n":
                need(line, "the second node did not start")

        await asyncio.wait_for(ready(), 60)
        return process, f"http://127.0.0.1:{port}"

    async def shot(self, page, name):
        await page.shot(os.path.join(self.folder, f"{name}.png"))

    async def close(self, complaints=()):
        """Everybody leaves; gives what went wrong in the pages' own code. complaints: what the browser's errors may
        begin with here; an exception is a fault all the same."""
        faults = []
        for page in self.people:
            faults += [f"{page.name}: {line}" for line in page.console if line.startswith(("exception", "error"))
                       and not line.startswith(complaints)]
            await page.close()
        for proxy in self.proxies:
            proxy.stop()
        for node in self.nodes:
            if node.returncode is None:
                node.kill()
            await node.wait()
        self.people, self.proxies, self.nodes = [], [], []
        return faults
