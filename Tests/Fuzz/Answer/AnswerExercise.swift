import MediaWire

/// What must hold for any text that comes as the answer to a plain offer. The first byte chooses the offer, the rest is the
/// answer. Run by the fuzzer, and by the unit tests on the corpus.
enum AnswerExercise {
    /// By the bits of the form: 0: plays; 1: muxed RTCP; 2: one bundle; 3: one key only.
    static func offer(_ form: UInt8) -> PlainOfferBuilder {
        let plays = form & 1 != 0
        let profiles: [SRTPProfile] =
            form & 8 != 0 ? [.aesCM128HmacSHA1_80] : [.aesCM128HmacSHA1_80, .aeadAES256GCM, .aeadAES128GCM]
        func keys(_ first: UInt8) -> [SRTPMasterKey] {
            profiles.compactMap { profile in
                SRTPMasterKey(
                    profile: profile, key: (0..<profile.keyLength).map { first &+ UInt8($0) },
                    salt: (0..<profile.saltLength).map { first &+ UInt8(100 + $0) })
            }
        }
        return PlainOfferBuilder(
            purpose: plays ? .play : .publish, address: TransportAddress(ipv4: 0xC000_020A, port: 0),
            lines: [
                .init(formats: [.init(.opus)], port: plays ? 5000 : 9, keys: keys(1), mid: "0", ssrc: plays ? nil : 71),
                .init(
                    formats: plays ? [.init(.vp8), .init(.vp9), .init(.h264)] : [.init(.vp9)],
                    port: plays ? 5004 : 9, keys: keys(50), mid: "1", ssrc: plays ? nil : 72),
            ],
            rtcpMux: form & 2 != 0, bundled: form & 4 != 0, extensions: [HeaderExtensionMapping(id: 3, kind: .mid)])
    }

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        guard let form = bytes.first else { return nil }
        let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
        let own = offer(form)
        let lines: [PlainAnswerLine?]
        do throws(SDPError) {
            lines = try PlainAnswerReader.read(text, for: own)
        } catch {
            let count = text.utf8.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
            return (0...count).contains(error.line) && !error.reason.isEmpty ? nil : "an error outside the text"
        }
        guard lines.count == own.lines.count else { return "m-lines lost or added" }
        for (index, line) in lines.enumerated() {
            guard let line else { continue }
            guard lines.indices.contains(line.transport), own.bundled || line.transport == index else {
                return "a bundle that was not offered"
            }
            // What the builder writes at the line: in a bundle the first one's keys.
            let keys = own.lines[own.bundled ? 0 : index].keys
            guard keys.contains(line.clientKey), line.clientKey.profile == line.nodeKey.profile else {
                return "a key that was not offered"
            }
            guard line.rtp.port != 0, line.rtcp.port != 0 else { return "media to port 0" }
            guard !line.rtcpMux || line.rtp == line.rtcp else { return "muxed, but on two addresses" }
            guard !line.formats.isEmpty, line.formats.allSatisfy({ $0.codec.kind == line.kind }) else {
                return "no format, or one of another kind"
            }
        }
        guard (try? SessionDescription(parsing: PlayerSDP.text(offer: own, answer: lines))) != nil else {
            return "the player's description does not read back"
        }
        return nil
    }
}
