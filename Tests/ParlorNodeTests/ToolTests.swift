import Foundation
import Testing

/// The scripts in tools/ that can be tested without building anything.
struct ToolTests {
    private struct Outcome {
        var code: Int32
        var text: String
    }

    private func run(_ arguments: String...) throws -> Outcome {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["bash"] + arguments
        // From any folder.
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(code: process.terminationStatus, text: text)
    }

    private func tool(_ name: String) -> String { "\(Package.root)/tools/\(name)" }

    @Test(arguments: ["setup", "run", "test", "check", "check-imports", "fuzz", "bench"])
    func everyToolHelpsAndRefuses(name: String) throws {
        let help = try run(tool(name), "--help")
        #expect(help.code == 0)
        #expect(help.text.hasPrefix("Usage: tools/\(name)"))
        // The benchmark passes what it does not know on to the program.
        guard name != "bench" else { return }
        let bad = try run(tool(name), "--no-such-option")
        #expect(bad.code == 2)
        #expect(bad.text.contains("tools/\(name): no option \"--no-such-option\""))
    }

    @Test func thisPackageFollowsItsTable() throws {
        let outcome = try run(tool("check-imports"))
        #expect(outcome.code == 0, "\(outcome.text)")
    }

    @Test(arguments: [
        ("MediaWire", "import Glibc", "MediaWire may not import Glibc"),
        ("MediaWire", "import Foundation", "MediaWire may not import Foundation"),
        ("MediaContract", "package import MediaSwitch", "MediaContract may not import MediaSwitch"),
        ("MediaSwitch", "@testable import RoomControl", "MediaSwitch may not import RoomControl"),
        ("MediaSwitch", "import MediaWire; import MediaEngine", "MediaSwitch may not import MediaEngine"),
        (
            "RoomControl", "@preconcurrency @_exported public import MediaTransport",
            "RoomControl may not import MediaTransport"
        ),
        ("RoomControl", "    import struct MediaSwitch.Peer", "RoomControl may not import MediaSwitch"),
        ("Unheard", "import MediaWire", "target Unheard has no row"),
    ])
    func aBadImportIsRefused(target: String, line: String, message: String) throws {
        let folder = try copy(adding: line, to: target)
        let outcome = try run(tool("check-imports"), folder.path)
        #expect(outcome.code == 1)
        #expect(outcome.text.contains("Sources/\(target)/Added.swift:2: \(message)"), "got \(outcome.text)")
    }

    @Test(arguments: [
        ("MediaSwitch", "package import MediaTransport"), ("MediaSwitch", "import Swift"),
        ("MediaWire", "// import Glibc"),
        ("MediaEngine", "import Glibc"), ("RoomControl", "import FoundationEssentials"),
    ])
    func aGoodImportIsAllowed(target: String, line: String) throws {
        let folder = try copy(adding: line, to: target)
        let outcome = try run(tool("check-imports"), folder.path)
        #expect(outcome.code == 0, "\(outcome.text)")
    }

    @Test func aMissingTableIsRefused() throws {
        let folder = try copy(adding: "", to: "MediaWire")
        _ = try folder.write("// swift-tools-version: 6.2\nimport PackageDescription\n", to: "Package.swift")
        #expect(try run(tool("check-imports"), folder.path).code == 1)
    }

    /// A package with this one's table and one file.
    private func copy(adding line: String, to target: String) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        _ = try folder.write(Package.text("Package.swift"), to: "Package.swift")
        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/Sources/\(target)", withIntermediateDirectories: true)
        _ = try folder.write("// added\n\(line)\n", to: "Sources/\(target)/Added.swift")
        return folder
    }
}
