package import MediaWire

/// A namespace of rooms: the same room name under two apps is two rooms.
package struct App: Hashable, Sendable {
    /// Who made the app, and so who may change it.
    package enum Origin: String, Hashable, Sendable {
        /// The configuration file; to the server API it is read-only.
        case configuration
        /// The server API; it lives in the store.
        case api
    }

    package var id: String
    /// The access key that owns the app.
    package var accessKey: String
    package var settings: AppSettings
    package var details: AppDetails
    package var origin: Origin

    package init(
        id: String, accessKey: String, settings: AppSettings = AppSettings(), details: AppDetails = AppDetails(),
        origin: Origin = .configuration
    ) {
        self.id = id
        self.accessKey = accessKey
        self.settings = settings
        self.details = details
        self.origin = origin
    }
}

extension App: CustomStringConvertible {
    /// Never the callback's secret: descriptions end in logs.
    package var description: String { "app \(id)" }
}

/// What an app is called and whom it tells: nothing here is a rule of its rooms. The names are the server API's.
package struct AppDetails: Hashable, Sendable {
    package var title = ""
    /// The live-streaming space of the vendor's; stored and given back, never looked up.
    package var hub = ""
    /// The vendor's settings for merged streams: a JSON object, stored and given back.
    package var mergePublishRtmp: JSONValue?
    /// Where webhooks go; empty: nowhere.
    package var eventCbUrl = ""
    /// Signs the webhooks; empty: the app's key does.
    package var eventCbSecret = ""
    package var eventCbVersion: Int64 = 1
    /// Unix seconds; `nil` for an app of the configuration.
    package var createdAt: Int64?
    /// Unix seconds.
    package var updatedAt: Int64?

    package init() {}
}

extension AppDetails: CustomStringConvertible {
    /// Never the callback's secret: descriptions end in logs.
    package var description: String { "details of \(title)" }
}

/// What a request of the server API changes of an app; what is `nil` stays as it is.
package struct AppChanges: Hashable, Sendable {
    package var maxUsers: Int?
    package var noAutoKickUser: Bool?
    package var noAutoCreateRoom: Bool?
    package var noAutoCloseRoom: Bool?
    package var autoCloseTtl: MediaDuration?
    package var noEnterTtl: MediaDuration?
    package var userTimeout: MediaDuration?
    package var videoCodec: Codec?
    package var title: String?
    package var hub: String?
    package var mergePublishRtmp: JSONValue?
    package var eventCbUrl: String?
    package var eventCbSecret: String?
    package var eventCbVersion: Int64?

    package init() {}

    package func apply(to app: inout App) {
        func set<Value>(_ place: inout Value, _ value: Value?) {
            if let value { place = value }
        }
        set(&app.settings.maxUsers, maxUsers)
        set(&app.settings.noAutoKickUser, noAutoKickUser)
        set(&app.settings.noAutoCreateRoom, noAutoCreateRoom)
        set(&app.settings.noAutoCloseRoom, noAutoCloseRoom)
        set(&app.settings.autoCloseTtl, autoCloseTtl)
        set(&app.settings.noEnterTtl, noEnterTtl)
        set(&app.settings.userTimeout, userTimeout)
        set(&app.settings.videoCodec, videoCodec)
        set(&app.details.title, title)
        set(&app.details.hub, hub)
        if let mergePublishRtmp { app.details.mergePublishRtmp = mergePublishRtmp }
        set(&app.details.eventCbUrl, eventCbUrl)
        set(&app.details.eventCbSecret, eventCbSecret)
        set(&app.details.eventCbVersion, eventCbVersion)
    }
}

extension AppChanges: CustomStringConvertible {
    /// Never the callback's secret: descriptions end in logs.
    package var description: String { "changes of an app" }
}
