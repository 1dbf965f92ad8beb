import MediaContract
import MediaWire

/// The copies of what came in, for each subscriber.
extension Switchboard {
    /// Forwards the runs that wait, oldest first. False: the outbox is full and wants a flush.
    mutating func forwardWaiting(mayDrop: inout Bool, now: MediaTime) -> Bool {
        while waitingEncodings.count > 0 {
            let place = waitingEncodings[0]
            guard fanOut(encoding: place, mayDrop: &mayDrop, now: now) else { return false }
            waitingEncodings.removeFirst()
        }
        return true
    }

    /// The fan-out loop. For each subscription, each packet of the run: admit it, number it, copy it into a slot. Runs to one
    /// destination so stand together, and leave as one message.
    private mutating func fanOut(encoding place: Int, mayDrop: inout Bool, now: MediaTime) -> Bool {
        let encoding = encodings[place]
        let isVideo = encoding.pointee.isVideo
        if encoding.pointee.newcomers.count > 0 { admitNewcomers(encoding: place) }
        while encoding.pointee.nextSubscription < encoding.pointee.subscriptions.count {
            let subscription = subscriptions[encoding.pointee.subscriptions[encoding.pointee.nextSubscription]]
            let destination = Outbox.destination(ofTransport: Int(subscription.pointee.transport))
            while encoding.pointee.nextPending < encoding.pointee.pendingCount {
                if outbox.isFull, !mayDrop { return false }
                let waiting = encoding.pointee.pending[encoding.pointee.nextPending]
                encoding.pointee.nextPending &+= 1
                guard !waiting.isLeftOut else {
                    // Before its start it has no numbers on this line yet.
                    if !subscription.pointee.awaitsKeyFrame { subscription.pointee.rewriter.skip(waiting.sequence) }
                    continue
                }
                guard let packet = encoding.pointee.cache.find(waiting.sequence) else {
                    drops.count(.overwritten)
                    continue
                }
                if subscription.pointee.awaitsKeyFrame {
                    if waiting.sequence < subscription.pointee.startsAt { continue }
                    guard packet.pointee.isKeyFrame, packet.pointee.startsFrame else {
                        drops.count(.awaitingKeyFrame)
                        wantKeyFrame(encoding: place, now: now)
                        continue
                    }
                }
                if subscription.pointee.awaitsKeyFrame || !subscription.pointee.rewriter.hasStarted {
                    start(subscription, at: packet, encoding: place, now: now)
                }
                guard let number = subscription.pointee.rewriter.map(waiting.sequence) else {
                    drops.count(.lateForSubscriber)
                    continue
                }
                guard outbox.admits(destination, isVideo: isVideo),
                    let slot = outbox.take() ?? slotFromVideo(isVideo: isVideo)
                else {
                    drops.count(.outboxFull)
                    continue
                }
                mayDrop = false
                let content = encoding.pointee.cache.content(of: packet)
                if write(packet, content, for: subscription, number: number, into: slot, encoding: place) {
                    outbox.enqueue(slot, to: destination)
                    subscription.pointee.packets &+= 1
                    subscription.pointee.octets &+= UInt64(packet.pointee.payloadLength)
                }
            }
            encoding.pointee.nextPending = 0
            encoding.pointee.nextSubscription &+= 1
        }
        encoding.pointee.nextSubscription = 0
        encoding.pointee.pendingCount = 0
        encoding.pointee.pendingBytes = 0
        return true
    }

    /// Where nothing is free, speech takes the place of video.
    private mutating func slotFromVideo(isVideo: Bool) -> Int? {
        guard !isVideo, let slot = outbox.takeFromVideo() else { return nil }
        drops.count(.outboxFull)
        return slot
    }

    private mutating func start(
        _ subscription: UnsafeMutablePointer<Subscription>, at packet: UnsafePointer<CachedPacket>, encoding place: Int,
        now: MediaTime
    ) {
        let encoding = encodings[place]
        let isLayered = encoding.pointee.hasSiblings
        if isLayered { shiftPictures(of: subscription, to: packet, encoding.pointee.cache.content(of: packet)) }
        subscription.pointee.start(
            at: packet.pointee.sequence, timestamp: packet.pointee.timestamp,
            clockRate: encoding.pointee.reception.clockRate, isLayered: isLayered,
            clock: isLayered ? EncodingClock(encoding.pointee.reception) : nil, now: now)
        if isLayered {
            let count = tracks[encoding.pointee.track].pointee.encodings.count
            events.append(
                .layerChanged(
                    subscription.pointee.id, LayerPreference(index: encoding.pointee.layer, among: count)))
        }
        // The subscriber's first sender report follows its first packet, so that sound and picture meet early.
        startReports(transport: Int(subscription.pointee.transport), in: .milliseconds(20))
    }
}
