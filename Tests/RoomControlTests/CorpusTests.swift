import Foundation
import MediaWire
import RoomControl
import Testing

/// The fuzzers' corpora, inputs that once failed among them, through the same checks the fuzzers make.
@Suite struct CorpusTests {
    @Test func offers() throws {
        let files = try Self.corpus("Offer")
        for file in files { #expect(OfferExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))") }
        // The corpus does reach answers.
        #expect(files.reduce(0) { $0 + OfferExercise.answers(to: String(decoding: $1, as: UTF8.self)) } >= 10)
    }

    @Test("formats that an m-line repeats stand once in the answer, whether it takes the line or refuses it")
    func repeatedFormats() throws {
        var answered = 0
        for file in try Self.corpus("Offer") {
            guard var offer = try? SessionDescription(parsing: String(decoding: file, as: UTF8.self)) else { continue }
            for index in offer.media.indices { offer.media[index].formats += offer.media[index].formats }
            // Refused for its codecs, beside those that are taken.
            if var refused = offer.media.first {
                refused.attributes.removeAll { ["rtpmap", "fmtp", "mid"].contains($0.name) }
                refused.formats = ["77", "0", "0", "77"]
                offer.media.append(refused)
            }
            #expect(OfferExercise.run([UInt8](offer.text.utf8)) == nil, "\(offer.text)")
            answered += OfferExercise.answers(to: offer.text)
        }
        #expect(answered >= 10)
    }

    @Test func tokens() throws {
        let files = try Self.corpus("Token")
        for file in files { #expect(TokenExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))") }
        #expect(files.count { TokenExercise.isToken(String(decoding: $0, as: UTF8.self)) } >= 4)
    }

    @Test func signatures() throws {
        let files = try Self.corpus("Signature")
        for file in files { #expect(SignatureExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))") }
        let taken = files.count { file in
            let (request, authorization) = SignatureExercise.request(file)
            return SignatureExercise.refusal(request, authorization, at: SignatureExercise.now) == nil
        }
        #expect(taken >= 8)
    }

    @Test func publishOffers() throws {
        let files = try Self.corpus("PublishOffer")
        for file in files { #expect(PublishOfferExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))") }
        let readings = files.map { PublishOfferExercise.readings(of: String(decoding: $0, as: UTF8.self)) }
        #expect(readings.reduce(0) { $0 + $1.capabilities } >= 20)
        #expect(readings.reduce(0) { $0 + $1.offers } >= 20)
    }

    @Test func signalling() throws {
        let files = try Self.corpus("Signalling")
        for file in files { #expect(SignallingExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))") }
        #expect(files.count(where: SignallingExercise.isClientMessage) >= 18)
    }

    private static func corpus(_ target: String) throws -> [[UInt8]] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fuzz/\(target)/corpus")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map {
            [UInt8](try Data(contentsOf: $0))
        }
    }
}
