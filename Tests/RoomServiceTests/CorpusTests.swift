import Foundation
import MediaWire
import Testing

/// The fuzzer's corpus, inputs that once failed among them, through the same checks the fuzzer makes.
@Suite struct CorpusTests {
    @Test func clientAddresses() throws {
        let files = try Self.corpus("ClientAddress")
        try #require(files.count >= 10)
        for file in files {
            #expect(ClientAddressExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))")
        }
    }

    @Test func trustedProxiesAreBelieved() {
        #expect(ClientAddressExercise.client(peer: "10.0.0.1", ["[2001:db8::1]:80"]).host == "2001:db8::1")
        #expect(ClientAddressExercise.client(peer: "fd00::1", ["192.0.2.7", "10.9.9.9"]).host == "192.0.2.7")
        #expect(ClientAddressExercise.client(peer: "203.0.113.5", ["192.0.2.7"]).host == "203.0.113.5")
    }

    private static func corpus(_ target: String) throws -> [[UInt8]] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fuzz/\(target)/corpus")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map {
            [UInt8](try Data(contentsOf: $0))
        }
    }
}
