/// The description that a player opens to receive a plain leg, such as FFmpeg from a file.
///
/// A player neither offers nor answers: it binds the m-line's port (and the next, for RTCP), and opens what arrives with the
/// key of the description. So the ports are those of the client's offer, and the keys are those of the node's answer. It
/// knows no bundles: the offer must not be bundled.
package enum PlayerSDP {
    /// The text of the file; rejected m-lines are left out. It holds keys: only its owner should read it.
    package static func text(offer: PlainOfferBuilder, answer: [PlainAnswerLine?]) -> String {
        let connection = SDPConnection(offer.address)
        var session = SessionDescription(
            origin: "- 1 1 \(connection.text)", name: "Parlor", connection: connection, timing: ["0 0"])
        for (own, line) in zip(offer.lines, answer) {
            guard let line else { continue }
            var attributes: [SDPAttribute] = []
            attributes += [CryptoAttribute(tag: 1, key: line.nodeKey).attribute].compactMap { $0 }
            for format in line.formats {
                attributes.append(RTPMap(payloadType: format.payloadType, codec: format.codec).attribute)
                if !format.parameters.isEmpty {
                    attributes.append(
                        FormatParameters(payloadType: format.payloadType, text: format.parameters).attribute)
                }
            }
            attributes.append(SDPAttribute("recvonly"))
            // RTP/SAVP: with feedback announced, FFmpeg would send reports that are not protected.
            session.media.append(
                MediaDescription(
                    media: line.kind.name, port: own.port, transport: "RTP/SAVP",
                    formats: line.formats.map { String($0.payloadType) }, attributes: attributes))
        }
        return session.text
    }
}
