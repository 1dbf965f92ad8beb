import FoundationEssentials
package import RoomControl
package import WebTransport

/// Where an app wants its events, and what signs them.
package struct WebhookTarget: Hashable, Sendable {
    /// The app's `eventCbUrl`.
    package var url: String
    /// The id of the app's access key, with the app's `eventCbSecret` as its secret, or else the key's own.
    package var key: AccessKey

    package init(url: String, key: AccessKey) {
        self.url = url
        self.key = key
    }

    /// - Parameters:
    ///   - secret: the app's `eventCbSecret`, or else the secret of its access key.
    ///   - keyID: the id of the app's access key.
    package init(url: String, secret: String, keyID: String) {
        self.init(url: url, key: AccessKey(id: keyID, secret: secret))
    }
}

extension WebhookTarget: CustomStringConvertible {
    /// Not the URL: its query may hold a secret.
    package var description: String { "webhook target of \(key)" }
}

/// One POST, signed as the server API's requests are.
package struct WebhookRequest: Sendable {
    package var url: String
    package var headers: HTTPFields
    package var body: [UInt8]

    /// - Parameter unixTime: seconds; of the attempt, not of the event: a receiver refuses what is too old.
    package init(
        _ event: WebhookEvent, to target: WebhookTarget, allowed: WebhookAllowList, unixTime: Int64
    ) throws(WebhookAddressError) {
        let address = try allowed.check(target.url)
        let encoder = JSONEncoder()
        // Sorted, so that every attempt has the same bytes.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(event) else {
            throw WebhookAddressError("the event \(event.id) cannot be written as JSON")
        }
        url = target.url
        body = Array(json)
        let host = address.hostField
        let date = RequestSignature.basicDate(unixTime: unixTime)
        let signable = SignableRequest(
            method: "POST", target: address.target, host: host, contentType: Self.contentType,
            qiniuHeaders: [(name: "X-Qiniu-Date", value: date)], body: body)
        headers = [
            "Host": host, "Content-Type": Self.contentType, "User-Agent": "parlor-webhooks", "X-Qiniu-Date": date,
            "Authorization": RequestSignature.authorization(for: signable, key: target.key),
        ]
    }

    private static let contentType = "application/json"
}
