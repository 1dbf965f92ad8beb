"""GStreamer's webrtcbin as WHIP publisher and WHEP player. What is decoded is verified: pictures that carry a number, and a
tone; and the patterns of videotestsrc and audiotestsrc. Runs in the Python that has GStreamer's bindings."""
import asyncio
import sys
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import Gst, GstApp, GstSdp, GstWebRTC  # noqa: E402

import kit  # noqa: E402
from kit import Failed, Leg, Seen, main, need, until  # noqa: E402

Gst.init(None)
AGENTS = []

# What turns raw pictures into packets and back. The bounds of RTP packets are GStreamer's own.
ENCODERS = {
    "VP8": "vp8enc deadline=1 cpu-used=8 target-bitrate=600000 keyframe-max-dist=3000 error-resilient=1 "
           "! rtpvp8pay pt=96 picture-id-mode=15-bit",
    "H264": "openh264enc bitrate=600000 gop-size=3000 complexity=low ! h264parse config-interval=-1 "
            "! video/x-h264,profile=constrained-baseline ! rtph264pay pt=97 aggregate-mode=zero-latency",
}
CAPS = {
    "VP8": "application/x-rtp,media=video,encoding-name=VP8,payload=96,clock-rate=90000,"
           "rtcp-fb-nack-pli=true,rtcp-fb-ccm-fir=true",
    "H264": "application/x-rtp,media=video,encoding-name=H264,payload=97,clock-rate=90000,"
            "rtcp-fb-nack-pli=true,rtcp-fb-ccm-fir=true",
    "OPUS": "application/x-rtp,media=audio,encoding-name=OPUS,payload=98,clock-rate=48000,encoding-params=(string)2",
}
DECODERS = {"VP8": "rtpvp8depay ! vp8dec", "H264": "rtph264depay ! h264parse ! openh264dec", "OPUS": "rtpopusdepay ! opusdec"}


def created(element):
    """An offer."""
    promise = Gst.Promise.new()
    element.emit("create-offer", None, promise)
    need(promise.wait() == Gst.PromiseResult.REPLIED, "create-offer is answered")
    # Each holds memory of the one before.
    reply = promise.get_reply()
    offer = reply.get_value("offer")
    message = offer.sdp
    return description(GstWebRTC.WebRTCSDPType.OFFER, message.as_text())


def description(kind, text):
    code, parsed = GstSdp.SDPMessage.new_from_text(text)
    need(code == GstSdp.SDPResult.OK, f"GStreamer reads the {kind.value_nick}")
    return GstWebRTC.WebRTCSessionDescription.new(kind, parsed)


def set_description(element, signal, words):
    promise = Gst.Promise.new()
    element.emit(signal, words, promise)
    promise.wait()
    reply = promise.get_reply()
    if reply and reply.has_field("error"):
        raise Failed(f"{signal}: {reply.get_value('error').message}")


def has_ssrc(pad):
    caps = pad.get_current_caps()
    return caps is not None and caps.get_structure(0).has_field("ssrc")


class Client:
    """A pipeline with a webrtcbin, and its leg."""

    def __init__(self, node, kind, room, user, elements, query=()):
        self.user = user
        # With this, the offer says nothing of SSRCs: what arrives is known by its payload type.
        self.hides_ssrcs = False
        self.leg = Leg(node, kind, room, user, query)
        self.pipeline = Gst.Pipeline.new()
        bin = Gst.parse_bin_from_description(
            "webrtcbin name=peer bundle-policy=max-bundle latency=100 " + elements, False)
        self.pipeline.add(bin)
        self.peer = bin.get_by_name("peer")
        # Its reference is a floating one, which Python takes over: it must not end before the element.
        AGENTS.append(self.peer.get_property("ice-agent"))
        # Loopback only. Without a word on addresses the agent takes those of the machine's networks.
        AGENTS[-1].emit("add-local-ip-address", "127.0.0.1")
        nice = AGENTS[-1].get_property("agent")
        nice.set_property("upnp", False)

    def play(self):
        need(self.pipeline.set_state(Gst.State.PLAYING) != Gst.StateChangeReturn.FAILURE, "the pipeline plays")
        self.check()

    def negotiate(self):
        """Without trickle: the offer has all candidates."""
        # As on-negotiation-needed does. An offer made earlier has the SSRCs of some m-lines only.
        self.wait(lambda: all(has_ssrc(pad) for pad in self.peer.sinkpads), "the payloaders have begun")
        set_description(self.peer, "set-local-description", created(self.peer))
        complete = GstWebRTC.WebRTCICEGatheringState.COMPLETE
        self.wait(lambda: self.peer.get_property("ice-gathering-state") == complete, "candidates are gathered")
        local = self.peer.get_property("local-description")
        message = local.sdp
        offer = message.as_text()
        if self.hides_ssrcs:
            offer = "".join(line for line in offer.splitlines(True) if not line.startswith("a=ssrc"))
        answer = self.leg.open(offer)
        set_description(self.peer, "set-remote-description", description(GstWebRTC.WebRTCSDPType.ANSWER, answer))

    def wait(self, condition, sentence):
        end = time.monotonic() + 10
        while not condition():
            need(time.monotonic() < end, sentence)
            self.check()
            time.sleep(0.01)

    def check(self):
        message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message:
            error, detail = message.parse_error()
            raise Failed(f"{self.user}'s pipeline: {error.message} {detail}")

    def state(self):
        self.check()
        return self.peer.get_property("connection-state")

    async def connected(self):
        await until(lambda: f"{self.user} is connected, not {self.state().value_nick}",
                    lambda: self.state() == GstWebRTC.WebRTCPeerConnectionState.CONNECTED)

    async def __aenter__(self):
        await asyncio.get_running_loop().run_in_executor(None, self.play)
        self.begin()
        await asyncio.get_running_loop().run_in_executor(None, self.negotiate)
        return self

    def begin(self):
        """Called when the pipeline plays."""

    async def __aexit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)


class Publisher(Client):
    """Numbered pictures and a user's tone; or GStreamer's test sources."""

    def __init__(self, node, room, user, codec="VP8", source=None, hides_ssrcs=False):
        raw = f"video/x-raw,format=I420,width={kit.WIDTH},height={kit.HEIGHT},framerate={kit.RATE}/1"
        picture = source or f"appsrc name=pictures is-live=true do-timestamp=true format=time caps={raw}"
        super().__init__(
            node, "whip", room, user,
            f"{picture} ! {raw} ! queue ! {ENCODERS[codec]} ! {CAPS[codec]} ! peer. "
            f"audiotestsrc is-live=true wave=sine volume=0.4 freq={kit.frequency_of(user)} samplesperbuffer=960 "
            f"! audio/x-raw,rate=48000,channels=1 ! queue ! opusenc ! rtpopuspay pt=98 ! {CAPS['OPUS']} ! peer.")
        for at in range(2):
            transceiver = self.peer.emit("get-transceiver", at)
            transceiver.set_property("direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
            # With RTX.
            transceiver.set_property("do-nack", at == 0)
        self.hides_ssrcs = hides_ssrcs
        self.pictures = self.pipeline.get_by_name("pictures")
        self.task = None

    def begin(self):
        # Not before: a picture pushed while the pipeline starts is stamped with the system's time instead of the pipeline's,
        # and would be sent after as many hours as the machine is up.
        if self.pictures:
            self.task = asyncio.ensure_future(self.draw())

    async def __aexit__(self, *words):
        if self.task:
            self.task.cancel()
        await super().__aexit__(*words)

    async def draw(self):
        begin, number = time.monotonic(), 0
        while True:
            content = b"".join(kit.planes(self.user, number))
            self.pictures.emit("push-buffer", Gst.Buffer.new_wrapped(content))
            number += 1
            await asyncio.sleep(max(0, begin + number / kit.RATE - time.monotonic()))


class Player(Client):
    def __init__(self, node, room, user, codecs=("VP8", "H264"), query=()):
        super().__init__(node, "whep", room, user, "", query)
        self.seen = Seen()
        self.lumas = []
        self.kinds = []
        fit = {"H264": ",packetization-mode=(string)1,profile-level-id=(string)42e01f"}
        video = Gst.Caps.from_string("; ".join(CAPS[codec] + fit.get(codec, "") for codec in codecs))
        for caps in (video, Gst.Caps.from_string(CAPS["OPUS"])):
            transceiver = self.peer.emit("add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY, caps)
            transceiver.set_property("do-nack", caps is video)
        self.peer.connect("pad-added", self.arrived)

    def arrived(self, _, pad):
        if pad.get_direction() != Gst.PadDirection.SRC:
            return
        name = pad.get_current_caps().get_structure(0).get_string("encoding-name").upper()
        self.kinds.append(name)
        raw = "audioconvert ! audio/x-raw,format=S16LE,channels=1,rate=48000" if name == "OPUS" \
            else "videoconvert ! video/x-raw,format=I420"
        branch = Gst.parse_bin_from_description(
            f"queue ! {DECODERS[name]} ! {raw} ! appsink name=out sync=false emit-signals=true", True)
        branch.get_by_name("out").connect("new-sample", self.sound if name == "OPUS" else self.picture)
        self.peer.get_parent().add(branch)
        branch.sync_state_with_parent()
        pad.link(branch.get_static_pad("sink"))

    def sound(self, sink):
        buffer = sink.emit("pull-sample").get_buffer()
        self.seen.heard(memoryview(buffer.extract_dup(0, buffer.get_size())).cast("h"))
        return Gst.FlowReturn.OK

    def picture(self, sink):
        sample = sink.emit("pull-sample")
        caps = sample.get_caps().get_structure(0)
        width, height = caps.get_value("width"), caps.get_value("height")
        buffer = sample.get_buffer()
        content = buffer.extract_dup(0, buffer.get_size())
        # Of I420, with widths that are multiples of 8, the planes stand one behind the other.
        luma, chroma = width * height, width * height // 4
        self.seen.picture(kit.read_picture(
            content[:luma], width, content[luma:luma + chroma], content[luma + chroma:], width // 2, width, height))
        self.lumas.append((content[:luma:97], content[luma:luma + chroma:97]))
        return Gst.FlowReturn.OK

    async def plays(self, user, pictures=30, since=0):
        def so():
            self.check()
            return len(self.seen.numbers(user, since)) >= pictures and self.seen.share(user) > 0.9
        await until(
            lambda: f"{self.user} plays {user}: {len(self.seen.numbers(user, since))} pictures of "
            f"{len(self.seen.pictures)} and {self.seen.unreadable} that were not readable; "
            f"{self.seen.share(user):.2f} of {self.seen.samples} samples is its tone; streams {self.kinds}", so)


async def call(node, codec, hides_ssrcs):
    room = f"gst-{codec.lower()}"
    async with Publisher(node, room, "ann", codec, hides_ssrcs=hides_ssrcs) as publisher:
        need(("a=ssrc" in publisher.leg.offer) != hides_ssrcs, f"the offer tells its SSRCs or not:\n{publisher.leg.offer}")
        answer = publisher.leg.answer
        need(all(f" {name}" in answer for name in [f"{codec}/90000", "opus/48000/2", "rtx/90000"]),
             f"{codec}, Opus and RTX were taken:\n{answer}")
        await publisher.connected()
        async with Player(node, room, "bob", (codec,)) as player:
            await player.connected()
            try:
                await player.plays("ann")
            except Failed as error:
                raise Failed(f"{error}; {publisher.leg.state()}; {player.leg.state()}; {node.figures()}")
            word = player.seen.verify("ann")
            player.leg.close()
        publisher.leg.close()
    return word


async def vp8_and_opus(node):
    return await call(node, "VP8", False)


async def h264_and_opus(node):
    return await call(node, "H264", True)


async def test_sources(node):
    """videotestsrc and audiotestsrc, two rooms at once: each player sees its room's colour and hears its room's tone."""
    words = []
    red = Publisher(node, "gst-red", "ann", source="videotestsrc is-live=true pattern=red")
    blue = Publisher(node, "gst-blue", "cy", source="videotestsrc is-live=true pattern=blue")
    async with red, blue, Player(node, "gst-red", "bob", ("VP8",)) as left, Player(node, "gst-blue", "bob", ("VP8",)) as right:
        for player, user, luma, chroma in [(left, "ann", 81, 90), (right, "cy", 41, 240)]:
            def so():
                player.check()
                return len(player.lumas) >= 30 and player.seen.share(user) > 0.9
            await until(lambda: f"{user}: {len(player.lumas)} pictures, tone {player.seen.share(user):.2f}", so)
            for bright, colour in player.lumas:
                need(all(abs(value - luma) < 12 for value in bright), f"{user}: the brightness is {luma}: {bright[:4].hex()}")
                need(all(abs(value - chroma) < 12 for value in colour), f"{user}: the colour is {chroma}: {colour[:4].hex()}")
            words.append(f"{user} {len(player.lumas)} pictures, tone {player.seen.share(user):.2f}")
    return "; ".join(words)


async def late_publisher(node):
    """The player is there first. Then the publisher comes, goes, and comes back with another codec."""
    words = []
    async with Player(node, "gst-late", "bob") as player:
        await player.connected()
        for codec in ["VP8", "H264"]:
            since = len(player.seen.pictures)
            async with Publisher(node, "gst-late", "ann", codec) as publisher:
                await player.plays("ann", since=since)
                words.append(player.seen.verify("ann", since=since))
                publisher.leg.close()
    return "; ".join(words)


async def beside_others(node):
    """Publishes, and plays what a client of another kind publishes, until that client has seen enough and ends the input."""
    async with Publisher(node, "gst-out", "ann", "H264"), Player(node, "gst-in", "bob") as player:
        await player.plays("cy")
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        return player.seen.verify("cy")


main({
    "publish": [vp8_and_opus, h264_and_opus], "play": [test_sources, late_publisher],
    # For the scripts of other clients.
    "beside": [beside_others],
})
