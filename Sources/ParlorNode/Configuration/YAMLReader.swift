import CYAML

/// Reads a YAML text with libyaml's event parser into `YAMLNode`s: one document, no anchors, no aliases, no tags, no key twice.
struct YAMLReader: ~Copyable {
    /// The first thing that makes the text unusable.
    struct Failure: Error {
        /// From 1.
        var line: Int
        var message: String
    }

    /// Deeper than any configuration; bounds the recursion.
    private static let maximumDepth = 16

    private let parser: UnsafeMutablePointer<yaml_parser_t>

    private init() {
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// The document's root; `nil` for a text without any (empty, or only comments).
    static func read(_ text: String) throws(Failure) -> YAMLNode? {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBufferPointer { buffer -> Result<YAMLNode?, Failure> in
            let reader = YAMLReader()
            guard yaml_parser_initialize(reader.parser) == 1 else {
                return .failure(Failure(line: 1, message: "no memory for the YAML parser"))
            }
            yaml_parser_set_input_string(reader.parser, buffer.baseAddress, buffer.count)
            do throws(Failure) { return .success(try reader.document()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private enum Event {
        case streamStart, streamEnd, documentStart, documentEnd, sequenceStart, sequenceEnd, mappingStart, mappingEnd
        case scalar(text: String, plain: Bool)
    }

    private borrowing func document() throws(Failure) -> YAMLNode? {
        _ = try next()
        let (first, line) = try next()
        guard case .documentStart = first else { return nil }
        let root = try node(try next(), depth: 0)
        _ = try next()
        let (last, lastLine) = try next()
        guard case .streamEnd = last else {
            throw Failure(line: lastLine, message: "a second document starts here; a configuration is one document")
        }
        // A document of nothing but its marker.
        if root.isNull, root.line >= line { return nil }
        return root
    }

    private borrowing func node(_ start: (event: Event, line: Int), depth: Int) throws(Failure) -> YAMLNode {
        guard depth < Self.maximumDepth else {
            throw Failure(line: start.line, message: "nested more than \(Self.maximumDepth) deep")
        }
        switch start.event {
        case .scalar(let text, let plain):
            return YAMLNode(content: .scalar(text: text, plain: plain), line: start.line)
        case .sequenceStart:
            var elements: [YAMLNode] = []
            while true {
                let inner = try next()
                if case .sequenceEnd = inner.event { break }
                elements.append(try node(inner, depth: depth + 1))
            }
            return YAMLNode(content: .sequence(elements), line: start.line)
        case .mappingStart:
            return YAMLNode(content: .mapping(try entries(depth: depth)), line: start.line)
        default:
            throw Failure(line: start.line, message: "a value is missing here")
        }
    }

    private borrowing func entries(depth: Int) throws(Failure) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var lines: [String: Int] = [:]
        while true {
            let (event, line) = try next()
            if case .mappingEnd = event { return entries }
            guard case .scalar(let key, _) = event else {
                throw Failure(line: line, message: "a key must be a plain word")
            }
            if let before = lines.updateValue(line, forKey: key) {
                throw Failure(line: line, message: "the key \"\(key)\" stands already on line \(before)")
            }
            entries.append(YAMLNode.Entry(key: key, line: line, value: try node(try next(), depth: depth + 1)))
        }
    }

    private borrowing func next() throws(Failure) -> (event: Event, line: Int) {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { yaml_event_delete(&event) }
        let line = Int(event.start_mark.line) + 1
        switch event.type {
        case YAML_STREAM_START_EVENT: return (.streamStart, line)
        case YAML_STREAM_END_EVENT: return (.streamEnd, line)
        case YAML_DOCUMENT_START_EVENT: return (.documentStart, line)
        case YAML_DOCUMENT_END_EVENT: return (.documentEnd, line)
        case YAML_SEQUENCE_START_EVENT:
            try refuse(event.data.sequence_start.anchor, event.data.sequence_start.tag, line: line)
            return (.sequenceStart, line)
        case YAML_SEQUENCE_END_EVENT: return (.sequenceEnd, line)
        case YAML_MAPPING_START_EVENT:
            try refuse(event.data.mapping_start.anchor, event.data.mapping_start.tag, line: line)
            return (.mappingStart, line)
        case YAML_MAPPING_END_EVENT: return (.mappingEnd, line)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            try refuse(scalar.anchor, scalar.tag, line: line)
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let text = String(decoding: bytes, as: UTF8.self)
            return (.scalar(text: text, plain: scalar.style == YAML_PLAIN_SCALAR_STYLE), line)
        default:
            throw Failure(
                line: line, message: "anchors and aliases have no place in a configuration; write the value out")
        }
    }

    private borrowing func refuse(
        _ anchor: UnsafeMutablePointer<yaml_char_t>?, _ tag: UnsafeMutablePointer<yaml_char_t>?, line: Int
    ) throws(Failure) {
        if anchor != nil {
            throw Failure(
                line: line, message: "anchors and aliases have no place in a configuration; write the value out")
        }
        if tag != nil { throw Failure(line: line, message: "tags (!...) have no place in a configuration") }
    }

    private borrowing func failure() -> Failure {
        let line = Int(parser.pointee.problem_mark.line) + 1
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "not YAML"
        let context = parser.pointee.context.map { " (\(String(cString: $0)))" } ?? ""
        return Failure(line: line, message: "not YAML: \(problem)\(context)")
    }
}
