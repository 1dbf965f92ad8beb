import MediaWire
import RoomService
import WebTransport

/// What must hold for any X-Forwarded-For, any request target, and any Host. Run by the fuzzer, and by the unit tests on the corpus.
///
/// The input, as lines: the socket's peer, the request target, then one X-Forwarded-For each.
enum ClientAddressExercise {
    /// 10.0.0.0/8 and fd00::/8.
    static func isTrusted(_ address: TransportAddress) -> Bool {
        address.isIPv4 ? address.low >> 24 == 10 : address.high >> 56 == 0xFD
    }

    static func client(peer: String, _ headers: [String]) -> TransportAddress {
        ClientAddress(isTrustedProxy: isTrusted).of(
            HTTPRequest(
                method: "GET", target: "/", headers: HTTPFields(headers.map { HTTPField("x-forwarded-FOR", $0) }),
                peerHost: peer, peerPort: 4000))
    }

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        let headers = Array(lines.dropFirst(2))
        let found = client(peer: lines[0], headers)
        guard let peer = TransportAddress(host: lines[0], port: 4000)?.unmapped else {
            return found == .unspecified ? nil : "somebody, though the peer is nobody"
        }
        guard isTrusted(peer) || found == peer else { return "a stranger was believed" }
        guard found.unmapped == found, TransportAddress(host: found.host, port: found.port) == found else {
            return "an address that does not read back: \(found)"
        }
        guard client(peer: lines[0], [headers.joined(separator: ",")]) == found else {
            return "one header and several are not the same"
        }
        // What stands left of the client's own address is the client's invention.
        let invented = client(peer: lines[0], ["203.0.113.99"] + headers)
        guard invented == found || isTrusted(found) else { return "what the client wrote was believed" }
        guard lines.count > 1 else { return nil }
        return checkTarget(lines[1]) ?? checkHost(lines[1], headers, peer: peer)
    }

    /// The target stands for the Host, too, and the other lines for what a proxy says of it.
    private static func checkHost(_ host: String, _ forwarded: [String], peer: TransportAddress) -> String? {
        func base(_ forwarded: [String]) -> String? {
            PublicAddress(configured: nil, clientAddress: ClientAddress(isTrustedProxy: isTrusted)).webSocketBase(
                for: HTTPRequest(
                    method: "GET", target: "/",
                    headers: HTTPFields(
                        [HTTPField("Host", host)]
                            + forwarded.flatMap {
                                [HTTPField("X-Forwarded-Host", $0), HTTPField("x-forwarded-proto", $0)]
                            }),
                    peerHost: peer.host, peerPort: 4000))
        }
        guard isTrusted(peer) || base(forwarded) == base([]) else {
            return "a stranger's word about the host was believed"
        }
        guard let found = base(forwarded) else { return nil }
        guard found.hasPrefix("ws://") || found.hasPrefix("wss://"),
            PublicAddress.isHost(found.drop { $0 != "/" }.dropFirst(2)),
            found.utf8.allSatisfy({ (33...126).contains($0) && !"\"\\<>@?#".utf8.contains($0) })
        else { return "a host that cannot stand in a URL: \(found)" }
        return nil
    }

    private static func checkTarget(_ target: String) -> String? {
        let request = HTTPRequest(method: "GET", target: target)
        guard request.path + (request.query.map { "?\($0)" } ?? "") == target else {
            return "a part of the target is lost"
        }
        guard request.pathComponents.count <= target.utf8.count, request.queryItems.count <= target.utf8.count else {
            return "more parts than characters"
        }
        let escaped = target.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return HTTPRequest.percentDecoded(escaped) == target ? nil : "percent-encoding does not read back"
    }
}
