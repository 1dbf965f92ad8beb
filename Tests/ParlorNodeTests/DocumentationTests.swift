import Foundation
import ParlorNode
import Testing

/// What the documents say is what the program understands.
struct DocumentationTests {
    /// The blocks between ```LANGUAGE and ```.
    private func blocks(_ language: String, in document: String) throws -> [String] {
        var blocks: [String] = []
        var current: String?
        for line in try Package.text(document).split(separator: "\n", omittingEmptySubsequences: false) {
            if let block = current {
                if line == "```" {
                    blocks.append(block)
                    current = nil
                } else {
                    current = block + line + "\n"
                }
            } else if line == "```\(language)" {
                current = ""
            }
        }
        return blocks
    }

    @Test func theCompleteFileIsCompleteAndRight() throws {
        let text = try #require(try blocks("yaml", in: "docs/operating.md").first)
        let loaded = try ConfigurationLoader.load(
            base: NodeConfiguration(), file: .init(path: "docs/operating.md", text: text), environment: [:], flags: [:],
            machine: .init(cores: 2))
        for key in ConfigurationKey<NodeConfiguration>.all {
            #expect(loaded.origins[key.path] != nil, "\(key.path) is not in the example")
        }
        #expect(loaded.origins["media.iceServers"] != nil)
        let manual = try Package.text("docs/operating.md")
        for key in ConfigurationKey<NodeConfiguration.ICEServer>.all {
            #expect(manual.contains(" \(key.path): "), "media.iceServers: \(key.path) is in no example")
        }
        let app = try #require(loaded.configuration.apps.first)
        for key in ConfigurationKey<NodeConfiguration.App>.all {
            let name = String(key.path.split(separator: ".").last ?? "")
            #expect(text.contains(" \(name): "), "apps: \(key.path) is not in the example")
        }

        // "Each with its default unless the comment says otherwise": these are the ones that say so.
        let defaults = NodeConfiguration()
        let examples: Set = [
            "media.listen", "media.announce", "http.tls.listen", "http.tls.certificate", "http.tls.key",
            "http.publicUrl", "dataDir", "admin.accessKey",
        ]
        for key in ConfigurationKey<NodeConfiguration>.all where !examples.contains(key.path) {
            #expect(key.show(loaded.configuration) == key.show(defaults), "\(key.path)")
        }
        let settings = NodeConfiguration.AppSettings()
        #expect(app.settings.autoCloseTtl == settings.autoCloseTtl)
        #expect(app.settings.noEnterTtl == settings.noEnterTtl)
        #expect(app.settings.userTimeout == settings.userTimeout)
        #expect(app.settings.videoCodec == settings.videoCodec)
    }

    @Test func theFilesToReadFirstExist() throws {
        let names = try Package.text("README.md").matches(of: #/`(Sources/[^`]+)`/#).map { String($0.1) }
        #expect(names.count == 10)
        for name in names { #expect(FileManager.default.fileExists(atPath: "\(Package.root)/\(name)"), "\(name)") }
    }

    @Test func everyCommandIsInTheTable() async throws {
        let text = try Package.text("docs/operating.md")
        let overview = try await CommandRunner.run("--help")
        let commands = overview.output.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
        #expect(commands.count >= 8)
        for line in commands {
            let words = line.split(separator: " ").prefix { $0.first?.isLowercase == true }
            let name = words.joined(separator: " ")
            #expect(text.contains("`\(name)") || text.contains("`\(name)`"), "\(name) is not in docs/operating.md")
        }
    }

    /// The first words after `parlor` in every line of the documents that calls it are a command with those options.
    @Test(arguments: ["README.md", "docs/operating.md", "docs/plain-srtp.md", "tools/run"])
    func everyCallIsUnderstood(document: String) async throws {
        var calls = 0
        for line in try Package.text(document).split(separator: "\n") {
            guard let range = line.firstRange(of: "parlor ") ?? line.firstRange(of: "release/parlor "),
                line[..<range.lowerBound].allSatisfy({ " ./\\\"$(abcdehilrstu-".contains($0) })
            else { continue }
            let words = line[range.upperBound...].split(separator: " ").map(String.init)
            let known = [
                "serve", "token", "rooms", "users", "kick", "sdp", "drain", "version", "--help",
            ]
            guard let first = words.first, known.contains(first) else { continue }
            calls += 1
            let depth = first == "sdp" ? 2 : 1
            let help = try await CommandRunner.run(Array(words.prefix(depth)) + ["--help"])
            #expect(help.code == 0, "\(document): \(line)")
            for option in words where option.hasPrefix("--") && option != "--help" {
                let name = option.prefix { $0.isLetter || $0 == "-" }
                #expect(help.output.contains("  \(name)"), "\(document): \(line)")
            }
        }
        #expect(calls > 0, "\(document) calls nothing: the test looks in the wrong way")
    }
}
