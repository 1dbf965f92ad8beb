"""What the scripts of this folder have in common: a node and its rooms, WHIP and WHEP by hand, and the picture and the tone
that tell who made them. Only the standard library."""
import argparse
import array
import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import math
import os
import re
import sys
import time
import traceback
from urllib.parse import urlencode, urlsplit

# The picture of the node's page (pattern.js): 32 blocks in the lowest twenty-fourth.
WIDTH, HEIGHT, RATE = 320, 240, 15
BLOCK, ROW = WIDTH // 32, HEIGHT // 24
# Its tones (synthetic.js), in Hz.
LOWEST, STEP, STEPS = 300, 20, 24
SOUND_RATE = 48_000


class Failed(Exception):
    """What was to be shown is not so."""


def need(condition, sentence):
    if not condition:
        raise Failed(sentence)


# Who made it

def source_of(name):
    value = 0
    for letter in name:
        value = (value * 33 + ord(letter)) & 0xFF
    return value


def frequency_of(name):
    return LOWEST + source_of(name) % STEPS * STEP


def check_of(source, number):
    return (source * 31 + (number & 0xFF) * 7 + (number >> 8) * 13 + 0x5A) & 0xFF


def planes(name, number):
    """A picture of a user, with its number in it, as the planes of I420. The colour is the user's, too, and a bar moves."""
    source, number = source_of(name), number & 0xFFFF
    word = source << 24 | number << 8 | check_of(source, number)
    line = bytearray([100]) * WIDTH
    at = number * 4 % (WIDTH - 16)
    line[at:at + 16] = bytes([200]) * 16
    row = b"".join(bytes([235 if word >> (31 - bit) & 1 else 16]) * BLOCK for bit in range(32))
    luma = bytes(line) * (HEIGHT - ROW) + row * ROW
    chroma = WIDTH // 2 * (HEIGHT // 2 - ROW // 2)
    grey = bytes([128]) * (WIDTH // 2 * (ROW // 2))
    blue, red = colour_of(name)
    return luma, bytes([blue]) * chroma + grey, bytes([red]) * chroma + grey


def colour_of(name):
    source = source_of(name)
    return 64 + source % 8 * 16, 64 + source // 8 % 8 * 16


def read_picture(luma, stride, blue, red, chroma_stride, width, height):
    """(source, number) of a decoded picture, and its colour; None: the row is not there, or was changed on its way."""
    line = height * 47 // 48 * stride
    word = 0
    for block in range(32):
        at = line + (2 * block + 1) * width // 64
        word = word << 1 | (sum(luma[at - 1:at + 2]) > 3 * 125)
    source, number, check = word >> 24, word >> 8 & 0xFFFF, word & 0xFF
    if check != check_of(source, number):
        return None
    middle = height // 4 * chroma_stride + width // 4
    return source, number, (blue[middle], red[middle])


def tone(name, first, count):
    """So many samples of a user's tone, one channel, 16 bits."""
    step = 2 * math.pi * frequency_of(name) / SOUND_RATE
    return array.array("h", (int(8000 * math.sin(step * (first + at))) for at in range(count))).tobytes()


def share_of(samples, frequency):
    """The part of the sound's energy that is at a frequency, from 0 to 1."""
    count = len(samples)
    energy = sum(value * value for value in samples) / max(count, 1)
    if energy < 100:
        return 0.0
    coefficient = 2 * math.cos(2 * math.pi * frequency / SOUND_RATE)
    last = before = 0.0
    for value in samples:
        last, before = value + coefficient * last - before, last
    power = last * last + before * before - coefficient * last * before
    return 2 * power / (count * count * energy)


class Seen:
    """What a player has decoded: numbers by user, and the latest sound."""

    # 100 ms, so that each frequency, a multiple of 20 Hz, makes whole periods.
    WINDOW = SOUND_RATE // 10

    def __init__(self):
        self.pictures = []
        self.unreadable = 0
        self.sound = array.array("h")
        self.samples = 0

    def picture(self, found):
        if found is None:
            self.unreadable += 1
        else:
            self.pictures.append(found)

    def heard(self, samples):
        self.sound.extend(samples)
        self.samples += len(samples)
        del self.sound[:-4 * self.WINDOW]

    def numbers(self, name, since=0):
        return [number for source, number, _ in self.pictures[since:] if source == source_of(name)]

    def share(self, name):
        """The best of the last windows: packets that were late on a busy machine leave a hole in one."""
        windows = [self.sound[at:at + self.WINDOW] for at in range(0, len(self.sound), self.WINDOW)]
        return max((share_of(part, frequency_of(name)) for part in windows if len(part) == self.WINDOW), default=0.0)

    def plays(self, name, pictures=20, since=0):
        return len(self.numbers(name, since)) >= pictures and (self.samples == 0 or self.share(name) > 0.9)

    def verify(self, name, since=0, sound=True):
        """All that was decoded is this user's, in its order, and sounds like it. Returns a word on it."""
        numbers = self.numbers(name, since)
        need(len(numbers) >= 20, f"{len(numbers)} pictures of {name} were decoded")
        others = {source for source, _, _ in self.pictures[since:]} - {source_of(name)}
        need(not others, f"pictures of somebody else came: {others}")
        need(all(a < b for a, b in zip(numbers, numbers[1:])), f"pictures came out of order: {numbers}")
        whole = numbers[-1] - numbers[0] + 1
        need(len(numbers) > whole / 2, f"only {len(numbers)} of {whole} pictures came")
        need(self.unreadable <= len(self.pictures) // 10, f"{self.unreadable} pictures were not readable")
        wanted = colour_of(name)
        for _, number, colour in self.pictures[since:]:
            need(all(abs(a - b) < 16 for a, b in zip(colour, wanted)), f"picture {number} has colour {colour}, not {wanted}")
        if sound:
            need(self.share(name) > 0.9, f"the tone of {name} has {self.share(name):.2f} of the sound's energy")
        return f"{len(numbers)}/{whole} pictures" + (f", tone {self.share(name):.2f}" if sound else "")


# A node

class Node:
    def __init__(self, options):
        self.url = options.url
        self.media_port = options.media_port
        self.pid = options.pid
        # For another script.
        self.options = ["--url", self.url, "--media-port", str(self.media_port), "--pid", str(self.pid)]

    def token(self, room, user):
        """A room token, made as docs/server-api.md says, with the development keys."""
        claims = {"appId": "demo", "roomName": room, "userId": user, "expireAt": int(time.time()) + 600, "permission": "user"}
        body = base64.urlsafe_b64encode(json.dumps(claims).encode())
        mac = base64.urlsafe_b64encode(hmac.new(b"devsecret", body, hashlib.sha1).digest())
        return f"devkey:{mac.decode()}:{body.decode()}"

    def send(self, method, path, headers=None, body=None):
        """(status, headers, text)"""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    async def request(self, *words, **named):
        return await asyncio.get_running_loop().run_in_executor(None, lambda: self.send(*words, **named))

    def figures(self):
        """Of /metrics, over all workers: name or reason of a drop, and number."""
        found = {}
        for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? ([\d.e+-]+)$", self.send("GET", "/metrics")[2], re.M):
            if name.startswith("parlor_http") and "running" not in name:
                continue
            reason = re.search(r'reason="(\w+)"', labels or "")
            key = "dropped " + reason[1] if name == "parlor_dropped_total" and reason else name
            found[key] = found.get(key, 0) + float(value)
        return found

    def processor_time(self):
        """Seconds that the node's threads have taken."""
        words = open(f"/proc/{self.pid}/stat").read().rsplit(") ", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Bytes that are resident."""
        return int(open(f"/proc/{self.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def lives(self):
        return self.send("GET", "/healthz")[0] == 200


class Leg:
    """A leg of WHIP or WHEP: what its client says by HTTP."""

    def __init__(self, node, kind, room, user, query=()):
        self.node, self.kind = node, kind
        self.path = "/" + kind + ("?" + urlencode(query) if query else "")
        self.token = node.token(room, user)
        self.location = self.tag = self.offer = self.answer = None

    def headers(self, **more):
        return {"Authorization": f"Bearer {self.token}", **{name.replace("_", "-"): text for name, text in more.items()}}

    def open(self, offer):
        """Posts the offer and returns the answer."""
        status, headers, text = self.node.send(
            "POST", self.path, self.headers(Content_Type="application/sdp"), offer)
        need(status == 201, f"POST {self.path}: {status} {text}")
        self.location, self.tag, self.offer, self.answer = headers["Location"], headers["ETag"], offer, text
        need(self.location.startswith(f"/{self.kind}/"), f"Location is {self.location}")
        need(self.tag and self.tag.startswith('"'), f"the ETag is strong: {self.tag}")
        return text

    def patch(self, fragment, match):
        """(status, headers, text)"""
        more = {"If_Match": match} if match else {}
        return self.node.send(
            "PATCH", self.location, self.headers(Content_Type="application/trickle-ice-sdpfrag", **more), fragment)

    def state(self):
        status, _, text = self.node.send("GET", self.location)
        return json.loads(text) if status == 200 else None

    def close(self):
        status, _, text = self.node.send("DELETE", self.location, self.headers())
        need(status == 200, f"DELETE {self.location}: {status} {text}")
        need(self.state() is None, "a leg that was deleted is gone")


# Scenarios

async def until(sentence, condition, within=25.0):
    """Waits for something to be so."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"after {within:.0f} s it was not so: {sentence() if callable(sentence) else sentence}")
        await asyncio.sleep(0.02)


def arguments(groups):
    parser = argparse.ArgumentParser()
    for name, kind in [("--url", str), ("--media-port", int), ("--pid", int)]:
        parser.add_argument(name, type=kind, required=True)
    parser.add_argument("groups", nargs="+", choices=list(groups))
    return parser.parse_args()


def main(groups):
    """Runs the scenarios of the groups that the command line names: coroutines that take a node and return a word on it."""
    options = arguments(groups)
    failed = False
    for scenario in [scenario for group in options.groups for scenario in groups[group]]:
        begin = time.monotonic()

        async def run():
            return await asyncio.wait_for(scenario(Node(options)), 55)

        try:
            word = asyncio.run(run())
            print(f"PASS {scenario.__name__} in {time.monotonic() - begin:.1f} s: {word}", flush=True)
        except Exception as error:  # whatever it is, the next one is tried
            failed = True
            sentence = str(error) or type(error).__name__
            print(f"FAIL {scenario.__name__} after {time.monotonic() - begin:.1f} s: {sentence}", flush=True)
            if not isinstance(error, Failed):
                traceback.print_exc()
    sys.stdout.flush()
    # Threads of the clients' own that are stuck hold nobody up.
    os._exit(1 if failed else 0)
