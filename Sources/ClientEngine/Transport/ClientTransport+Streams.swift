import MediaWire

/// Streams of a transport that come and go.
extension ClientTransport {
    /// Adds a stream to send. Its place, which the place of a removed one may be; `nil`: there are too many, or its SSRC was used
    /// before.
    package mutating func addSending(_ settings: OutboundStreamSettings) -> Int? {
        guard outbound.count < Self.sentStreamLimit || outbound.contains(where: { !$0.isActive }), takeSSRCs(settings)
        else { return nil }
        if let free = outbound.firstIndex(where: { !$0.isActive }) {
            outbound[free] = OutboundStream(settings)
            wantedKeyFrames &= ~(1 << UInt64(free))
            return free
        }
        outbound.append(OutboundStream(settings))
        return outbound.count &- 1
    }

    mutating func takeSSRCs(_ settings: OutboundStreamSettings) -> Bool {
        let ssrcs = [settings.ssrc, settings.repair?.ssrc].compactMap(\.self)
        guard usedSSRCs.isDisjoint(with: ssrcs), Set(ssrcs).count == ssrcs.count else { return false }
        usedSSRCs.formUnion(ssrcs)
        return true
    }

    /// Says goodbye for it (RFC 3550, section 6.6) and forgets it.
    package mutating func removeSending(_ stream: Int, into outbox: inout ClientOutbox) {
        guard outbound.indices.contains(stream), outbound[stream].isActive else { return }
        outbound[stream].isActive = false
        let ssrc = [outbound[stream].settings.ssrc]
        _ = sendControl(into: &outbox) { writer in ssrc.withUnsafeBufferPointer { writer.goodbye(ssrcs: $0) } }
    }

    /// Adds a stream to receive. Its place, which the place of a removed one may be; `nil`: there are too many, or one of the
    /// SSRC.
    package mutating func addReceiving(_ settings: InboundStreamSettings) -> Int? {
        guard inboundPlaces[settings.ssrc] == nil, settings.repair.map({ inboundPlaces[$0.ssrc] == nil }) ?? true
        else { return nil }
        let place: Int
        if let free = inbound.firstIndex(where: { !$0.isActive }) {
            inbound[free] = InboundStream(settings)
            lastKeyFrameRequest[free] = nil
            place = free
        } else {
            guard inbound.count < Self.receivedStreamLimit else { return nil }
            inbound.append(InboundStream(settings))
            lastKeyFrameRequest.append(nil)
            place = inbound.count &- 1
        }
        index(place)
        return place
    }

    package mutating func removeReceiving(_ stream: Int) {
        guard inbound.indices.contains(stream), inbound[stream].isActive else { return }
        let settings = inbound[stream].settings
        inboundPlaces[settings.ssrc] = nil
        if let repair = settings.repair { inboundPlaces[repair.ssrc] = nil }
        inbound[stream].isActive = false
        // What was waited for is waited for no more.
        inbound[stream].orderer.restart()
        inbound[stream].repair.forget(before: .max)
    }

    mutating func index(_ place: Int) {
        let settings = inbound[place].settings
        inboundPlaces[settings.ssrc] = place * 2
        if let repair = settings.repair { inboundPlaces[repair.ssrc] = place * 2 + 1 }
    }
}
