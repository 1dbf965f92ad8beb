package import WebTransport

/// Which hosts events may be posted to. Whoever owns an app's key sets its URL, and the node stands where that person may
/// not: the operator's list is what keeps requests from going to the node's own network.
package struct WebhookAllowList: Hashable, Sendable {
    private struct Pattern: Hashable, Sendable {
        /// `nil`: both.
        var scheme: String?
        /// Lower case; of a wildcard the part from the dot on.
        var host: String
        var isWildcard: Bool
        /// `nil`: any.
        var port: UInt16?
    }

    private var patterns: [Pattern]

    /// No list: every host.
    package static let everything = WebhookAllowList()

    private init() { patterns = [] }

    /// - Parameter patterns: `[SCHEME://]HOST[:PORT]` each, where HOST is a name, `*.` and a name (what is below it, not
    ///   the name itself), or an address literal (IPv6 in brackets). None: every host. A name is compared as text, and is
    ///   not resolved: allow names whose addresses their owners may choose.
    /// - Throws: which one is wrong, and what would be right.
    package init(_ patterns: some Sequence<String>) throws(WebhookAddressError) {
        self.patterns = []
        for text in patterns {
            guard let pattern = Self.pattern(text) else {
                throw WebhookAddressError(
                    "\"\(text)\" names no host; write example.com, *.example.com, 192.0.2.7:9000 or https://example.com"
                )
            }
            self.patterns.append(pattern)
        }
    }

    /// The parts of a URL that events may be posted to. Asked for each event, and before, when the server API sets the URL.
    ///
    /// - Throws: for anything but `http` and `https`, and for a host that the list does not have.
    package func check(_ text: String) throws(WebhookAddressError) -> WebURL {
        guard text.utf8.count <= Self.longestURL else {
            throw WebhookAddressError("the URL has more than \(Self.longestURL) bytes")
        }
        guard let url = try? WebURL(text), url.scheme == "http" || url.scheme == "https" else {
            throw WebhookAddressError("the URL is none of http or https with a host and without user information")
        }
        guard allows(url) else { throw WebhookAddressError("the URL's host is not one that this node may post to") }
        return url
    }

    /// Bytes; what common servers accept as a request line.
    package static let longestURL = 2048

    private func allows(_ url: WebURL) -> Bool {
        let host = Self.normal(url.host)
        return patterns.isEmpty
            || patterns.contains { pattern in
                (pattern.scheme ?? url.scheme) == url.scheme && (pattern.port ?? url.port) == url.port
                    && (pattern.isWildcard
                        ? host.hasSuffix(pattern.host) && host.utf8.count > pattern.host.utf8.count
                        : host == pattern.host)
            }
    }

    /// Names compare without case, and the root's dot at the end changes nothing (RFC 4343, RFC 1034 section 3.1).
    private static func normal(_ host: String) -> String {
        let lower = host.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }

    private static func pattern(_ text: String) -> Pattern? {
        let scheme: String?
        var rest = text[...]
        if let range = text.firstRange(of: "://") {
            scheme = text[..<range.lowerBound].lowercased()
            rest = text[range.upperBound...]
        } else {
            scheme = nil
        }
        let isWildcard = rest.hasPrefix("*.")
        if isWildcard { rest = rest.dropFirst(2) }
        guard !rest.contains(where: { "/?#*".contains($0) }),
            let url = try? WebURL("\(scheme ?? "http")://\(rest)"), url.scheme == "http" || url.scheme == "https"
        else { return nil }
        let host = normal(url.host)
        guard !host.isEmpty, !host.hasPrefix("."), !(isWildcard && host.contains(":")) else { return nil }
        // The port that stands there, not the scheme's own.
        let hasPort = rest.last?.isNumber == true && rest.contains(":") && !rest.hasSuffix("]")
        return Pattern(
            scheme: scheme, host: isWildcard ? ".\(host)" : host, isWildcard: isWildcard,
            port: hasPort ? url.port : nil)
    }
}

/// Why an event has nowhere to go: one sentence, without the URL.
package struct WebhookAddressError: Error, Hashable, CustomStringConvertible {
    package var message: String
    init(_ message: String) { self.message = message }
    package var description: String { message }
}
