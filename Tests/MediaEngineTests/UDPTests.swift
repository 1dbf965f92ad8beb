import CNet
import MediaEngine
import Testing

@Suite struct UDPTests {
    /// Datagram `number`: its number, then bytes that depend on it.
    private func datagram(_ number: Int, length: Int) -> [UInt8] {
        (0..<length).map { $0 < 4 ? UInt8(number >> ($0 * 8) & 0xFF) : UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
    }

    @Test(arguments: [Loopback.ipv4.is_ipv4, Loopback.ipv6.is_ipv4])
    func segmentedMessagesArriveAsTheirDatagrams(isIPv4: UInt8) throws {
        let local = isIPv4 == 1 ? Loopback.ipv4 : Loopback.ipv6
        let from = try Loopback(local)
        let to = try Loopback(local, gro: true)
        // Four messages of sixteen; the last datagram of each is shorter.
        let messages = (0..<4).map { m in
            (0..<16).map { datagram(m * 16 + $0, length: $0 == 15 ? 100 + m : 1200) }
        }
        #expect(try TestSender().send(messages, to: to.address, from: from) == 4)
        let receiver = try TestReceiver()
        let received = try receiver.receive(64, on: to)
        #expect(received.map(\.bytes) == messages.flatMap { $0 })
        for datagram in received { #expect(datagram.source.isEqual(from.address)) }
        #expect(to.granted.gro == 1)
        #expect(receiver.longestRun == 16, "the kernel delivered no run, so GRO was not tested")
        #expect(receiver.truncated == 0)
    }

    @Test func withoutGROEachDatagramHasItsSlot() throws {
        let from = try Loopback(Loopback.ipv4)
        let to = try Loopback(Loopback.ipv4)
        let messages = [(0..<40).map { datagram($0, length: 700) }, [datagram(40, length: 1)], [[]]]
        #expect(try TestSender().send(messages, to: to.address, from: from) == 3)
        let receiver = try TestReceiver(slots: 8, slotSize: 2048)
        let received = try receiver.receive(42, on: to)
        #expect(received.map(\.bytes) == messages.flatMap { $0 })
        #expect(receiver.longestRun == 1)
    }

    @Test func aDatagramLongerThanItsSlotIsMarked() throws {
        let from = try Loopback(Loopback.ipv4)
        let to = try Loopback(Loopback.ipv4)
        #expect(try TestSender().send([[datagram(1, length: 300)]], to: to.address, from: from) == 1)
        let receiver = try TestReceiver(slots: 2, slotSize: 200)
        let received = try receiver.receive(1, on: to)
        #expect(received.first?.bytes == Array(datagram(1, length: 300).prefix(200)))
        #expect(receiver.truncated == 1)
    }

    @Test func anEmptySocketWouldBlock() throws {
        let socket = try Loopback(Loopback.ipv4)
        #expect(try TestReceiver().receiveNow(socket) == PARLOR_WOULD_BLOCK)
    }

    @Test func buffersAreGrantedInTheUnitOfTheRequest() throws {
        let socket = try Loopback(Loopback.ipv4, receiveBuffer: 100_000, sendBuffer: 50_000)
        #expect(socket.granted.receive_buffer == 100_000)
        #expect(socket.granted.send_buffer == 50_000)
    }

    @Test func aPortInUseIsNamed() throws {
        let socket = try Loopback(Loopback.ipv4)
        #expect(throws: Loopback.Failed(result: PARLOR_ADDRESS_IN_USE)) { try Loopback(socket.address) }
        #expect(SystemError(result: PARLOR_ADDRESS_IN_USE).description == "Address already in use")
    }

    @Test func aMessageOfTheWrongFamilyFailsAloneAndTheRestLeave() throws {
        let from = try Loopback(Loopback.ipv4)
        let result = try TestSender().send([[[1, 2, 3]]], to: Loopback.ipv6, from: from)
        #expect(result < 0 && result != PARLOR_WOULD_BLOCK && result != PARLOR_BAD_DESCRIPTOR)
    }

    @Test(arguments: [Loopback.ipv4.is_ipv4, Loopback.ipv6.is_ipv4])
    func anUnreachablePortIsReportedWithItsAddress(isIPv4: UInt8) throws {
        let local = isIPv4 == 1 ? Loopback.ipv4 : Loopback.ipv6
        let from = try Loopback(local, errorQueue: true)
        var closed = try Loopback(local).address  // closed again at once
        let other = try Loopback(local)
        if closed.port == other.address.port { closed.port ^= 1 }
        #expect(try TestSender().send([[[1, 2, 3, 4]]], to: closed, from: from) == 1)
        #expect(from.wait(for: PARLOR_READABLE) & PARLOR_ERROR != 0)
        var error = parlor_udp_error()
        #expect(parlor_udp_next_error(from.descriptor, &error) == 1)
        #expect(error.destination.isEqual(closed))
        #expect(error.error == PARLOR_CONNECTION_REFUSED)
        #expect(error.from_network == 1)
        #expect(parlor_udp_next_error(from.descriptor, &error) == PARLOR_WOULD_BLOCK)
        // The socket goes on.
        #expect(try TestSender().send([[[9]]], to: other.address, from: from) == 1)
        #expect(try TestReceiver().receive(1, on: other).first?.bytes == [9])
    }
}
