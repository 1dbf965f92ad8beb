import MediaContract
import MediaWire

/// Which layer of a simulcast track a subscriber gets, and how it goes from one to another: with a key frame, in the same numbers.
extension Switchboard {
    /// How often the choice is looked at anew, for tracks with layers.
    static var layerCheckInterval: MediaDuration { .milliseconds(200) }
    /// A layer that is silent for so long while another one is not has been switched off by its publisher.
    static var layerSilence: MediaDuration { .milliseconds(600) }

    mutating func setLayer(_ subscription: Int, _ wish: LayerPreference, now: MediaTime) {
        subscriptions[subscription].pointee.wish = wish
        chooseLayer(of: subscription, now: now)
    }

    /// The subscription's transport can carry it from now on.
    mutating func join(subscription place: Int, now: MediaTime) {
        let subscription = subscriptions[place]
        guard !subscription.pointee.isJoined else { return }
        subscription.pointee.isJoined = true
        let encoding = bestEncoding(for: subscription.pointee, now: now)
        subscription.pointee.encoding = Int32(encoding)
        encodings[encoding].pointee.subscriptions.append(place)
        if encodings[encoding].pointee.isVideo, encodings[encoding].pointee.reception.hasStarted {
            wantKeyFrame(encoding: encoding, now: now)
        }
    }

    /// The layer that was asked for, else the nearest below that is alive, else the lowest that is.
    private func bestEncoding(for subscription: Subscription, now: MediaTime) -> Int {
        let track = tracks[Int(subscription.track)]
        let count = track.pointee.encodings.count
        guard count > 1 else { return Int(subscription.encoding) }
        var newest = MediaTime(nanoseconds: .min)
        for layer in 0..<count {
            let encoding = encodings[track.pointee.encodings[layer]]
            if encoding.pointee.reception.hasStarted { newest = max(newest, encoding.pointee.reception.lastArrival) }
        }
        func isAlive(_ layer: Int) -> Bool {
            let encoding = encodings[track.pointee.encodings[layer]]
            return encoding.pointee.reception.hasStarted
                && newest - encoding.pointee.reception.lastArrival < Self.layerSilence
        }
        let wished = subscription.wish.index(among: count)
        var layer = wished
        while layer >= 0, !isAlive(layer) { layer &-= 1 }
        if layer >= 0 { return track.pointee.encodings[layer] }
        layer = wished &+ 1
        while layer < count, !isAlive(layer) { layer &+= 1 }
        // Nothing has come yet: the one that was asked for.
        return track.pointee.encodings[layer < count ? layer : wished]
    }

    /// Looks at the choice again; a change is asked for, and happens with the next key frame of the new layer.
    mutating func chooseLayer(of place: Int, now: MediaTime) {
        let subscription = subscriptions[place]
        guard subscription.pointee.isJoined else { return }
        let best = bestEncoding(for: subscription.pointee, now: now)
        let target = Int(subscription.pointee.target)
        if best == Int(subscription.pointee.encoding) {
            if target >= 0 { encodings[target].pointee.newcomers.remove(place) }
            subscription.pointee.target = -1
            return
        }
        if subscription.pointee.awaitsKeyFrame {
            // Nothing runs that could be broken off.
            if target >= 0 { encodings[target].pointee.newcomers.remove(place) }
            move(place, to: best, startsAt: .min)
            wantKeyFrame(encoding: best, now: now)
        } else if target != best {
            if target >= 0 { encodings[target].pointee.newcomers.remove(place) }
            subscription.pointee.target = Int32(best)
            encodings[best].pointee.newcomers.append(place)
            wantKeyFrame(encoding: best, now: now)
        }
    }

    private mutating func move(_ place: Int, to best: Int, startsAt: Int64) {
        let subscription = subscriptions[place]
        let left = encodings[Int(subscription.pointee.encoding)]
        if subscription.pointee.rewriter.hasStarted, subscription.pointee.leftAt == nil {
            subscription.pointee.leftClock = EncodingClock(left.pointee.reception)
            subscription.pointee.leftAt = left.pointee.reception.lastArrival
        }
        left.pointee.leave(subscription: place)
        encodings[best].pointee.newcomers.remove(place)
        encodings[best].pointee.subscriptions.append(place)
        subscription.pointee.encoding = Int32(best)
        subscription.pointee.target = -1
        subscription.pointee.awaitsKeyFrame = true
        subscription.pointee.startsAt = startsAt
    }

    /// Before a run is forwarded: those who wait for a key frame of this layer come over if the run has one.
    mutating func admitNewcomers(encoding place: Int) {
        let encoding = encodings[place]
        var start: Int64?
        for position in 0..<encoding.pointee.pendingCount where !encoding.pointee.pending[position].isLeftOut {
            let sequence = encoding.pointee.pending[position].sequence
            guard let packet = encoding.pointee.cache.find(sequence), packet.pointee.isKeyFrame,
                packet.pointee.startsFrame
            else { continue }
            start = sequence
            break
        }
        guard let start else { return }
        while encoding.pointee.newcomers.count > 0 {
            move(encoding.pointee.newcomers[0], to: place, startsAt: start)
        }
    }

    /// All subscribers of a track with layers: after a layer came, and now and then.
    mutating func chooseLayers(track place: Int, now: MediaTime) {
        let track = tracks[place]
        guard track.pointee.encodings.count > 1 else { return }
        for position in 0..<track.pointee.subscriptions.count {
            chooseLayer(of: track.pointee.subscriptions[position], now: now)
        }
        let lowest = track.pointee.encodings[0]
        encodings[lowest].pointee.nextLayerCheck = now + Self.layerCheckInterval
        arm(encoding: lowest, at: encodings[lowest].pointee.nextLayerCheck)
    }

    // MARK: Picture numbers

    /// The first packet of a layer: from here on its picture ids go on from those of the last one (RFC 7741, section 4.2;
    /// RFC 9628, section 4.2).
    func shiftPictures(
        of subscription: UnsafeMutablePointer<Subscription>, to packet: UnsafePointer<CachedPacket>,
        _ content: UnsafeRawPointer
    ) {
        let payload = content + Int(packet.pointee.extensionLength)
        if packet.pointee.pictureIDLength > 0, subscription.pointee.lastPicture >= 0 {
            let own = Self.pictureID(payload, packet)
            subscription.pointee.pictureShift =
                UInt16(truncatingIfNeeded: subscription.pointee.lastPicture) &+ 1 &- own
        }
        if packet.pointee.temporalLevelOffset > 0, subscription.pointee.lastTemporalLevel >= 0 {
            let own = payload.load(fromByteOffset: Int(packet.pointee.temporalLevelOffset), as: UInt8.self)
            subscription.pointee.temporalLevelShift =
                UInt8(truncatingIfNeeded: subscription.pointee.lastTemporalLevel) &+ 1 &- own
        }
    }

    private static func pictureID(_ payload: UnsafeRawPointer, _ packet: UnsafePointer<CachedPacket>) -> UInt16 {
        let place = payload + Int(packet.pointee.pictureIDOffset)
        if packet.pointee.pictureIDLength == 1 { return UInt16(place.load(as: UInt8.self)) }
        return UInt16(bigEndian: place.loadUnaligned(as: UInt16.self)) & 0x7FFF
    }

    /// Patches a copy's picture numbers, and remembers the last ones.
    func writePictures(
        _ packet: UnsafePointer<CachedPacket>, for subscription: UnsafeMutablePointer<Subscription>,
        in payload: UnsafeMutableRawPointer
    ) {
        if packet.pointee.pictureIDLength > 0 {
            let own = Self.pictureID(UnsafeRawPointer(payload), packet)
            let shifted = own &+ subscription.pointee.pictureShift
            let place = payload + Int(packet.pointee.pictureIDOffset)
            if packet.pointee.pictureIDLength == 1 {
                place.storeBytes(of: UInt8(truncatingIfNeeded: shifted & 0x7F), as: UInt8.self)
                subscription.pointee.noteSent(picture: shifted & 0x7F, mask: 0x7F)
            } else {
                place.storeBytes(of: (shifted & 0x7FFF | 0x8000).bigEndian, as: UInt16.self)
                subscription.pointee.noteSent(picture: shifted & 0x7FFF, mask: 0x7FFF)
            }
        }
        if packet.pointee.temporalLevelOffset > 0 {
            let place = payload + Int(packet.pointee.temporalLevelOffset)
            let shifted = place.load(as: UInt8.self) &+ subscription.pointee.temporalLevelShift
            place.storeBytes(of: shifted, as: UInt8.self)
            subscription.pointee.noteSent(temporalLevel: shifted)
        }
    }
}
