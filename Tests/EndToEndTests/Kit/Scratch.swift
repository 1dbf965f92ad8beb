import Foundation
import Synchronization

/// A folder of one test, gone with this value.
final class Scratch: Sendable {
    struct Failure: Error {}

    let path: String
    private let count = Atomic<Int>(0)

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/parlor-e2e-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    /// A name that nothing else has.
    func newFile(_ name: String) -> String {
        file("\(count.add(1, ordering: .relaxed).newValue)-\(name)")
    }

    func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }

    func read(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    /// Bytes; 0 while there is no such file.
    func size(_ name: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file(name))
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }
}
