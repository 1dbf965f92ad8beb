import Foundation
import Testing

/// Every public symbol of the SDK says what it is for.
struct DocumentationTests {
    private struct Declaration: CustomStringConvertible {
        var line: Int
        var text: String
        var isDocumented: Bool
        var description: String { "\(line): \(text)" }
    }

    /// Public declarations, and what is public with them: the cases of a public enum, the requirements of a public
    /// protocol. Extensions and imports carry no documentation.
    private static func declarations(_ source: String) -> [Declaration] {
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var found: [Declaration] = []
        /// The public enums and protocols around a line.
        var openings: [(indentation: Int, isProtocol: Bool)] = []
        for (index, line) in lines.enumerated() {
            let text = String(line.drop { $0 == " " })
            let indentation = line.count - text.count
            if text.hasPrefix("}") { openings.removeAll { $0.indentation >= indentation } }
            // Attributes, modifiers, access; not `public extension` and `public import`.
            let isPublic =
                text.firstMatch(
                    of: /^(@[^ ]+ )*([a-z]+(\([a-z]+\))? )*?(public|open) (?!extension |([a-z]+ )*import )/) != nil
            var isImplied = false
            if let opening = openings.last, opening.indentation == indentation - 4 {
                isImplied =
                    opening.isProtocol
                    ? text.firstMatch(of: /^(mutating |static |nonisolated )*(func|var|init|associatedtype)\b/) != nil
                    : text.firstMatch(of: /^(indirect )?case\b/) != nil
            }
            guard isPublic || isImplied else { continue }
            if isPublic, text.hasSuffix("{"), let kind = text.firstMatch(of: /\b(enum|protocol)\b/) {
                openings.append((indentation, kind.1 == "protocol"))
            }
            var above = index - 1
            while above >= 0, lines[above].drop(while: { $0 == " " }).hasPrefix("@") { above -= 1 }
            let isDocumented = above >= 0 && lines[above].drop { $0 == " " }.firstMatch(of: /^\/\/\/ *[^ ]/) != nil
            found.append(Declaration(line: index + 1, text: text, isDocumented: isDocumented))
        }
        return found
    }

    @Test func `every public declaration of the SDK has a documentation comment`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "Sources/RTCClient")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        var count = 0
        for name in names.sorted() {
            let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            let declarations = DocumentationTests.declarations(source)
            count += declarations.count
            for declaration in declarations where !declaration.isDocumented {
                Issue.record("\(name):\(declaration) has no documentation comment")
            }
        }
        // That many there are at least: else the scan sees nothing.
        #expect(count > 100)
    }

    @Test func `the scan sees what is public, with attributes between`() {
        let source = """
            public import Other
            /// Text.
            public enum A {
                case bare
                /// Text.
                case told
                var text: String { switch self { case .bare: "" } }
            }
            extension A {
                @discardableResult
                public static func bare() {
                }
                /// Text.
                @available(*, deprecated)
                @discardableResult
                public func told() {
                    case nothing
                }
                public private(set) var bareToo = 1
                package var mine = 1
                nonisolated public let bareAgain = 1
                ///
                public let empty = 1
            }
            @MainActor public protocol B {
                func bare()
            }
            enum C {
                case mine
            }
            """
        let missing = DocumentationTests.declarations(source).filter { !$0.isDocumented }.map(\.line)
        #expect(missing == [4, 11, 19, 21, 23, 25, 26])
        #expect(DocumentationTests.declarations(source).filter(\.isDocumented).map(\.line) == [3, 6, 16])
    }
}
