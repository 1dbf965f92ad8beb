"""aiortc as WHIP publisher and WHEP player, with pictures that carry a number and a tone. What is decoded is verified."""
import asyncio
import fractions
import os
import time

import aioice.ice
import av
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription

import kit
from kit import Failed, Leg, Seen, main, need, until

# Loopback only, and no server of anybody's.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]
CONFIGURATION = RTCConfiguration(iceServers=[])
# A publisher's sound: 20 ms.
SAMPLES = kit.SOUND_RATE // 50


class Clocked(MediaStreamTrack):
    """A source whose frames come at their time."""

    async def wait(self, seconds):
        if self.readyState != "live":
            raise Failed("the track has ended")
        self.begin = getattr(self, "begin", None) or time.monotonic()
        await asyncio.sleep(max(0, self.begin + seconds - time.monotonic()))


class Pictures(Clocked):
    kind = "video"

    def __init__(self, name):
        super().__init__()
        self.name, self.number = name, 0

    async def recv(self):
        await self.wait(self.number / kit.RATE)
        frame = av.VideoFrame(kit.WIDTH, kit.HEIGHT, "yuv420p")
        for plane, content in zip(frame.planes, kit.planes(self.name, self.number)):
            rows = plane.height
            width = len(content) // rows
            gap = bytes(plane.line_size - width)
            plane.update(content if not gap else b"".join(
                content[at * width:(at + 1) * width] + gap for at in range(rows)))
        frame.pts, frame.time_base = self.number * 90_000 // kit.RATE, fractions.Fraction(1, 90_000)
        self.number += 1
        return frame


class Tone(Clocked):
    kind = "audio"

    def __init__(self, name):
        super().__init__()
        self.name, self.first = name, 0

    async def recv(self):
        await self.wait(self.first / kit.SOUND_RATE)
        frame = av.AudioFrame(format="s16", layout="mono", samples=SAMPLES)
        frame.planes[0].update(kit.tone(self.name, self.first, SAMPLES))
        frame.pts, frame.sample_rate = self.first, kit.SOUND_RATE
        frame.time_base = fractions.Fraction(1, kit.SOUND_RATE)
        self.first += SAMPLES
        return frame


def only(kind, names):
    """The codecs of aiortc that have these names, and RTX; the order is that of the names."""
    codecs = RTCRtpSender.getCapabilities(kind).codecs
    chosen = [codec for name in names for codec in codecs if codec.mimeType.lower() == f"{kind}/{name}".lower()]
    return chosen + [codec for codec in codecs if codec.mimeType.lower() == "video/rtx"]


class Client:
    """A peer connection and its leg."""

    def __init__(self, node, kind, room, user, query=()):
        self.user = user
        self.leg = Leg(node, kind, room, user, query)
        self.peer = RTCPeerConnection(CONFIGURATION)

    async def join(self):
        """Without trickle: the offer has all candidates."""
        await self.peer.setLocalDescription(await self.peer.createOffer())
        offer = self.peer.localDescription.sdp
        need("a=candidate" in offer, "the offer has its candidates")
        answer = await asyncio.get_running_loop().run_in_executor(None, self.leg.open, offer)
        await self.peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        return self

    async def connected(self):
        await until(lambda: f"{self.user} is connected, not {self.peer.connectionState}",
                    lambda: self.peer.connectionState == "connected")
        return self

    async def leave(self):
        await asyncio.get_running_loop().run_in_executor(None, self.leg.close)
        await self.peer.close()

    async def __aenter__(self):
        return await self.join()

    async def __aexit__(self, *_):
        await self.peer.close()


class Publisher(Client):
    def __init__(self, node, room, user, video=("VP8",)):
        super().__init__(node, "whip", room, user)
        if video:
            self.video = self.peer.addTransceiver(Pictures(user), direction="sendonly")
            self.video.setCodecPreferences(only("video", video))
        self.peer.addTransceiver(Tone(user), direction="sendonly")


class Player(Client):
    def __init__(self, node, room, user, video=("VP8", "H264"), query=()):
        super().__init__(node, "whep", room, user, query)
        self.seen = Seen()
        self.tasks = []
        self.video = self.peer.addTransceiver("video", direction="recvonly")
        self.video.setCodecPreferences(only("video", video))
        self.peer.addTransceiver("audio", direction="recvonly")
        self.peer.on("track", lambda track: self.tasks.append(asyncio.ensure_future(self.play(track))))

    async def play(self, track):
        while True:
            try:
                frame = await track.recv()
            except Exception:  # the track has ended
                return
            if track.kind == "video":
                luma, blue, red = (memoryview(plane) for plane in frame.planes[:3])
                self.seen.picture(kit.read_picture(
                    luma, frame.planes[0].line_size, blue, red, frame.planes[1].line_size, frame.width, frame.height))
            else:
                # Two channels, one after the other: the left one.
                self.seen.heard(memoryview(bytes(frame.planes[0])).cast("h")[:frame.samples * 2:2])

    async def plays(self, user, pictures=30, since=0):
        await until(
            lambda: f"{self.user} plays {user}: {len(self.seen.numbers(user, since))} pictures of "
            f"{len(self.seen.pictures)} and {self.seen.unreadable} that were not readable, "
            f"{self.seen.samples} samples of which {self.seen.share(user):.2f} is its tone",
            lambda: len(self.seen.numbers(user, since)) >= pictures and self.seen.samples
            and self.seen.share(user) > 0.9)


# Codecs

async def call(node, codec):
    room = f"aiortc-{codec.lower()}"
    async with Publisher(node, room, "ann", (codec,)) as publisher:
        answer = publisher.leg.answer
        need(f" {codec}/90000" in answer and " opus/48000/2" in answer, f"{codec} and Opus were taken:\n{answer}")
        await publisher.connected()
        async with Player(node, room, "bob") as player:
            await player.plays("ann")
            word = player.seen.verify("ann")
            state = player.leg.state()
            need(state is not None, "GET tells how the leg is")
            await player.leave()
        await publisher.leave()
    return word


async def vp8_and_opus(node):
    return await call(node, "VP8")


async def h264_and_opus(node):
    return await call(node, "H264")


async def players_with_one_codec_each(node):
    """A player whose only video codec is another one gets the sound, and no picture that it could not decode."""
    async with Publisher(node, "one-codec", "ann", ("H264",)), Player(node, "one-codec", "bob", ("H264",)) as bob:
        await bob.plays("ann")
        async with Player(node, "one-codec", "eve", ("VP8",)) as eve:
            await until("eve hears ann", lambda: eve.seen.samples > 24_000 and eve.seen.share("ann") > 0.9)
            need(not eve.seen.pictures and not eve.seen.unreadable, "nothing came that is no VP8")
        return bob.seen.verify("ann")


# What changes during a call

async def late_publisher_and_another_codec(node):
    """The player is there first. Then the publisher comes, goes, and comes back with another codec."""
    async with Player(node, "late", "bob") as player:
        await player.connected()
        words = []
        for codec in ["VP8", "H264", "VP8"]:
            since = len(player.seen.pictures)
            async with Publisher(node, "late", "ann", (codec,)) as publisher:
                begin = time.monotonic()
                await player.plays("ann", since=since)
                words.append(f"{codec} {player.seen.verify('ann', since=since)} after {time.monotonic() - begin:.1f} s")
                await publisher.leave()
        return "; ".join(words)


async def published_over_itself(node):
    """The same user publishes again without having left: the first leg goes, and the player follows."""
    async with Publisher(node, "over", "ann") as first, Player(node, "over", "bob") as player:
        await player.plays("ann")
        player.seen.verify("ann")
        async with Publisher(node, "over", "ann") as second:
            # The second one counts from the beginning.
            last = player.seen.numbers("ann")[-1]
            await until("the pictures of the second leg come", lambda: player.seen.numbers("ann")[-1] < last)
            since = len(player.seen.pictures) - 1
            await player.plays("ann", since=since)
            need(first.leg.state() is None, "the first leg is gone")
            need(second.leg.state() is not None, "the second one is there")
            return player.seen.verify("ann", since=since)


async def requests_of_a_leg(node):
    """PATCH with candidates, with a wrong tag, and to restart ICE, which aiortc itself cannot follow; DELETE."""
    async with Publisher(node, "patch", "ann") as publisher:
        await publisher.connected()
        leg = publisher.leg
        mid = [line for line in leg.offer.splitlines() if line.startswith("a=mid:")][0]
        section = [line for line in leg.offer.splitlines() if line.startswith("m=")][0]
        candidate = [line for line in leg.offer.splitlines() if line.startswith("a=candidate:")][0]
        fragment = "\r\n".join([section, mid, candidate, "a=end-of-candidates", ""])
        need(leg.patch(fragment, leg.tag)[0] == 204, "candidates are taken")
        need(leg.patch(fragment, None)[0] == 428, "If-Match is needed")
        need(leg.patch(fragment, '"another"')[0] == 412, "another tag is refused")
        status, headers, text = leg.patch(
            "a=ice-ufrag:newU\r\na=ice-pwd:newPasswordOf22Letters+\r\n", "*")
        need(status == 200 and headers["ETag"] != leg.tag and "a=ice-pwd:" in text, f"ICE restarts: {status} {text}")
        need(leg.patch(fragment, leg.tag)[0] == 412, "the first tag is of the past")
        async with Player(node, "patch", "bob") as player:
            # aiortc goes on with its first credentials: what it sends is authentic, and comes from where it did.
            await player.plays("ann")
            word = player.seen.verify("ann")
            await player.leave()
        await publisher.leave()
        need(node.send("DELETE", leg.location, leg.headers())[0] == 404, "deleted once")
    return word


async def closed_without_a_word(node):
    """Clients that go without DELETE: DTLS tells, and the legs are gone, well before anybody counts to 30."""
    publisher = Publisher(node, "gone", "ann")
    await publisher.join()
    player = Player(node, "gone", "bob")
    await player.join()
    await player.plays("ann")
    begin = time.monotonic()
    await publisher.peer.close()
    await player.peer.close()
    await until("both legs are gone", lambda: not publisher.leg.state() and not player.leg.state(), within=10)
    return f"gone after {time.monotonic() - begin:.1f} s"


# Rooms

async def two_rooms(node):
    """The same names in two rooms at once, and two publishers in one: nobody gets what is not its room's or its pick."""
    async with Publisher(node, "north", "ann") as ann, Publisher(node, "south", "cy", ("H264",)) as cy, \
            Publisher(node, "south", "dan") as dan:
        for client in (ann, cy, dan):
            await client.connected()
        async with Player(node, "north", "bob") as north, \
                Player(node, "south", "bob", query=[("user", "cy")]) as south, \
                Player(node, "south", "eve", query=[("user", "dan")]) as other:
            pairs = [(north, "ann"), (south, "cy"), (other, "dan")]
            for player, user in pairs:
                await player.plays(user, pictures=40)
            need(len({kit.frequency_of(user) for _, user in pairs}) == 3, "three tones")
            return "; ".join(f"{user} {player.seen.verify(user)}" for player, user in pairs)


# Others

async def beside_webrtcbin(node):
    """Each plays what the other publishes: H.264 of GStreamer's here, VP8 of ours there."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gstreamer_clients.py")
    other = await asyncio.create_subprocess_exec(
        "/usr/bin/python3", script, *node.options, "beside", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    try:
        async with Publisher(node, "gst-in", "cy"), Player(node, "gst-out", "dan") as player:
            await player.plays("ann")
            word = player.seen.verify("ann")
            output, _ = await asyncio.wait_for(other.communicate(b""), 30)
            need(other.returncode == 0, output.decode())
        return f"{word}; {output.decode().strip()}"
    finally:
        if other.returncode is None:
            other.kill()


if __name__ == "__main__":
    main({
        "codecs": [vp8_and_opus, h264_and_opus, players_with_one_codec_each],
        "changes": [late_publisher_and_another_codec, published_over_itself, requests_of_a_leg, closed_without_a_word],
        "rooms": [two_rooms, beside_webrtcbin],
    })
