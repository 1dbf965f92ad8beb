package import ClientEngine
package import MediaCodecs
package import MediaWire

/// What a subscriber does with one received stream, and what it found. On the engine's thread only.
package final class LineCheck: @unchecked Sendable {
    package enum Method: Sendable {
        /// Depacketize, decode, read the picture's mark.
        case picture(VPXCodec)
        /// Depacketize, decode, listen for the tone.
        case tone
        /// Read the probes.
        case probes
        /// The headers of video packets: picture ids go up by one, frames are complete. Nothing is decoded.
        case pictureHeaders(Codec)
        /// That packets come, and in order.
        case packets
    }

    private enum Work {
        case picture(VideoDepacketizer, VPXDecoder)
        case tone(OpusDepacketizer, OpusDecoder)
        case probes
        case pictureHeaders(Codec)
        case packets
    }

    package let kind: MediaKind
    package let publisher: UInt16
    package private(set) var frames: FrameJudge
    package private(set) var tone: ToneJudge
    package private(set) var firstFrame: MediaTime?
    package private(set) var lastPacket: MediaTime?
    /// Frames that were complete, of those that are not decoded.
    package private(set) var framesChecked: UInt64 = 0
    private var headerFaults = FaultCounts()

    private var work: Work
    private var picture = VideoFrame(width: 1, height: 1)
    private var lastSequence: Int64?
    private var lossBefore = false
    private var lastPictureID: UInt16?
    private var needsKeyFrameSince: MediaTime?

    /// How long a stream may go without a key frame before the subscriber asks by itself: the node does so first.
    private static let keyFramePatience = MediaDuration.milliseconds(300)

    /// Throws when libvpx or libopus does.
    package init(_ method: Method, publisher: UInt16) throws(CodecError) {
        self.publisher = publisher
        frames = FrameJudge(publisher: publisher)
        tone = ToneJudge(publisher: publisher)
        kind =
            switch method {
            case .picture, .pictureHeaders: .video
            case .tone, .probes, .packets: .audio
            }
        work =
            switch method {
            case .picture(let codec): .picture(VideoDepacketizer(codec), try VPXDecoder(codec))
            case .tone: .tone(OpusDepacketizer(), try OpusDecoder())
            case .probes: .probes
            case .pictureHeaders(let codec): .pictureHeaders(codec)
            case .packets: .packets
            }
    }

    package var faults: FaultCounts {
        var all = frames.faults
        all.add(tone.faults)
        all.add(headerFaults)
        return all
    }

    /// Takes a packet, in order. True: a key frame should be asked for.
    package func receive(
        _ packet: ClientPacket, payload: RawSpan, now: MediaTime, wallTime: () -> Int64
    ) -> Bool {
        lastPacket = packet.arrival
        if let last = lastSequence, packet.sequence != last + 1 { lossBefore = true }
        lastSequence = packet.sequence
        // Padding only: it has a number and says nothing.
        guard payload.byteCount > 0 else { return false }
        switch work {
        case .picture(var depacketizer, let decoder):
            // Moved out and back: the frame in the making keeps one owner and is not copied.
            work = .packets
            let reception = depacketizer.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            if case .frame(let frame) = reception, !decode(frame, decoder, now, wallTime) {
                depacketizer.requireKeyFrame()
            }
            if case .dropped(let reason) = reception { noteDrop(reason) }
            let needed = depacketizer.needsKeyFrame
            work = .picture(depacketizer, decoder)
            return wantsKeyFrame(needed, now)
        case .tone(var depacketizer, let decoder):
            let reception = depacketizer.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            if case .audio(let audio) = reception { hear(audio, decoder, now) }
            if case .dropped(.malformed) = reception {
                headerFaults.add(.malformed, "an Opus packet of publisher \(publisher) that cannot be read")
            }
            work = .tone(depacketizer, decoder)
        case .probes: read(payload, now, wallTime)
        case .pictureHeaders(let codec): return checkHeaders(payload, packet, codec, now)
        case .packets: if firstFrame == nil { firstFrame = now }
        }
        return false
    }

    /// After a loss, payloads are dropped until the next key frame. Without one, the publisher's or the node's frames do not
    /// follow each other.
    private func noteDrop(_ reason: DepacketizerDrop) {
        if reason == .malformed {
            headerFaults.add(.malformed, "a payload of publisher \(publisher) that cannot be depacketized")
        } else if firstFrame != nil, !lossBefore {
            headerFaults.add(.wrongOrder, "publisher \(publisher): \(reason), though no packet was lost")
            // Once for each such break.
            lossBefore = true
        }
    }

    private func wantsKeyFrame(_ needed: Bool, _ now: MediaTime) -> Bool {
        guard needed else {
            needsKeyFrameSince = nil
            return false
        }
        let since = needsKeyFrameSince ?? now
        needsKeyFrameSince = since
        return now >= since + Self.keyFramePatience
    }

    /// False: the decoder refused the frame.
    private func decode(
        _ frame: AssembledFrame, _ decoder: VPXDecoder, _ now: MediaTime, _ wallTime: () -> Int64
    ) -> Bool {
        defer { lossBefore = false }
        do {
            guard try decoder.decode(frame.bytes, into: &picture) else { return true }
        } catch {
            frames.note(.undecodable, "publisher \(publisher): \(error)")
            return false
        }
        if firstFrame == nil { firstFrame = now }
        guard let mark = TestPicture.read(picture) else {
            frames.note(.unreadable, "a picture of \(picture.width)x\(picture.height) of publisher \(publisher)")
            return true
        }
        frames.note(
            counter: mark.counter, publisher: mark.publisher, captureMicroseconds: mark.captureMicroseconds,
            lossBefore: lossBefore, wallMicroseconds: wallTime() / 1000)
        return true
    }

    private func hear(_ audio: ReceivedAudio, _ decoder: OpusDecoder, _ now: MediaTime) {
        do {
            let samples = try decoder.decode(audio.packet)
            if firstFrame == nil { firstFrame = now }
            tone.note(samples, lossBefore: lossBefore)
        } catch { tone.note(undecodable: "publisher \(publisher): \(error)") }
        lossBefore = false
    }

    private func read(_ payload: RawSpan, _ now: MediaTime, _ wallTime: () -> Int64) {
        defer { lossBefore = false }
        guard let probe = ProbePayload(payload) else {
            frames.note(.unreadable, "a packet of \(payload.byteCount) bytes from publisher \(publisher)")
            return
        }
        if firstFrame == nil { firstFrame = now }
        frames.note(
            counter: probe.counter, publisher: probe.publisher, captureMicroseconds: probe.microseconds,
            lossBefore: lossBefore, wallMicroseconds: wallTime() / 1000)
    }

    private func checkHeaders(_ payload: RawSpan, _ packet: ClientPacket, _ codec: Codec, _ now: MediaTime) -> Bool {
        var starts = false
        var pictureID: UInt16?
        switch codec {
        case .vp8:
            guard let descriptor = VP8Descriptor.parse(payload) else { return malformed() }
            starts = descriptor.startsFrame
            pictureID = descriptor.pictureIDLength > 0 ? descriptor.pictureID : nil
        case .vp9:
            guard let descriptor = VP9Descriptor.parse(payload) else { return malformed() }
            starts = descriptor.startsFrame
            pictureID = descriptor.pictureIDLength > 0 ? descriptor.pictureID : nil
        case .opus, .h264, .av1: break
        }
        if starts, let pictureID {
            if let last = lastPictureID, pictureID != (last &+ 1) & 0x7FFF, !lossBefore {
                headerFaults.add(.wrongOrder, "picture id \(pictureID) of publisher \(publisher) after \(last)")
            }
            lastPictureID = pictureID
            lossBefore = false
        }
        if packet.marker {
            framesChecked += 1
            if firstFrame == nil { firstFrame = now }
        }
        return false
    }

    private func malformed() -> Bool {
        headerFaults.add(.malformed, "a video payload of publisher \(publisher) that cannot be read")
        return false
    }
}
