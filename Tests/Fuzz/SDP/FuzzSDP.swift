// Any text either gives an error with a line inside the text, or a description whose text reads back to the same.

import MediaWire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = UnsafeBufferPointer(start: data, count: size)
    let text = String(decoding: bytes, as: UTF8.self)
    do {
        let first = try SessionDescription(parsing: text)
        look(first)
        let written = first.text
        let second: SessionDescription
        do {
            second = try SessionDescription(parsing: written)
        } catch {
            // Writing may only lengthen the text: by CR, and by o=, s= and t= where they were missing.
            guard written.utf8.count > SDPLimits.text || lines(written) > SDPLimits.lines else {
                fatalError("what was written is not read: \(error)")
            }
            return 0
        }
        guard second.text == written, second.attributes == first.attributes, second.connection == first.connection,
            sorted(second.media) == sorted(first.media)
        else { fatalError("what was written reads as something else") }
        look(second)
    } catch {
        guard (0...lines(text)).contains(error.line), !error.reason.isEmpty else { fatalError("no such line") }
    }
    return 0
}

private func lines(_ text: String) -> Int { text.utf8.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 } }

/// Without the order of the lines that the writer sorts.
private func sorted(_ media: [MediaDescription]) -> [MediaDescription] {
    media.map { media in
        var media = media
        media.otherLines.sort { ($0.type, $0.value) < ($1.type, $1.value) }
        return media
    }
}

/// Every view of every m-line.
private func look(_ session: SessionDescription) {
    var seen = session.bundles.count
    for media in session.media {
        seen &+= media.rtpMaps.compactMap(\.codec).count &+ media.formatParameters.flatMap(\.parameters).count
        seen &+= media.feedback.count &+ media.cryptos.compactMap(\.masterKey).count &+ media.extensions.count
        seen &+= media.ssrcs.count &+ media.ssrcGroups.count &+ media.rids.count &+ media.fingerprints.count
        seen &+= media.simulcast?.send.count ?? 0
        seen &+= media.connection?.address(port: media.port) == nil ? 0 : 1
        seen &+= media.rtcp == nil ? 0 : 1
        seen &+= media.iceUfrag == nil || media.icePwd == nil || media.setup == nil ? 0 : 1
        seen &+= media.direction.sends && media.isBundleOnly && media.rtcpMux && media.rtcpReducedSize ? 1 : 0
    }
    precondition(seen >= 0)
}
