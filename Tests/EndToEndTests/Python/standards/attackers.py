"""Processes of somebody who means harm. What they know is what they are given: a node's address and port, or what a reader on the
path of its calls sees. They send from addresses of their own, and count what comes back."""
import multiprocessing
import os
import queue
import random
import selectors
import socket
import struct
import time

import light

SPAWN = multiprocessing.get_context("spawn")
# Of loopback, and no client's.
ADDRESS = "127.0.0.66"
# Datagrams in one second, of one process: enough to be a nuisance on a machine that does other things, too.
RATE = 2500


class Sockets:
    """Many ports of an attacker."""

    def __init__(self, count=64):
        self.all = []
        for _ in range(count):
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.bind((ADDRESS, 0))
            made.setblocking(False)
            self.all.append(made)
        self.selector = selectors.DefaultSelector()
        for made in self.all:
            self.selector.register(made, selectors.EVENT_READ)
        self.sent, self.came = 0, []

    def send(self, datagram, address):
        try:
            random.choice(self.all).sendto(datagram, address)
            self.sent += 1
        except (BlockingIOError, OSError):
            pass  # the kernel has no room: the next one

    def listen(self):
        for key, _ in self.selector.select(0):
            try:
                while True:
                    self.came.append(key.fileobj.recv(2048))
            except (BlockingIOError, ConnectionError):
                pass


def random_text(count):
    return "".join(random.choices("0123456789abcdef", k=count))


# Kinds of datagrams that need no knowledge

def hellos(identity):
    hello = light.client_hello(identity)
    while True:
        changed = bytearray(hello)
        kind = random.random()
        if kind < 0.2:  # cut
            changed = changed[:random.randrange(1, len(changed))]
        elif kind < 0.4:  # some bytes are others
            for _ in range(4):
                changed[random.randrange(13, len(changed))] = random.randrange(256)
        elif kind < 0.5:  # an alert that ends everything
            changed = bytearray(b"\x15\xfe\xfd" + bytes(8) + b"\x00\x02\x02\x28")
        yield bytes(changed)


def checks():
    while True:
        yield light.binding_request(f"{random_text(16)}:{random_text(4)}", random_text(24))


def media():
    number = random.getrandbits(16)
    while True:
        number += 1
        head = struct.pack("!BBHII", 0x80, random.choice([96, 111, 127, 200, 206]), number & 0xFFFF, number * 960 & 0xFFFFFFFF,
                           random.getrandbits(32))
        yield head + os.urandom(random.randrange(10, 1100))


def garbage():
    while True:
        length = random.choice([0, 1, 2, 11, 12, 13, 20, 100, 1200, 1500, 1501, 9000]) if random.random() < 0.3 \
            else random.randrange(1, 200)
        yield bytes([random.randrange(256)]) * (length > 0) + os.urandom(max(0, length - 1))


def kinds():
    return {"hellos": hellos(light.Identity()), "checks": checks(), "media": media(), "garbage": garbage()}


# Processes

def paced(rate, stop, batch=25):
    """Comes back `rate / batch` times a second, until told to stop."""
    begin, count = time.monotonic(), 0
    while not stop.is_set():
        yield
        count += batch
        pause = begin + count / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        elif pause < -1:  # the machine cannot: nothing is made up for
            begin, count = time.monotonic(), 0


def outsider(addresses, rate, stop, report):
    """Knows where the node is."""
    sockets, sources = Sockets(), list(kinds().values())
    for _ in paced(rate, stop):
        for at in range(25):
            sockets.send(next(sources[at % len(sources)]), random.choice(addresses))
        sockets.listen()
    report.put((sockets.sent, len(sockets.came), [datagram[:64] for datagram in sockets.came[:5]]))


def reader(facts, replays_checks, rate, stop, report):
    """Reads each datagram that the clients send, and what their SDP says of fragments and SSRCs; not the passwords."""
    sockets = Sockets()
    legs, seen = [], []
    hello = hellos(light.Identity())
    number = 0

    def checks_of(address, username, _):
        return light.binding_request(username, random_text(32)), address

    def hello_for(address, *_):
        return next(hello), address

    def media_of(address, _, ssrc):
        return struct.pack("!BBHII", 0x80, light.PAYLOAD_TYPE, number & 0xFFFF, number * 960, ssrc) + os.urandom(60), address

    for _ in paced(rate, stop):
        try:
            while True:
                fact = facts.get_nowait()
                if fact[0] == "leg":
                    legs.append(fact[1:])
                elif replays_checks or not light.is_stun(fact[2]):
                    seen.append((fact[2], fact[1]))
        except queue.Empty:
            pass
        # The newest calls, which come up just now, most of all.
        del legs[:-40], seen[:-400]
        for at in range(25):
            number += 1
            if at < 10 and seen:
                sockets.send(*(seen[-1 - number % min(20, len(seen))] if at < 5 else random.choice(seen)))
            elif legs:
                leg = legs[-1 - number % min(6, len(legs))] if at % 2 else random.choice(legs)
                sockets.send(*random.choice((checks_of, hello_for, media_of))(*leg))
        sockets.listen()
    report.put((sockets.sent, len(sockets.came), [datagram[:64] for datagram in sockets.came[:5]]))


class Attack:
    """Runs attackers; `stopped` says what came of them: datagrams sent, datagrams that came back, the first of these."""

    def __init__(self, target, *words, processes=2, rate=RATE):
        self.stop, self.report = SPAWN.Event(), SPAWN.Queue()
        self.processes = [
            SPAWN.Process(target=target, args=(*words, rate, self.stop, self.report), daemon=True) for _ in range(processes)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def stopped(self):
        self.stop.set()
        reports = [self.report.get(timeout=20) for _ in self.processes]
        return (sum(sent for sent, _, _ in reports), sum(came for _, came, _ in reports),
                [first for _, _, some in reports for first in some])

    def __exit__(self, *_):
        self.stop.set()
        for process in self.processes:
            process.join(5)
            if process.is_alive():
                process.kill()
