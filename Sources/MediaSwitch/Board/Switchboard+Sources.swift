import MediaContract
import MediaWire

/// Which source a packet is of, and what happens to an encoding when its source begins, begins again, or jumps.
extension Switchboard {
    /// Whose SSRC this is: by MID and RID (RFC 9143, section 9.2; RFC 8852), else by a payload type that only one track has. It then
    /// stays.
    mutating func bind(_ header: RTPHeader, _ packet: RawSpan, transport place: Int) -> SSRCBinding? {
        let transport = transports[place]
        var match: Int?
        var encoding = -1
        for position in 0..<transport.pointee.tracks.count {
            let candidate = transport.pointee.tracks[position]
            let track = tracks[candidate]
            var names = StreamNames(header, packet, kinds: track.pointee.extensionKinds)
            if track.pointee.mid.count == 0 { names.mid = nil }
            if let mid = names.mid {
                guard track.pointee.mid.equals(packet, offset: mid.offset, length: mid.length) else { continue }
            } else {
                // Signalling has named this track's sources, and this is none of them.
                guard !(transport.pointee.isWebRTC && track.pointee.hasDeclaredSSRCs) else { continue }
                guard track.pointee.carries(header.payloadType) else { continue }
                guard match == nil else {
                    drops.count(.ambiguousPayloadType)
                    return nil
                }
            }
            let isRepair = header.payloadType == track.pointee.rtxPayloadType
            if isRepair { names.rid = names.repairedRid ?? names.rid }
            guard let found = self.encoding(of: candidate, names.rid, packet) else { continue }
            match = candidate
            encoding = found
            if names.mid != nil { break }
        }
        guard let match else {
            drops.count(transport.pointee.isWebRTC ? .unknownSSRC : .unknownPayloadType)
            return nil
        }
        let isRepair = header.payloadType == tracks[match].pointee.rtxPayloadType
        transport.pointee.bind(header.ssrc, to: encoding, isRepair: isRepair)
        return SSRCBinding(ssrc: header.ssrc, encoding: Int32(encoding), isRepair: isRepair)
    }

    /// The only one, or the one of that stream id.
    private func encoding(of place: Int, _ rid: HeaderExtensionElement?, _ packet: RawSpan) -> Int? {
        let track = tracks[place]
        for position in 0..<track.pointee.encodings.count {
            let candidate = track.pointee.encodings[position]
            guard let rid, encodings[candidate].pointee.rid.count > 0 else { continue }
            if encodings[candidate].pointee.rid.equals(packet, offset: rid.offset, length: rid.length) {
                return candidate
            }
        }
        guard track.pointee.encodings.count == 1 else { return nil }
        let only = track.pointee.encodings[0]
        return rid == nil || encodings[only].pointee.rid.count == 0 ? only : nil
    }

    /// The encoding's first packet, or the first of a publisher that started again: whoever listens needs a key frame.
    mutating func begin(encoding place: Int, ssrc: UInt32) {
        let encoding = encodings[place]
        let isFirst = !encoding.pointee.reception.hasStarted && encoding.pointee.reception.highestOnLine < 0
        encoding.pointee.reception.restart(ssrc: ssrc)
        if isFirst {
            let track = tracks[encoding.pointee.track]
            if !track.pointee.hasStarted { events.append(.trackStarted(track.pointee.id)) }
            track.pointee.hasStarted = true
        } else if encoding.pointee.isVideo {
            for subscription in encoding.pointee.subscriptions.all {
                subscriptions[subscription].pointee.awaitsKeyFrame = true
            }
        }
        encoding.pointee.missing.forget()
    }

    /// The numbering has jumped, and the line has not: what decoders build on is lost. Who cannot be asked for a key frame goes on.
    mutating func jumped(encoding place: Int, now: MediaTime) {
        let encoding = encodings[place]
        guard encoding.pointee.canRequestKeyFrames else { return }
        for position in 0..<encoding.pointee.subscriptions.count {
            subscriptions[encoding.pointee.subscriptions[position]].pointee.awaitsKeyFrame = true
        }
        wantKeyFrame(encoding: place, now: now)
    }
}
