/// A parsed YAML file as a tree that remembers its lines.
struct YAMLNode: Sendable {
    enum Content: Sendable {
        /// `plain`: written without quotes, so that it may stand for a number, a boolean or nothing.
        case scalar(text: String, plain: Bool)
        case sequence([YAMLNode])
        /// In the order of the file; keys are checked to be different.
        case mapping([Entry])
    }

    struct Entry: Sendable {
        var key: String
        /// Line of the key, from 1.
        var line: Int
        var value: YAMLNode
    }

    var content: Content
    /// From 1.
    var line: Int

    /// Nothing was written, or `~` or `null`.
    var isNull: Bool {
        guard case .scalar(let text, plain: true) = content else { return false }
        return text.isEmpty || text == "~" || text == "null"
    }

    /// What it is, in words for a message.
    var kind: String {
        switch content {
        case .scalar: isNull ? "nothing" : "a single value"
        case .sequence: "a list"
        case .mapping: "a group of keys"
        }
    }
}
