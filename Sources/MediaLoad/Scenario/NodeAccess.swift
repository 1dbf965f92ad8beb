import Glibc
package import MediaWire
import WebTransport

/// Something that keeps the load test from being done at all: one line.
package struct LoadFailure: Error, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}

/// The way to the node: its address, ours as the node sees it, and joins over HTTP.
package struct NodeAccess: Sendable {
    /// Our own address, port 0.
    package let own: TransportAddress
    private let base: String
    private let host: String?
    private let http: HTTPClient

    /// A join that the node accepted.
    package struct Leg: Sendable {
        /// What ends it, as an absolute URL.
        package var location: String
        package var answer: [PlainAnswerLine?]
    }

    /// Finds the node. Connects once, so an absent node is known at once.
    package init(url text: String) throws {
        let url: WebURL
        do { url = try WebURL(text) } catch { throw LoadUsageError("--url: \(error)") }
        let route = try Self.route(to: url.host, port: url.port)
        own = route.own.with(port: 0)
        if url.isTLS {
            base = text
            host = nil
        } else {
            // To the address that was found: a name may have several, and the offers name ours on this way.
            base = "http://\(route.node)"
            host = url.hostField
        }
        do { http = try HTTPClient(threadName: "load-http") } catch { throw LoadFailure("\(error)") }
    }

    /// Posts an offer; throws `LoadFailure` when the node refuses it or its answer cannot be used.
    package func join(_ offer: PlainOfferBuilder, path: String, token: String) async throws -> Leg {
        var headers = headers(token)
        headers["Content-Type"] = "application/sdp"
        let response: HTTPResponse
        do {
            response = try await http.request(
                "POST", base + path, headers: headers, body: Array(offer.text.utf8), timeout: .seconds(20))
        } catch { throw LoadFailure("no answer: \(error)") }
        guard response.status == 201 else {
            throw LoadFailure("\(response.status) \(response.text.split(separator: "\n").first ?? "")")
        }
        guard let location = response.headers["Location"] else { throw LoadFailure("the answer has no Location") }
        do {
            return Leg(
                location: location.hasPrefix("/") ? base + location : location,
                answer: try PlainAnswerReader.read(response.text, for: offer))
        } catch { throw LoadFailure("the answer cannot be used: \(error)") }
    }

    /// Ends a leg. `nil`: done, or it was gone already; else why not.
    package func leave(_ location: String, token: String) async -> String? {
        do {
            let response = try await http.request("DELETE", location, headers: headers(token), timeout: .seconds(10))
            return (200..<300).contains(response.status) || response.status == 404 ? nil : "\(response.status)"
        } catch { return "\(error)" }
    }

    private func headers(_ token: String) -> HTTPFields {
        var headers: HTTPFields = ["Authorization": "Bearer \(token)"]
        if let host { headers["Host"] = host }
        return headers
    }

    // MARK: Addresses

    private static func route(
        to host: String, port: UInt16
    ) throws(LoadFailure) -> (node: TransportAddress, own: TransportAddress) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { throw LoadFailure("\(host): \(String(cString: gai_strerror(code)))") }
        defer { freeaddrinfo(list) }
        var problem = "no address"
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            let descriptor = socket(
                entry.pointee.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            // SO_SNDTIMEO bounds connect on Linux (socket(7)).
            var limit = timeval(tv_sec: 5, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            guard connect(descriptor, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 else {
                problem = String(cString: strerror(errno))
                continue
            }
            if let own = address(descriptor, getsockname), let node = address(descriptor, getpeername) {
                return (node.unmapped, own.unmapped)
            }
        }
        throw LoadFailure("cannot reach \(host):\(port): \(problem) (is the node running? see --url)")
    }

    private static func address(
        _ descriptor: Int32,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> TransportAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        let family = Int32(storage.ss_family)
        return withUnsafeBytes(of: &storage) { bytes in
            switch family {
            case AF_INET:
                let name = bytes.loadUnaligned(as: sockaddr_in.self)
                return TransportAddress(
                    ipv4: UInt32(bigEndian: name.sin_addr.s_addr), port: UInt16(bigEndian: name.sin_port))
            case AF_INET6:
                let name = bytes.loadUnaligned(as: sockaddr_in6.self)
                return withUnsafeBytes(of: name.sin6_addr) { address in
                    TransportAddress(
                        high: UInt64(bigEndian: address.loadUnaligned(as: UInt64.self)),
                        low: UInt64(bigEndian: address.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                        port: UInt16(bigEndian: name.sin6_port), isIPv4: false)
                }
            default: return nil
            }
        }
    }
}
