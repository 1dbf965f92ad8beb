import Foundation
import RoomControl
import RoomProtocol

/// Offers in the shape that browsers give them, with names: they are in the fuzz target's corpus.
enum ClientOffers {
    static func text(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fuzz/PublishOffer/corpus/\(name).sdp")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    static func track(_ mid: String?, _ kind: TrackKind, id: String? = nil) -> PublishedTrack {
        PublishedTrack(localID: id ?? "local \(mid ?? "")", localMid: mid, kind: kind)
    }

    /// What is refused, and how.
    static func refusal(_ read: () throws(NegotiationError) -> some Sendable) -> NegotiationError? {
        do throws(NegotiationError) {
            _ = try read()
            return nil
        } catch { return error }
    }
}
