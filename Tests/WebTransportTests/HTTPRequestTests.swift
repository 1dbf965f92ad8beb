import MediaWire
import Testing
import WebTransport

struct HTTPRequestTests {
    @Test func `path, query and their parts`() {
        let request = HTTPRequest(
            method: "GET", target: "/v1/rooms/a%2Fb/%e4%bd%a0?user=x%20y&user=a+b&flag&=v&bad=%4?&")
        #expect(request.path == "/v1/rooms/a%2Fb/%e4%bd%a0")
        #expect(request.pathComponents == ["v1", "rooms", "a/b", "你"])
        #expect(request.query == "user=x%20y&user=a+b&flag&=v&bad=%4?&")
        let items = request.queryItems.map { "\($0.name)|\($0.value)" }
        #expect(items == ["user|x y", "user|a b", "flag|", "|v", "bad|%4?"])
        #expect(HTTPRequest(method: "GET", target: "/").query == nil)
        #expect(HTTPRequest(method: "GET", target: "/?").queryItems.isEmpty)
    }

    @Test(
        arguments: [
            ("http://h", "/", nil), ("HTTP://h:1/a%2Fb?c=d?e", "/a%2Fb", "c=d?e"), ("https://[::1]?q", "/", "q"),
            ("https://h/?", "/", ""), ("*", "*", nil), ("/http://h/a?b", "/http://h/a", "b"),
            ("http:/a", "http:/a", nil),
        ] as [(String, String, String?)])
    func `an absolute target has a path, too`(target: String, path: String, query: String?) {
        let request = HTTPRequest(method: "GET", target: target)
        #expect(request.path == path)
        #expect(request.query == query)
        #expect(request.target == target)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `any target is cut into path and query, and nothing is lost`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pieces = [
            "http://", "HTTPS://", "h", "/", "?", "&", "=", "%4", "%41", "+", "#", "\u{308}", "é", "\u{FFFD}", ":1",
        ]
        for _ in 0..<2000 {
            let count = Int(random.next() % 8)
            let target = (0..<count).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
            let request = HTTPRequest(method: "GET", target: target)
            let whole = Array(request.path.utf8) + (request.query.map { Array("?".utf8) + Array($0.utf8) } ?? [])
            #expect(whole == Array(request.originForm.utf8), "seed \(seed): \(target)")
            #expect(request.originForm == target || target.utf8.starts(with: "http".utf8) || target.hasPrefix("HTTPS"))
            #expect(!request.path.utf8.contains(UInt8(ascii: "?")), "seed \(seed): \(target)")
            #expect(request.queryItems.count <= target.utf8.count)
        }
    }

    @Test func `a combining mark hides no separator`() {
        let request = HTTPRequest(method: "GET", target: "/a/\u{308}b?\u{308}c&\u{308}d=\u{308}e")
        #expect(request.path == "/a/\u{308}b")
        #expect(request.pathComponents == ["a", "\u{308}b"])
        let items = request.queryItems.map { [$0.name, $0.value] }
        #expect(items == [["\u{308}c", ""], ["\u{308}d", "\u{308}e"]])
    }

    @Test(arguments: [
        ("", ""), ("%", "%"), ("%4", "%4"), ("%41", "A"), ("%4g", "%4g"), ("%%41", "%A"), ("a+b", "a+b"),
        ("%ff", "\u{FFFD}"), ("%00", "\0"), ("é", "é"),
    ])
    func `percent-decoding`(text: String, decoded: String) {
        #expect(HTTPRequest.percentDecoded(text) == decoded)
    }

    @Test func `fields are found whatever their case`() {
        var fields: HTTPFields = ["Content-Type": "a", "X-A": "1", "x-a": "2"]
        #expect(fields["content-TYPE"] == "a")
        #expect(fields["X-a"] == "1")
        #expect(fields.values("X-A") == ["1", "2"])
        #expect(fields["none"] == nil)
        fields["X-A"] = "3"
        fields.append("x-A", "4")
        #expect(fields.map(\.value) == ["a", "3", "4"])
        fields["x-a"] = nil
        #expect(fields.map(\.name) == ["Content-Type"])
    }

    @Test(arguments: [
        ("http://Host.example", "Host.example", 80, "/", false, "Host.example"),
        ("HTTPS://h/a?b=%20", "h", 443, "/a?b=%20", true, "h"),
        ("ws://[::1]:8080?x#y", "::1", 8080, "/?x", false, "[::1]:8080"),
        ("https://[::1]", "::1", 443, "/", true, "[::1]"),
        ("http://h:443", "h", 443, "/", false, "h:443"),
        ("wss://1.2.3.4:1/#", "1.2.3.4", 1, "/", true, "1.2.3.4:1"),
    ])
    func `URLs`(text: String, host: String, port: UInt16, target: String, isTLS: Bool, hostField: String) throws {
        let url = try WebURL(text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.target == target)
        #expect(url.isTLS == isTLS)
        #expect(url.hostField == hostField)
    }
}
