"""A WebRTC client of a few lines, for calls by the hundred: checks (RFC 8445), DTLS by OpenSSL, SRTP by libsrtp, Opus payloads that
are marked, so that each one that arrives is known."""
import asyncio
import binascii
import datetime
import hashlib
import hmac
import os
import random
import re
import struct

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL
from pylibsrtp import Error, Policy, Session

from kit import Leg, need

PAYLOAD_TYPE = 111
PROFILES = {
    b"SRTP_AEAD_AES_128_GCM": (Policy.SRTP_PROFILE_AEAD_AES_128_GCM, 16, 12),
    b"SRTP_AES128_CM_SHA1_80": (Policy.SRTP_PROFILE_AES128_CM_SHA1_80, 16, 14),
}
COOKIE = 0x2112A442


# STUN

def attribute(kind, content):
    return struct.pack("!HH", kind, len(content)) + content + bytes(-len(content) % 4)


def binding_request(username, password, nominates=True, transaction=None):
    """A check with USERNAME, PRIORITY, ICE-CONTROLLING, USE-CANDIDATE, MESSAGE-INTEGRITY and FINGERPRINT."""
    transaction = transaction or os.urandom(12)
    body = attribute(0x0006, username.encode()) + attribute(0x0024, struct.pack("!I", 0x6E7F1EFF))
    body += attribute(0x802A, bytes(8)) + (attribute(0x0025, b"") if nominates else b"")

    def header(extra):
        return struct.pack("!HHI", 0x0001, len(body) + extra, COOKIE) + transaction

    body += attribute(0x0008, hmac.new(password.encode(), header(24) + body, hashlib.sha1).digest())
    body += attribute(0x8028, struct.pack("!I", binascii.crc32(header(8) + body) ^ 0x5354554E))
    return header(0) + body


def is_stun(datagram):
    return datagram[0] < 4


def is_dtls(datagram):
    return 20 <= datagram[0] < 64


# DTLS

class Identity:
    """A key and its certificate, for all calls of a process."""

    def __init__(self):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "light")])
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=2)).sign(key, hashes.SHA256()))
        self.fingerprint = certificate.fingerprint(hashes.SHA256()).hex(":").upper()
        self.context = SSL.Context(SSL.DTLS_METHOD)
        self.context.set_options(SSL.OP_NO_TICKET)
        self.context.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        self.context.use_certificate(certificate)
        self.context.use_privatekey(key)
        self.context.set_cipher_list(b"ECDHE-ECDSA-AES128-GCM-SHA256")
        self.context.set_tlsext_use_srtp(b":".join(PROFILES))


def client_hello(identity):
    """What a client says first."""
    connection = SSL.Connection(identity.context)
    connection.set_connect_state()
    connection.set_ciphertext_mtu(1200)
    try:
        connection.do_handshake()
    except SSL.WantReadError:
        pass
    return connection.bio_read(1500)


# A call's half

class Light(asyncio.DatagramProtocol):
    """A leg of WHIP or WHEP with one m-line of Opus. What came stays, to be verified."""

    def __init__(self, identity, node, kind, room, user, tells=None):
        self.identity = identity
        # Told of all that somebody could read on the way.
        self.tells = tells or (lambda *_: None)
        self.leg = Leg(node, kind, room, user)
        self.is_sender = kind == "whip"
        self.fragment = binascii.hexlify(os.urandom(4)).decode()
        self.password = binascii.hexlify(os.urandom(12)).decode()
        self.ssrc = random.getrandbits(32) | 1
        self.sequence, self.timestamp = random.getrandbits(15), random.getrandbits(32)
        self.payloads, self.strange = [], []
        self.unauthentic = 0
        self.answered = set()
        self.peer_ssrcs = set()
        self.inbound = self.outbound = None
        self.connected = asyncio.get_running_loop().create_future()
        self.timer = self.checks = None

    # Joining

    def offer(self):
        return "\r\n".join([
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
            f"m=audio 9 UDP/TLS/RTP/SAVPF {PAYLOAD_TYPE}", "c=IN IP4 0.0.0.0", "a=mid:0", "a=rtcp-mux",
            f"a={'sendonly' if self.is_sender else 'recvonly'}", f"a=rtpmap:{PAYLOAD_TYPE} opus/48000/2", "a=setup:active",
            f"a=ice-ufrag:{self.fragment}", f"a=ice-pwd:{self.password}", f"a=fingerprint:sha-256 {self.identity.fingerprint}",
        ] + ([f"a=ssrc:{self.ssrc} cname:light"] if self.is_sender else []) + [""])

    async def join(self):
        loop = asyncio.get_running_loop()
        self.take(await loop.run_in_executor(None, self.leg.open, self.offer()))
        self.fingerprint = re.search(r"a=fingerprint:sha-256 (\S+)", self.leg.answer)[1]
        await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self.check()
        return self

    def take(self, answer):
        """The node's credentials and its address of loopback."""
        self.peer_fragment = re.search(r"a=ice-ufrag:(\S+)", answer)[1]
        self.peer_password = re.search(r"a=ice-pwd:(\S+)", answer)[1]
        self.address = ("127.0.0.1", int(re.search(r" (?:UDP|udp) \d+ 127\.0\.0\.1 (\d+) typ host", answer)[1]))
        self.answered.clear()
        self.tells("leg", self.address, self.username, self.ssrc)

    @property
    def username(self):
        return f"{self.peer_fragment}:{self.fragment}"

    def check(self):
        """Often until it is answered, then every second."""
        self.send(binding_request(self.username, self.peer_password))
        self.checks = asyncio.get_running_loop().call_later(1 if self.answered else 0.1, self.check)

    def send(self, datagram):
        self.tells("datagram", self.address, datagram)
        self.transport.sendto(datagram, self.address)

    # What comes

    def connection_made(self, transport):
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, datagram, source):
        if source != self.address or not datagram:
            self.strange.append(datagram)
        elif is_stun(datagram):
            if datagram[:2] == b"\x01\x01":
                self.answered.add(datagram[8:20])
                if self.inbound is None and self.timer is None:
                    self.begin()
        elif is_dtls(datagram):
            self.association.bio_write(datagram)
            self.advance()
        elif self.inbound is None:
            # Ours until the last flight was read; SRTP of the node's may be faster.
            pass
        elif 192 <= datagram[1] < 224:
            try:
                self.inbound.unprotect_rtcp(datagram)
            except Error:
                self.unauthentic += 1
        else:
            try:
                packet = self.inbound.unprotect(datagram)
            except Error:
                self.unauthentic += 1
                return
            header = 12 + packet[0] % 16 * 4
            if packet[0] & 16:
                header += 4 + 4 * struct.unpack_from("!H", packet, header + 2)[0]
            self.peer_ssrcs.add(packet[8:12])
            self.payloads.append(packet[header:])

    def error_received(self, error):
        self.strange.append(repr(error))

    # DTLS, as client

    def begin(self):
        self.association = SSL.Connection(self.identity.context)
        self.association.set_connect_state()
        self.association.set_ciphertext_mtu(1200)
        self.advance()

    def advance(self):
        if self.timer:
            self.timer.cancel()
        try:
            if self.inbound is None:
                self.association.do_handshake()
                self.agree()
        except SSL.WantReadError:
            due = self.association.DTLSv1_get_timeout()
            self.timer = asyncio.get_running_loop().call_later(1 if due is None else due, self.again)
        except Exception as error:  # the call has failed, and says so
            if not self.connected.done():
                self.connected.set_exception(error)
        while True:
            try:
                self.send(self.association.bio_read(1500))
            except SSL.WantReadError:
                return

    def again(self):
        try:
            self.association.DTLSv1_handle_timeout()
        except SSL.Error as error:
            if not self.connected.done():
                self.connected.set_exception(error)
        self.advance()

    def agree(self):
        shown = self.association.get_peer_certificate(as_cryptography=True).fingerprint(hashes.SHA256()).hex(":")
        need(shown.upper() == self.fingerprint.upper(), "the node has the certificate of its answer")
        profile, key, salt = PROFILES[self.association.get_selected_srtp_profile()]
        material = self.association.export_keying_material(b"EXTRACTOR-dtls_srtp", 2 * (key + salt))
        keys = [material[side * key:(side + 1) * key] + material[2 * key + side * salt:2 * key + (side + 1) * salt]
                for side in (0, 1)]
        self.outbound = Session(Policy(key=keys[0], ssrc_type=Policy.SSRC_ANY_OUTBOUND, srtp_profile=profile))
        self.inbound = Session(Policy(key=keys[1], ssrc_type=Policy.SSRC_ANY_INBOUND, srtp_profile=profile))
        if not self.connected.done():
            self.connected.set_result(None)

    # Media

    def header(self, sequence=None):
        number = self.sequence if sequence is None else sequence
        return struct.pack("!BBHII", 0x80, PAYLOAD_TYPE, number & 0xFFFF, self.timestamp, self.ssrc)

    def speak(self, payload):
        """One packet of 20 ms."""
        self.send(self.outbound.protect(self.header() + payload))
        self.sequence = (self.sequence + 1) & 0xFFFF
        self.timestamp = (self.timestamp + 960) & 0xFFFFFFFF

    def hang_up(self):
        for timer in (self.timer, self.checks):
            if timer:
                timer.cancel()
        if getattr(self, "transport", None):
            self.transport.close()


class FramedLight(Light):
    """The same over ICE-TCP: a connection of the client's, and two bytes of length before each datagram (RFC 4571)."""

    async def join(self):
        loop = asyncio.get_running_loop()
        self.take(await loop.run_in_executor(None, self.leg.open, self.offer()))
        self.fingerprint = re.search(r"a=fingerprint:sha-256 (\S+)", self.leg.answer)[1]
        port = int(re.search(r" (?:TCP|tcp) \d+ 127\.0\.0\.1 (\d+) typ host tcptype passive", self.leg.answer)[1])
        reader, self.transport = await asyncio.open_connection("127.0.0.1", port)
        self.reading = asyncio.ensure_future(self.read(reader))
        self.check()
        return self

    async def read(self, reader):
        try:
            while True:
                length, = struct.unpack("!H", await reader.readexactly(2))
                self.datagram_received(await reader.readexactly(length), self.address)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.strange.append(repr(error))

    def send(self, datagram):
        self.transport.write(struct.pack("!H", len(datagram)) + datagram)

    def hang_up(self):
        if getattr(self, "reading", None):
            self.reading.cancel()
        super().hang_up()


class Call:
    """A publisher and a player in a room of their own. Each payload is `CALL room number`."""

    def __init__(self, identity, node, room, tells=None, kind=Light):
        self.room = room.encode()
        self.publisher = kind(identity, node, "whip", room, "ann", tells)
        self.player = kind(identity, node, "whep", room, "bob", tells)
        self.number = 0

    @property
    def halves(self):
        return (self.publisher, self.player)

    def payload(self, number):
        return b"CALL %s %d" % (self.room, number)

    async def open(self):
        await asyncio.gather(*(half.join() for half in self.halves))
        await asyncio.gather(*(half.connected for half in self.halves))

    async def talk(self, count, pause=0.005, within=10):
        """Sends so many payloads at least, and until as many have arrived since."""
        loop = asyncio.get_running_loop()
        end, heard, said = loop.time() + within, len(self.player.payloads), 0
        while said < count or len(self.player.payloads) < heard + count:
            need(loop.time() < end,
                 f"{self.room.decode()}: {len(self.player.payloads) - heard} of {said} payloads arrived in {within} s")
            self.publisher.speak(self.payload(self.number))
            self.number += 1
            said += 1
            await asyncio.sleep(pause)

    async def go_on(self):
        """Says something every 20 ms, until it is cancelled."""
        while True:
            self.publisher.speak(self.payload(self.number))
            self.number += 1
            await asyncio.sleep(0.02)

    def verify(self):
        """What arrived was said by the publisher, arrived once, and all of it is authentic. Returns how much it is."""
        numbers = []
        for payload in self.player.payloads:
            need(payload.startswith(b"CALL " + self.room + b" "), f"{self.room.decode()}: a strange payload: {payload!r}")
            numbers.append(int(payload.split()[2]))
        need(len(set(numbers)) == len(numbers), f"{self.room.decode()}: a payload arrived twice")
        for half in self.halves:
            need(not half.strange, f"{self.room.decode()}: from a strange address: {half.strange[:3]}")
            need(half.unauthentic == 0, f"{self.room.decode()}: {half.unauthentic} packets were not authentic")
        need(len(self.player.peer_ssrcs) == 1, f"{self.room.decode()}: one SSRC: {self.player.peer_ssrcs}")
        return len(numbers)

    def hang_up(self):
        for half in self.halves:
            half.hang_up()

    def close(self):
        """Says goodbye by HTTP, too."""
        self.hang_up()
        for half in self.halves:
            half.leg.close()
