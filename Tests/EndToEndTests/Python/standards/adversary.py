"""Calls come up and go on while somebody does his worst. All of a call is known: whatever the attacker has sent and is
forwarded, or comes to the attacker because a transport changed its address, is found."""
import asyncio
import socket
import statistics
import struct
import time

import attackers
import light
from attackers import Attack
from kit import main, need, until

CALLS = 100
# At one time: as many as a busy machine opens without waiting for itself.
TOGETHER = 4
# The node's threads may take so much for a datagram of an attacker's; it takes a tenth, or less.
LIMIT_PER_PACKET = 60e-6
# What memory may grow by under attack: buffers fill once.
LIMIT_MEMORY = 64 << 20


def ports(node):
    """One for each worker."""
    return [("127.0.0.1", node.media_port), ("127.0.0.1", node.media_port + 1)]


class Figures:
    """What the node has counted, from a moment on."""

    def __init__(self, node):
        self.node, self.first = node, node.figures()

    def dropped(self):
        now = self.node.figures()
        return {name[8:]: int(value - self.first.get(name, 0)) for name, value in now.items()
                if name.startswith("dropped ") and value > self.first.get(name, 0)}


async def hundred_calls(node, attack, tells=None, patience=10):
    """Calls before the attack go on, and a hundred more come up under it. Returns a word on it."""
    identity = light.Identity()
    before = [light.Call(identity, node, f"before-{at}", tells) for at in range(3)]
    times, failures, talking = [], [], []
    figures, memory = Figures(node), node.memory()
    try:
        for call in before:
            await call.open()
            await call.talk(5)
        talking = [asyncio.ensure_future(call.go_on()) for call in before]
        with attack:
            await until("the node is under attack", lambda: sum(figures.dropped().values()) > 2000)
            began, processor = time.monotonic(), node.processor_time()
            numbers = iter(range(CALLS))

            async def some():
                for number in numbers:
                    call = light.Call(identity, node, f"during-{number}", tells)
                    begin = time.monotonic()
                    try:
                        await asyncio.wait_for(call.open(), patience)
                        times.append(time.monotonic() - begin)
                        await call.talk(5, within=patience)
                        call.verify()
                    except Exception as error:  # counted
                        failures.append(f"call {number}: {error or type(error).__name__}")
                    finally:
                        call.hang_up()
                    await asyncio.get_running_loop().run_in_executor(None, call.close)

            await asyncio.gather(*(some() for _ in range(TOGETHER)))
            lasted, processor = time.monotonic() - began, node.processor_time() - processor
            sent, came, first = attack.stopped()
        for task in talking:
            task.cancel()
        for call in before:
            await call.talk(5)
        arrived, said = sum(call.verify() for call in before), sum(call.number for call in before)
        need(arrived > said * 0.98, f"of the earlier calls {arrived} of {said} payloads arrived")
    finally:
        for task in talking:
            task.cancel()
        for call in before:
            call.hang_up()
    need(not failures, f"{len(failures)} of {CALLS} calls did not come up: {failures[:3]}")
    need(came == 0, f"{came} datagrams came to the attacker, such as {[datagram.hex() for datagram in first]}")
    need(node.lives(), "the node lives")
    grown = node.memory() - memory
    need(grown < LIMIT_MEMORY, f"memory grew by {grown >> 20} MiB")
    dropped = figures.dropped()
    times.sort()
    return (f"{len(times)} of {CALLS} calls in {lasted:.1f} s, each up in {statistics.median(times) * 1000:.0f} ms "
            f"(p95 {times[int(len(times) * 0.95)] * 1000:.0f}, max {times[-1] * 1000:.0f}), {arrived} of {said} payloads of "
            f"earlier calls, {sent} hostile datagrams, none answered; node {processor / lasted * 100:.0f} % of a core, "
            f"+{grown / 1048576:.1f} MiB; dropped {dropped}")


# Who knows the address and the port

async def calls_under_a_flood(node):
    return await hundred_calls(node, Attack(attackers.outsider, ports(node)))


async def cost_of_a_packet(node):
    """What the node's threads take for each kind of datagram, as many as it can be sent in a row."""
    words, count = [], 20_000
    sockets = attackers.Sockets()
    for name, datagrams in attackers.kinds().items():
        batch = [next(datagrams) for _ in range(1000)]
        figures, begin, processor = Figures(node), time.monotonic(), node.processor_time()
        for at in range(count):
            sockets.send(batch[at % len(batch)], ports(node)[at % 2])
            if at % 50 == 0:
                await asyncio.sleep(0.001)
        # It has dropped what it was sent, but for what the kernel had no room for, and empty ones.
        await until(lambda: f"{name}: {count} datagrams are counted, not {figures.dropped()}",
                    lambda: sum(figures.dropped().values()) > count * 0.8)
        each = (node.processor_time() - processor) / count
        need(each < LIMIT_PER_PACKET, f"{name}: {each * 1e6:.1f} µs of processor time for each datagram")
        words.append(f"{name} {each * 1e6:.1f} µs ({count / (time.monotonic() - begin):.0f}/s; "
                     f"{', '.join(figures.dropped())})")
    sockets.listen()
    need(not sockets.came, f"nothing is answered, but {len(sockets.came)} datagrams came")
    return "; ".join(words)


# Who reads along

def told(facts):
    """Facts for the attackers; what they have no time for, they never get."""
    def tell(*fact):
        for queue in facts:
            try:
                queue.put_nowait(fact)
            except Exception:  # full
                pass
    return tell


async def reading_attack(node, replays_checks):
    facts = [attackers.SPAWN.Queue(2000) for _ in range(2)]
    attacks = [Attack(attackers.reader, queue, replays_checks, processes=1) for queue in facts]

    class Both:
        def __enter__(self):
            for attack in attacks:
                attack.__enter__()
            return self

        def __exit__(self, *words):
            for attack in attacks:
                attack.__exit__(*words)

        def stopped(self):
            reports = [attack.stopped() for attack in attacks]
            return sum(r[0] for r in reports), sum(r[1] for r in reports), [f for r in reports for f in r[2]]

    return await hundred_calls(node, Both(), told(facts))


async def calls_that_are_read(node):
    """Checks with right fragments, media with right SSRCs, ClientHellos for calls that come up, and all that clients send
    but for checks sent again: from addresses of the attacker's."""
    return await reading_attack(node, False)


async def calls_whose_checks_are_sent_again(node):
    """The same, and authentic checks sent again from elsewhere: no transport goes there."""
    return await reading_attack(node, True)


async def packets_from_the_clients_own_address(node):
    """Somebody who can send from a client's address: replays, changed packets, strange SSRCs, RTCP, records of DTLS."""
    identity = light.Identity()
    sent = []
    call = light.Call(identity, node, "own", lambda kind, _, *fact: sent.append(fact[0]) if kind == "datagram" else None)
    await call.open()
    await call.talk(50)
    media = [datagram for datagram in sent if datagram[0] >= 128]
    rest = [datagram for datagram in sent if datagram[0] < 128]
    figures, processor, count = Figures(node), node.processor_time(), 0
    send = call.publisher.transport.sendto
    hello = attackers.hellos(identity)
    for round_ in range(200):
        for datagram in (media[round_ % len(media)], media[-1][:-1] + bytes([media[-1][-1] ^ 1]),
                         call.publisher.header(call.publisher.sequence + round_) + bytes(60),
                         struct.pack("!BBHII", 0x80, 111, round_, round_, 7 + round_) + bytes(60),
                         struct.pack("!BBHI", 0x81, 203, 1, call.publisher.ssrc) + bytes(14), rest[round_ % len(rest)],
                         next(hello)[:13 + round_]):
            for half in call.halves:
                half.transport.sendto(datagram, half.address)
                count += 1
        if round_ % 10 == 0:
            await call.talk(2)
    await call.talk(50)
    each = (node.processor_time() - processor) / count
    arrived = call.verify()
    need(each < 4 * LIMIT_PER_PACKET, f"{each * 1e6:.1f} µs of processor time for each datagram")
    dropped = figures.dropped()
    need(dropped.get("replayed", 0) + dropped.get("too_old", 0) > 100, f"replays were found: {dropped}")
    need(dropped.get("authentication_failed", 0) > 100, f"forgeries were found: {dropped}")
    call.close()
    return f"{arrived} payloads, each once; {count} hostile datagrams, {each * 1e6:.1f} µs each; dropped {dropped}"


# Streams

async def connections_that_say_nothing(node):
    """Half-open ICE-TCP connections, and such with bad frames: calls come up by UDP and TCP, and the others are closed."""
    identity = light.Identity()
    before = light.Call(identity, node, "tcp-before", kind=light.FramedLight)
    await before.open()
    await before.talk(5)
    hostile, refused = [], 0
    hello = light.client_hello(identity)
    words = [b"", b"\x00", b"\x05\xdc", b"\x00\x00" * 50, b"\xff\xff" + bytes(100),
             struct.pack("!H", len(hello)) + hello, b"GET / HTTP/1.1\r\n\r\n", b"\x00\x14" + bytes(20)]
    processor, memory = node.processor_time(), node.memory()
    # More than one address may have, and from several.
    for at in range(400):
        made = socket.socket()
        made.setblocking(False)
        made.bind((f"127.0.0.{70 + at % 4}", 0))
        try:
            made.connect(ports(node)[at % 2])
        except BlockingIOError:
            pass
        hostile.append((made, words[at % len(words)]))
    await asyncio.sleep(0)
    for made, word in hostile:
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(made, word), 2)
        except OSError:
            refused += 1
    for number in range(5):
        for kind in (light.Light, light.FramedLight):
            call = light.Call(identity, node, f"tcp-{kind.__name__}-{number}", kind=kind)
            await asyncio.wait_for(call.open(), 10)
            await call.talk(10)
            call.verify()
            call.close()
    await before.talk(20)

    answers = []

    def closed():
        """How many are; and what they have said."""
        count = 0
        for made, _ in hostile:
            try:
                answer = made.recv(100)
                answers.append(answer) if answer else None
                count += not answer
            except BlockingIOError:
                pass
            except OSError:
                count += 1
        return count

    begin = time.monotonic()
    await until(lambda: f"all of {len(hostile)} connections are closed, not {closed()}",
                lambda: closed() == len(hostile), within=20)
    need(not answers, f"nothing is answered, but {answers[:2]} came")
    await before.talk(20)
    arrived = before.verify()
    before.close()
    for made, _ in hostile:
        made.close()
    processor = node.processor_time() - processor
    need(processor / len(hostile) < 0.01, f"{processor:.2f} s of processor time")
    need(node.memory() - memory < LIMIT_MEMORY, "memory is bounded")
    return (f"{len(hostile)} hostile connections, {refused} refused at once, all closed {time.monotonic() - begin:.1f} s after the "
            f"last call; 10 calls came up, {arrived} payloads of the one before; node {processor:.2f} s")


# Real media

async def pictures_and_restarts(node):
    """aiortc's pictures and tone under a flood; and ICE restarts of a call that goes on, its old fragment being attacked."""
    from aiortc_clients import Player, Publisher
    identity = light.Identity()
    facts = attackers.SPAWN.Queue(2000)
    with Attack(attackers.outsider, ports(node), processes=1) as flood, \
            Attack(attackers.reader, facts, False, processes=1) as reads:
        async with Publisher(node, "storm", "ann") as publisher, Player(node, "storm", "bob") as player:
            await publisher.connected()
            await player.plays("ann", pictures=40)
            word = player.seen.verify("ann")
            call = light.Call(identity, node, "restarts", told([facts]))
            await call.open()
            gaps = []
            for _ in range(5):
                await call.talk(20)
                last = time.monotonic()
                for half in call.halves:
                    half.fragment, half.password = attackers.random_text(8), attackers.random_text(24)
                    fragment = f"a=ice-ufrag:{half.fragment}\r\na=ice-pwd:{half.password}\r\n"
                    status, headers, text = half.leg.patch(fragment, "*")
                    need(status == 200 and headers["ETag"] != half.leg.tag, f"ICE restarts: {status} {text}")
                    half.leg.tag = headers["ETag"]
                    half.take(half.leg.answer.split("a=ice-ufrag")[0] + text + half.leg.answer)
                    half.checks.cancel()
                    half.check()
                await call.talk(1)
                gaps.append(time.monotonic() - last)
                await until("both are answered", lambda: all(half.answered for half in call.halves))
            arrived = call.verify()
            call.close()
        reports = [flood.stopped(), reads.stopped()]
    need(all(came == 0 for _, came, _ in reports), f"nothing came to the attackers: {reports}")
    return (f"{word}; 10 restarts with {arrived} payloads, the longest gap {max(gaps) * 1000:.0f} ms; "
            f"{sum(sent for sent, _, _ in reports)} hostile datagrams")


if __name__ == "__main__":
    main({
        "outsider": [cost_of_a_packet, calls_under_a_flood],
        "reader": [calls_that_are_read, packets_from_the_clients_own_address],
        "replays": [calls_whose_checks_are_sent_again],
        "streams": [connections_that_say_nothing],
        "storm": [pictures_and_restarts],
    })
