import FoundationEssentials
import MediaWire
package import RoomControl

/// An app as the server API gives it: what it is, and the settings of its rooms, in one object.
struct AppBody: Encodable {
    private struct Description: Encodable {
        var appId: String
        var title: String
        var hub: String
        var mergePublishRtmp: JSONValue?
        /// The secret beside it is never given out.
        var eventCbUrl: String?
        var eventCbVersion: Int64?
        /// api, or configuration: then it is read-only.
        var source: String
        // RFC 3339; apps of the configuration have none.
        var createdAt: String?
        var updatedAt: String?
    }

    private var description: Description
    private var settings: SettingsBody

    init(_ app: App) {
        let details = app.details
        let hasCallbacks = !details.eventCbUrl.isEmpty
        description = Description(
            appId: app.id, title: details.title, hub: details.hub, mergePublishRtmp: details.mergePublishRtmp,
            eventCbUrl: hasCallbacks ? details.eventCbUrl : nil,
            eventCbVersion: hasCallbacks ? details.eventCbVersion : nil, source: app.origin.rawValue,
            createdAt: details.createdAt.map(Self.time), updatedAt: details.updatedAt.map(Self.time))
        settings = SettingsBody(app.settings)
    }

    func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
        try settings.encode(to: encoder)
    }

    private static func time(_ unixSeconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(unixSeconds)).formatted(.iso8601)
    }
}

extension RequestBody {
    /// What a request wants of an app. Unknown fields are ignored: the vendor has more of them.
    ///
    /// - Parameter callbacks: where its events may go.
    package func appChanges(callbacks: WebhookAllowList) throws(Problem) -> AppChanges {
        var changes = AppChanges()
        changes.title = try text("title", upTo: 256)
        changes.hub = try text("hub", upTo: 256)
        changes.maxUsers = try number("maxUsers", in: AppSettings.userCounts, of: "users").map { Int($0) }
        changes.noAutoKickUser = try flag("noAutoKickUser")
        changes.noAutoCreateRoom = try flag("noAutoCreateRoom")
        changes.noAutoCloseRoom = try flag("noAutoCloseRoom")
        changes.autoCloseTtl = try seconds("autoCloseTtl")
        changes.noEnterTtl = try seconds("noEnterTtl")
        changes.userTimeout = try seconds("userTimeout", in: AppSettings.userTimeouts)
        changes.videoCodec = try videoCodec()
        changes.mergePublishRtmp = try object("mergePublishRtmp", upTo: 4096)
        changes.eventCbUrl = try callbackURL(callbacks)
        changes.eventCbSecret = try text("eventCbSecret", upTo: 256)
        changes.eventCbVersion = try number("eventCbVersion", in: 1...1, of: "the callbacks' version,")
        return changes
    }

    /// What a request wants of a room that it makes.
    package func roomSettings() throws(Problem) -> RoomSettings {
        var settings = RoomSettings()
        settings.maxUsers = try number("maxUsers", in: AppSettings.userCounts, of: "users").map { Int($0) }
        // 0 is what an SDK sends for nothing.
        if settings.maxUsers == 0 { settings.maxUsers = nil }
        settings.autoCloseTtl = try secondsOrNone("autoCloseTtlS")
        // Spelt so by the vendor's Java SDK.
        let (theirs, ours) = (try secondsOrNone("noEntreTtlS"), try secondsOrNone("noEnterTtlS"))
        settings.noEnterTtl = theirs ?? ours
        settings.openRoom = try flag("openRoom")
        settings.videoCodec = try videoCodec()
        return settings
    }

    private func seconds(
        _ name: String, in range: ClosedRange<Int64> = AppSettings.times
    ) throws(Problem) -> MediaDuration? {
        try number(name, in: range, of: "seconds").map { .seconds($0) }
    }

    private func secondsOrNone(_ name: String) throws(Problem) -> MediaDuration? {
        let number = try number(name, in: 0...AppSettings.times.upperBound, of: "seconds")
        return number == 0 ? nil : number.map { .seconds($0) }
    }

    private func videoCodec() throws(Problem) -> Codec? {
        guard let name = try text("videoCodec", upTo: 64), !name.isEmpty else { return nil }
        guard let codec = Codec(name: name), AppSettings.videoCodecs.contains(codec) else {
            let names = AppSettings.videoCodecs.map(\.name).joined(separator: ", ")
            throw Problem(message: "videoCodec must be one of \(names)")
        }
        return codec
    }

    /// Empty: no callbacks any more. What stands here is what events are sent to: one judge for both.
    private func callbackURL(_ allowed: WebhookAllowList) throws(Problem) -> String? {
        guard let url = try text("eventCbUrl", upTo: WebhookAllowList.longestURL) else { return nil }
        if url.isEmpty { return url }
        do throws(WebhookAddressError) { _ = try allowed.check(url) } catch {
            throw Problem(message: "eventCbUrl must be empty or a URL that events can be sent to: \(error.message)")
        }
        return url
    }
}
