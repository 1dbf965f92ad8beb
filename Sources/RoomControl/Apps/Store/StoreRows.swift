import MediaWire

/// A row's values, read with their expected types.
struct SQLiteRow {
    var values: [SQLiteValue]

    func text(_ column: Int) -> String? {
        guard column < values.count, case .text(let text) = values[column] else { return nil }
        return text
    }

    func integer(_ column: Int) -> Int64? {
        guard column < values.count, case .integer(let number) = values[column] else { return nil }
        return number
    }

    func bool(_ column: Int) -> Bool? { integer(column).map { $0 != 0 } }

    /// From milliseconds.
    func duration(_ column: Int) -> MediaDuration? {
        guard let number = integer(column), (0...AppSettings.times.upperBound * 1000).contains(number) else {
            return nil
        }
        return .milliseconds(number)
    }

    /// Unix seconds; no more than can be counted in milliseconds, with room for a sum of two.
    func unixTime(_ column: Int) -> Int64? {
        guard let number = integer(column), (0...Int64.max / 2000).contains(number) else { return nil }
        return number
    }

    func videoCodec(_ column: Int) -> Codec? {
        guard let codec = text(column).flatMap({ Codec(name: $0) }), codec.kind == .video else { return nil }
        return codec
    }

    func isNull(_ column: Int) -> Bool { column < values.count && values[column] == .null }
}

extension SQLiteValue {
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ flag: Bool?) { self = flag.map { .integer($0 ? 1 : 0) } ?? .null }
    init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
    /// In milliseconds.
    init(_ duration: MediaDuration?) { self = duration.map { .integer($0.nanoseconds / 1_000_000) } ?? .null }
}

/// An app as a row.
enum AppRow {
    static let columns = """
        id, access_key, max_users, no_auto_kick_user, no_auto_create_room, no_auto_close_room, auto_close_ttl_ms, \
        no_enter_ttl_ms, user_timeout_ms, video_codec, title, hub, merge_publish_rtmp, event_cb_url, event_cb_secret, \
        event_cb_version, created_at, updated_at
        """

    static func values(_ app: App) -> [SQLiteValue] {
        let (settings, details) = (app.settings, app.details)
        return [
            .text(app.id), .text(app.accessKey), SQLiteValue(settings.maxUsers), SQLiteValue(settings.noAutoKickUser),
            SQLiteValue(settings.noAutoCreateRoom), SQLiteValue(settings.noAutoCloseRoom),
            SQLiteValue(settings.autoCloseTtl), SQLiteValue(settings.noEnterTtl), SQLiteValue(settings.userTimeout),
            .text(settings.videoCodec.name), .text(details.title), .text(details.hub),
            SQLiteValue(details.mergePublishRtmp?.text), .text(details.eventCbUrl), .text(details.eventCbSecret),
            .integer(details.eventCbVersion), .integer(details.createdAt ?? 0), .integer(details.updatedAt ?? 0),
        ]
    }

    static func app(_ row: SQLiteRow) -> App? {
        guard let id = row.text(0), let accessKey = row.text(1), let maxUsers = row.integer(2),
            AppSettings.userCounts.contains(maxUsers), let noAutoKickUser = row.bool(3),
            let noAutoCreateRoom = row.bool(4), let noAutoCloseRoom = row.bool(5), let autoCloseTtl = row.duration(6),
            let noEnterTtl = row.duration(7), let userTimeout = row.duration(8), let videoCodec = row.videoCodec(9),
            let title = row.text(10), let hub = row.text(11), let eventCbUrl = row.text(13),
            let eventCbSecret = row.text(14), let eventCbVersion = row.integer(15), let createdAt = row.integer(16),
            let updatedAt = row.integer(17)
        else { return nil }
        var app = App(id: id, accessKey: accessKey, origin: .api)
        app.settings.maxUsers = Int(maxUsers)
        app.settings.noAutoKickUser = noAutoKickUser
        app.settings.noAutoCreateRoom = noAutoCreateRoom
        app.settings.noAutoCloseRoom = noAutoCloseRoom
        app.settings.autoCloseTtl = autoCloseTtl
        app.settings.noEnterTtl = noEnterTtl
        app.settings.userTimeout = userTimeout
        app.settings.videoCodec = videoCodec
        app.details.title = title
        app.details.hub = hub
        if let text = row.text(12) {
            guard let value = JSONValue(text: text.utf8) else { return nil }
            app.details.mergePublishRtmp = value
        }
        app.details.eventCbUrl = eventCbUrl
        app.details.eventCbSecret = eventCbSecret
        app.details.eventCbVersion = eventCbVersion
        app.details.createdAt = createdAt
        app.details.updatedAt = updatedAt
        return app
    }
}

/// A room as a row.
enum RoomRow {
    static let columns =
        "app, name, max_users, auto_close_ttl_ms, no_enter_ttl_ms, video_codec, open_room, created_at"

    static func values(_ room: AppStore.SavedRoom) -> [SQLiteValue] {
        let settings = room.settings
        return [
            .text(room.key.app), .text(room.key.room), SQLiteValue(settings.maxUsers),
            SQLiteValue(settings.autoCloseTtl), SQLiteValue(settings.noEnterTtl),
            SQLiteValue(settings.videoCodec?.name), SQLiteValue(settings.openRoom), .integer(room.createdAt),
        ]
    }

    static func room(_ row: SQLiteRow) -> AppStore.SavedRoom? {
        guard let app = row.text(0), let name = row.text(1), let createdAt = row.integer(7) else { return nil }
        var settings = RoomSettings()
        if let number = row.integer(2) {
            guard AppSettings.userCounts.contains(number) else { return nil }
            settings.maxUsers = Int(number)
        }
        settings.autoCloseTtl = row.duration(3)
        settings.noEnterTtl = row.duration(4)
        settings.videoCodec = row.videoCodec(5)
        guard settings.autoCloseTtl != nil || row.isNull(3), settings.noEnterTtl != nil || row.isNull(4),
            settings.videoCodec != nil || row.isNull(5)
        else { return nil }
        settings.openRoom = row.bool(6)
        return AppStore.SavedRoom(key: RoomKey(app: app, room: name), settings: settings, createdAt: createdAt)
    }
}
