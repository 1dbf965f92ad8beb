import MediaWire
import ParlorNode
import RoomControl
import RoomService
import Testing

struct ConfigurationLoaderTests {
    private static let apps = """
        apps:
          - id: a
            accessKey: key
            secret: long-enough

        """

    private func load(
        _ text: String? = nil, environment: [String: String] = [:], flags: [String: String] = [:],
        base: NodeConfiguration = NodeConfiguration(), cores: Int = 2
    ) throws(ConfigurationError) -> ConfigurationLoader.Loaded {
        try ConfigurationLoader.load(
            base: base, file: text.map { ConfigurationLoader.File(path: "p.yaml", text: $0) }, environment: environment,
            flags: flags, machine: .init(cores: cores))
    }

    private func problems(
        _ text: String? = nil, environment: [String: String] = [:], flags: [String: String] = [:], cores: Int = 2
    ) -> [String] {
        do throws(ConfigurationError) {
            _ = try load(text, environment: environment, flags: flags, cores: cores)
            return []
        } catch { return error.problems.map(\.description) }
    }

    @Test func laterLayersWin() throws {
        let file = Self.apps + "media:\n  port: 9000\n  workers: 3\nhttp:\n  listen: 127.0.0.1:1000\n"
        let loaded = try load(
            file, environment: ["PARLOR_MEDIA_PORT": "9100", "PARLOR_HTTP_LISTEN": "[::1]:1001", "HOME": "/x"],
            flags: ["http-listen": "127.0.0.2:1002", "something-else": "x"])
        #expect(loaded.configuration.media.port == 9100)
        #expect(loaded.configuration.media.workers == 3)
        #expect(loaded.configuration.http.listen.description == "127.0.0.2:1002")
        #expect(loaded.configuration.media.plain.portRange == 8000...8499)
        #expect(loaded.origin(of: "media.workers") == .file(path: "p.yaml", line: 7))
        #expect(loaded.origin(of: "media.port") == .variable("PARLOR_MEDIA_PORT"))
        #expect(loaded.origin(of: "http.listen") == .flag("--http-listen"))
        #expect(loaded.origin(of: "media.sendBuffer") == .builtIn)
    }

    @Test func everyValueIsRead() throws {
        let loaded = try load(
            """
            # everything
            http:
              listen: "[2001:db8::1]:80"
              publicUrl: https://media.example.com/
              tls: {listen: 0.0.0.0:443, certificate: /etc/parlor/chain.pem, key: /etc/parlor/key.pem}
              trustedProxies: [10.0.0.0/8, "::1"]
            dataDir: /var/lib/parlor
            admin:
              accessKey: k2
            log:
              rooms: false
            media:
              listen: [0.0.0.0, "::"]
              announce:
                - 192.0.2.1
                - "2001:db8::1"
                - Media.Example.com
                - all
              port: 7000
              tcp: false
              workers: auto
              receiveBuffer: 1 MiB
              sendBuffer: 512KiB
              collecting: 0
              segmentation: false
              crypto: evp
              silence: 20s
              iceServers:
                - urls: "stun:stun.example.net, stuns:[2001:db8::1]:5350"
                - {urls: [turn:turn.example.net], username: "us er", credential: x}
                - urls:
                    - turn:192.0.2.1:3479?transport=udp
                    - turns:turn.example.net:443?transport=tcp
                  secret: shared-secret
              plain:
                enabled: true
                portRange: 9000-9001
                lease: 90m
                silence: 1500ms
            limits:
              httpConnections: 5
              httpBody: 64KiB
              connections: 6
              signallingFrame: 32KiB
              message: 100B
              messagesPerSecond: 7
              requestsPerSecond: 8
              changesPerSecond: 14
              subscriptionsPerSecond: 15
              tracksPerUser: 9
              usersPerRoom: 10
              rooms: 11
              users: 12
              appsPerKey: 13
            apps:
              - id: one
                accessKey: k1
                secret: "12345678"
                settings: {maxUsers: 3, noAutoKickUser: true, noAutoCreateRoom: true, noAutoCloseRoom: true, autoCloseTtl: 5s,
                  noEnterTtl: 1h, userTimeout: 10s, videoCodec: h264, eventCbUrl: "https://example.com/hook?a=b", eventCbSecret: event-secret}
              - {id: two, accessKey: k2, secret: abcdefgh}
            """)
        let c = loaded.configuration
        #expect(c.http.listen.description == "[2001:db8::1]:80")
        #expect(c.http.trustedProxies.map(\.description) == ["10.0.0.0/8", "::1/128"])
        #expect(c.media.listen?.map(\.host) == ["0.0.0.0", "::"])
        #expect(
            c.media.announce?.map(\.description) == ["192.0.2.1", "2001:db8::1", "media.example.com", "all"])
        #expect(c.media.announce?.last == .all && !c.media.tcp)
        #expect(c.media.port == 7000)
        #expect(c.media.workers == nil)
        #expect(c.media.receiveBuffer == 1 << 20)
        #expect(c.media.sendBuffer == 512 << 10)
        #expect(c.media.collecting == .zero && !c.media.segmentation)
        #expect(c.media.crypto == .evp)
        #expect(c.media.silence == .seconds(20))
        #expect(
            c.media.iceServers.map(\.urls) == [
                ["stun:stun.example.net", "stuns:[2001:db8::1]:5350"], ["turn:turn.example.net"],
                ["turn:192.0.2.1:3479?transport=udp", "turns:turn.example.net:443?transport=tcp"],
            ])
        #expect(c.media.iceServers.map(\.username) == [nil, "us er", nil])
        #expect(c.media.iceServers.map(\.credential) == [nil, "x", nil])
        #expect(c.media.iceServers.map(\.secret) == [nil, nil, "shared-secret"])
        #expect(c.media.plain.enabled)
        #expect(c.media.plain.portRange == 9000...9001)
        #expect(c.media.plain.lease == .seconds(5400))
        #expect(c.media.plain.silence == .milliseconds(1500))
        #expect(c.limits.httpConnections == 5)
        #expect(c.limits.httpBody == 65536)
        #expect(c.http.publicURL == "https://media.example.com")
        #expect(c.http.tls.listen?.description == "0.0.0.0:443")
        #expect(c.http.tls.certificate == .file("/etc/parlor/chain.pem"))
        #expect(c.http.tls.key == "/etc/parlor/key.pem")
        #expect(c.dataDir == "/var/lib/parlor")
        #expect(c.admin.accessKey == "k2" && c.operatorKey == "k2")
        #expect(!c.log.rooms)
        #expect(c.limits.connections == 6 && c.limits.signallingFrame == 32 << 10 && c.limits.message == 100)
        #expect(
            c.limits.messagesPerSecond == 7 && c.limits.requestsPerSecond == 8 && c.limits.changesPerSecond == 14
                && c.limits.subscriptionsPerSecond == 15 && c.limits.tracksPerUser == 9)
        #expect(c.limits.usersPerRoom == 10 && c.limits.rooms == 11 && c.limits.users == 12)
        #expect(c.limits.appsPerKey == 13)
        #expect(c.apps.map(\.id) == ["one", "two"])
        #expect(c.apps[0].secret == "12345678")
        #expect(c.apps[0].settings.maxUsers == 3)
        #expect(c.apps[0].settings.noAutoKickUser && c.apps[0].settings.noAutoCreateRoom)
        #expect(c.apps[0].settings.noAutoCloseRoom)
        #expect(c.apps[0].settings.autoCloseTtl == .seconds(5))
        #expect(c.apps[0].settings.noEnterTtl == .seconds(3600))
        #expect(c.apps[0].settings.userTimeout == .seconds(10))
        #expect(c.apps[0].settings.videoCodec == .h264)
        #expect(c.apps[0].settings.eventCbUrl == "https://example.com/hook?a=b")
        #expect(c.apps[0].settings.eventCbSecret == "event-secret")
        #expect(c.apps[1].settings == NodeConfiguration.AppSettings())
    }

    @Test func allProblemsAreReportedWithTheirLines() {
        let found = problems(
            """
            http:
              listn: 127.0.0.1:7880
            media:
              port: 70000
              plain:
                enabled: "true"
                portRange: 8499-8000
            apps:
              - id: a
                secret: short
            """, environment: ["PARLOR_MEDIA_CRYPTO": "rot13", "PARLOR_MEDIA_PROT": "1"],
            flags: ["media-plain-lease": "60"])
        #expect(
            found == [
                "p.yaml:2: http.listn: unknown key; did you mean http.listen?",
                "p.yaml:4: media.port: \"70000\" is not a port; give a number from 1 to 65535",
                "p.yaml:6: media.plain.enabled: \"true\" is text; write true or false without quotes",
                "p.yaml:7: media.plain.portRange: 8499-8000 is empty or holds one port only; a leg takes two, so LAST must be above FIRST",
                "p.yaml:10: apps[0].secret: not usable as a secret; give 8 to 256 visible ASCII characters",
                "p.yaml:9: apps[0].accessKey: missing",
                "PARLOR_MEDIA_CRYPTO: media.crypto: \"rot13\" is none of auto, multibuffer, evp",
                "PARLOR_MEDIA_PROT: not a variable of Parlor; did you mean PARLOR_MEDIA_PORT?",
                "--media-plain-lease: media.plain.lease: \"60\" is not a time; write a number and ms, s, m or h, such as 30s",
            ])
    }

    @Test(arguments: [
        ("media: [1]", "p.yaml:1: media: a list where a group of keys belongs"),
        ("media:\n  port: [1]", "p.yaml:2: media.port: a list where a port belongs"),
        ("media:\n  port:", "p.yaml:2: media.port: no value; give one or leave the key out"),
        ("media:\n  port: {a: 1}", "p.yaml:2: media.port: a group of keys where a value belongs"),
        ("media:\n  port: -1", "p.yaml:2: media.port: \"-1\" is not a port; give a number from 1 to 65535"),
        ("media:\n  port: 7900\n  port: 7901", "p.yaml:3: the key \"port\" stands already on line 2"),
        ("media:\n  workers: 0", "p.yaml:2: media.workers: \"0\" is not a number of workers from 1 to 256, or auto"),
        ("http:\n  listen: localhost:80", "\"localhost\" is not an address"),
        ("http:\n  listen: ::1:80", "an IPv6 address stands in brackets"),
        ("http:\n  listen: 224.0.0.1:80", "multicast"),
        ("http:\n  listen: 127.0.0.1", "has no port"),
        ("http:\n  listen: 127.0.0.1:0", "does not end in a port from 1 to 65535"),
        ("http:\n  trustedProxies: [10.0.0.1/8]", "is not an address or a block"),
        ("media:\n  announce: 0.0.0.0", "0.0.0.0 means every address; name those that clients can reach, or write all"),
        ("media:\n  announce: [224.0.0.1]", "224.0.0.1 is a multicast address"),
        ("media:\n  announce: [192.0.2.256]", "\"192.0.2.256\" is neither an address nor a name"),
        ("media:\n  announce: [\"a b\"]", "\"a b\" is neither an address nor a name"),
        ("media:\n  announce: [https://a.example]", "is neither an address nor a name"),
        ("media:\n  announce: [-a.example]", "is neither an address nor a name"),
        ("media:\n  announce: []", "no address in the list"),
        (
            "media:\n  announce: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]",
            "17 addresses; give at most 16"
        ),
        ("media:\n  tcp: yes", "\"yes\" is neither true nor false"),
        ("media:\n  listen: [10.0.0.1, 10.0.0.2]", "two IPv4 addresses"),
        ("media:\n  listen: []", "no address in the list"),
        ("media:\n  listen: [[1]]", "a list in the list on line 2"),
        ("media:\n  plain:\n    silence: 0s", "0s is out of range; give from 1s to 1h"),
        ("media:\n  plain:\n    silence: 0", "\"0\" is not a time"),
        ("media:\n  collecting: 1", "\"1\" is not a time"),
        ("media:\n  collecting: 21ms", "21ms is out of range; give from 0s to 20ms"),
        ("media:\n  segmentation: yes", "\"yes\" is neither true nor false"),
        ("limits:\n  tracksPerUser: 0", "\"0\" is not a number of tracks from 1 to 64"),
        ("limits:\n  tracksPerUser: 65", "\"65\" is not a number of tracks from 1 to 64"),
        ("media:\n  silence: 4s", "p.yaml:2: media.silence: 4s is out of range; give from 5s to 30s"),
        (
            "media:\n  silence: 31s",
            "31s is out of range; give from 5s to 30s: to a client that was not heard for 30s nothing may be sent"
        ),
        ("media:\n  silence: 9223372036854775807h", "is not a time"),
        (
            "media:\n  iceServers: x",
            "media.iceServers: a single value where a list belongs; begin each server with \"- urls: LIST\""
        ),
        (
            "media:\n  iceServers:\n    - x",
            "p.yaml:3: media.iceServers[0]: a single value where urls, username, credential and secret belong"
        ),
        ("media:\n  iceServers:\n    - username: a", "p.yaml:3: media.iceServers[0].urls: missing"),
        ("media:\n  iceServers:\n    - urls: []", "p.yaml:3: media.iceServers[0].urls: no URL"),
        ("media:\n  iceServers:\n    - url: stun:a", "media.iceServers[0].url: unknown key; did you mean urls?"),
        ("media:\n  iceServers:\n    - urls: stun.example.net", "is not the URL of a STUN or TURN server"),
        ("media:\n  iceServers:\n    - urls: http://a", "is not the URL of a STUN or TURN server"),
        ("media:\n  iceServers:\n    - urls: stun:a?transport=udp", "is not the URL of a STUN or TURN server"),
        ("media:\n  iceServers:\n    - urls: turn:a?transport=sctp", "is not the URL of a STUN or TURN server"),
        ("media:\n  iceServers:\n    - urls: turn:a:0", "is not the URL of a STUN or TURN server"),
        ("media:\n  iceServers:\n    - urls: \"turn:\"", "is not the URL of a STUN or TURN server"),
        (
            "media:\n  iceServers:\n    - {urls: stun:a, username: \"\"}",
            "media.iceServers[0].username: not usable as a user name"
        ),
        (
            "media:\n  iceServers:\n    - {urls: stun:a, secret: short}",
            "media.iceServers[0].secret: not usable as a secret"
        ),
        ("media:\n  iceServer: []", "media.iceServer: unknown key; did you mean media.iceServers?"),
        ("media:\n  sendBuffer: 4GB", "is not a size"),
        ("media:\n  sendBuffer: 1KiB", "out of range; give from 64KiB to 1024MiB"),
        (
            "http:\n  publicUrl: media.example.com",
            "is not such a URL; write http or https://HOST, or with :PORT, and no path"
        ),
        ("http:\n  publicUrl: https://h/path", "\"https://h/path\" has a path"),
        ("http:\n  publicUrl: wss://h", "is not such a URL"),
        ("http:\n  publicUrl: https://user@h", "has no usable host"),
        ("http:\n  publicUrl: https://:443", "has no usable host"),
        ("http:\n  tls:\n    listen: 0.0.0.0", "has no port"),
        ("http:\n  tls:\n    listen: nowhere", "or off"),
        ("http:\n  tls:\n    certificate: \"\"", "not usable as a path"),
        ("dataDir: \"none\"", "is not usable here"),
        ("admin:\n  accessKey: \"a b\"", "is not a name"),
        ("limits:\n  signallingFrame: 1KiB", "out of range; give from 16KiB to 16MiB"),
        ("limits:\n  rooms: 0", "is not a number of rooms from 1"),
        ("log:\n  rooms: \"true\"", "write true or false without quotes"),
        (
            "colour: red",
            "p.yaml:1: colour: unknown key; here belong http, media, limits, dataDir, admin, log, webhooks, apps"
        ),
        ("apps: x", "p.yaml:1: apps: a single value where a list belongs"),
        ("apps:\n  - x", "p.yaml:2: apps[0]: a single value where id, accessKey and secret belong"),
        ("- 1", "p.yaml:1: a list where groups of keys belong"),
        ("a: &x 1\nb: *x", "p.yaml:1: anchors and aliases have no place"),
        ("a: !!int 1", "p.yaml:1: tags (!...) have no place"),
        ("a: 1\n---\nb: 2", "a second document starts here"),
        ("media:\n\tport: 1", "p.yaml:2: not YAML:"),
        ("a: {", "not YAML:"),
        ("a: \"\u{0}\"", "not YAML:"),
    ])
    func aFileIsRefused(text: String, message: String) {
        let found = problems(text + "\n" + (text.hasPrefix("apps") || text.hasPrefix("-") ? "" : Self.apps))
        #expect(found.contains { $0.contains(message) }, "got \(found)")
    }

    @Test func depthIsBounded() {
        let found = problems(String(repeating: "[", count: 5000))
        #expect(found == ["p.yaml:1: nested more than 16 deep"])
    }

    @Test func sizeIsBounded() {
        let found = problems(String(repeating: "#", count: ConfigurationLoader.maximumFileSize + 1))
        #expect(found == ["p.yaml:1: larger than 1MiB"])
    }

    @Test(arguments: ["", "\n", "# nothing\n", "---\n", "---\n...\n", "~\n"])
    func anEmptyFileIsAllDefaults(text: String) throws {
        let loaded = try load(text, environment: ["PARLOR_APPS": "a:k:secret:with:colons"])
        #expect(loaded.configuration.media == NodeConfiguration().media)
        #expect(loaded.configuration.apps == [.init(id: "a", accessKey: "k", secret: "secret:with:colons")])
    }

    @Test(arguments: [
        (
            "media:\n  port: 7998", 4,
            "p.yaml:6: media.port: the plain legs' ports 8000-8499 and the workers' 7998-8001 overlap"
        ),
        ("media:\n  plain:\n    portRange: 7900-7910", 2, "p.yaml:7: media.plain.portRange: the plain legs' ports"),
        ("media:\n  port: 65535", 2, "p.yaml:6: media.port: 2 workers from port 65535 on end above 65535"),
        (
            "media:\n  workers: 200", 2,
            "p.yaml:6: media.workers: the plain legs' ports 8000-8499 and the workers' 7900-8099"
        ),
        (
            "http:\n  listen: 127.0.0.1:7901", 2,
            "p.yaml:6: http.listen: HTTP's port 7901 is among the workers' ports 7900-7901"
        ),
        (
            "http:\n  listen: 127.0.0.1:8499", 2,
            "p.yaml:6: http.listen: HTTP's port 8499 is among the plain legs' ports"
        ),
        (
            "media:\n  listen: 127.0.0.1\n  announce: \"2001:db8::1\"", 2,
            "p.yaml:7: media.announce: 2001:db8::1 is announced, but media.listen has no IPv6 address"
        ),
        (
            "http:\n  tls:\n    listen: 127.0.0.1:7843", 2,
            "p.yaml:7: http.tls.certificate: missing; give the PEM file of a certificate, or self-signed"
        ),
        (
            "http:\n  tls:\n    certificate: c.pem\n    listen: 127.0.0.1:7843", 2,
            "p.yaml:7: http.tls.key: missing; give the PEM file of the certificate's key"
        ),
        (
            "http:\n  tls:\n    certificate: self-signed\n    listen: 127.0.0.1:7843\n    key: k.pem", 2,
            "p.yaml:9: http.tls.key: a self-signed certificate has a key of its own"
        ),
        (
            "http:\n  tls: {certificate: self-signed, listen: 127.0.0.1:7901}", 2,
            "p.yaml:6: http.tls.listen: HTTPS's port 7901 is among the workers' ports"
        ),
        (
            "http:\n  tls: {certificate: self-signed, listen: 0.0.0.0:7880}", 2,
            "p.yaml:6: http.tls.listen: HTTP and HTTPS both want port 7880"
        ),
        (
            "limits: {signallingFrame: 64KiB}", 2,
            "p.yaml:5: limits.signallingFrame: a message of 64KiB does not fit into a WebSocket frame of 64KiB"
        ),
        (
            "media:\n  iceServers:\n    - urls: stun:a\n    - urls: turn:a", 2,
            "p.yaml:8: media.iceServers[1].username: missing; a TURN server needs username and credential, or secret"
        ),
        (
            "media:\n  iceServers:\n    - {urls: turn:a, username: b}", 2,
            "p.yaml:7: media.iceServers[0].credential: missing; it goes with username"
        ),
        (
            "media:\n  iceServers:\n    - {urls: stun:a, credential: b}", 2,
            "p.yaml:7: media.iceServers[0].username: missing; it goes with credential"
        ),
        (
            "media:\n  iceServers:\n    - {urls: turn:a, username: b, secret: long-enough}", 2,
            "p.yaml:7: media.iceServers[0].secret: takes the place of username and credential"
        ),
        (
            "media:\n  iceServers:\n"
                + (0..<17).map { "    - urls: stun:a\($0)" }.joined(separator: "\n"), 2,
            "p.yaml:6: media.iceServers: 17 URLs; give at most 16"
        ),
        (
            "admin: {accessKey: nobody}", 2,
            "p.yaml:5: admin.accessKey: \"nobody\" is no app's access key"
        ),
        (
            "  - id: a\n    accessKey: other\n    secret: long-enough", 2,
            "p.yaml:5: apps[1].id: \"a\" is the id of apps[0] too"
        ),
        (
            "  - id: b\n    accessKey: key\n    secret: other-secret", 2,
            "p.yaml:5: apps[1].secret: the access key \"key\" has another secret in apps[0]"
        ),
    ])
    func valuesThatClashAreRefused(text: String, cores: Int, message: String) {
        let found = problems(Self.apps + text, cores: cores)
        #expect(found.count == 1 && found[0].hasPrefix(message), "got \(found)")
    }

    /// What lets in at a TURN server is neither in what is said of a wrong file nor in what is printed of a right one.
    @Test func accessToTURNServersIsNeverShown() throws {
        let servers = """
            media:
              iceServers:
                - urls: [turn:known@a.example.net, turn:a]
                  username: "known-\u{E9}"
                  credential: "known-credential-\u{E9}"
                - {urls: turn:b, username: known-name, credential: known-credential, secret: known-secret}
                - {urls: turn:c, secret: "known-secret-\u{E9}"}

            """
        let found = problems(servers + Self.apps)
        #expect(found.count == 4 && found.allSatisfy { !$0.contains("known") }, "got \(found)")
        let right = "media:\n  iceServers:\n    - {urls: turn:b, username: known-name, credential: known-credential}\n"
        let configuration = try load(right + Self.apps).configuration
        let server = try #require(configuration.media.iceServers.first)
        var dumped = ""
        dump(configuration.media, to: &dumped)
        for text in ["\(server)", "\(configuration.media)", String(reflecting: configuration.media), dumped] {
            #expect(text.contains("turn:b") && !text.contains("known"), "\(text)")
        }
        for key in ConfigurationKey<NodeConfiguration.ICEServer>.all
        where key.path == "credential" || key.path == "secret" {
            #expect(key.show(server) == "(secret)")
        }
    }

    @Test func whatTheRoomsAndTheDoorsGet() throws {
        let text =
            "media:\n  silence: 25s\n  iceServers:\n    - urls: stun:a\n    - {urls: turn:b, username: c, credential: d}\n"
            + "    - {urls: turn:e, secret: long-enough}\n"
        let configuration = try load(text + Self.apps).configuration
        #expect(RoomLimits(configuration.limits, configuration.media).transportSilence == .seconds(25))
        #expect(
            configuration.media.iceServers.map { ICEServer($0) } == [
                ICEServer(urls: ["stun:a"]),
                ICEServer(urls: ["turn:b"], access: .password(username: "c", credential: "d")),
                ICEServer(urls: ["turn:e"], access: .secret("long-enough")),
            ])
        let defaults = NodeConfiguration()
        #expect(RoomLimits(defaults.limits, defaults.media) == RoomLimits(), "the two say the same")
    }

    @Test func aNodeNeedsAnApp() throws {
        #expect(problems().count == 1)
        #expect(problems()[0].hasPrefix("built-in: apps: no app"))
        #expect(try load(base: .development).configuration.apps == [.development])
        let lenient = try ConfigurationLoader.load(
            base: NodeConfiguration(), file: nil, environment: [:], flags: [:], machine: .init(cores: 1),
            requiresApps: false)
        #expect(lenient.configuration.apps.isEmpty)
    }

    /// The only key there is operates the node; of several, the named one, else nobody.
    @Test func whoOperatesTheNode() throws {
        let several = "  - {id: b, accessKey: other, secret: long-enough}\n"
        #expect(try load(Self.apps).configuration.operatorKey == "key")
        #expect(
            try load(Self.apps + "  - {id: b, accessKey: key, secret: long-enough}\n").configuration.operatorKey
                == "key")
        #expect(try load(Self.apps + several).configuration.operatorKey == nil)
        #expect(try load(Self.apps + several + "admin: {accessKey: other}\n").configuration.operatorKey == "other")
        #expect(try load(base: .development).configuration.operatorKey == "devkey")
    }

    /// `none` and `off` take back what the file said.
    @Test func aValueCanBeTakenBack() throws {
        let file =
            Self.apps
            + "webhooks: {allow: [example.com]}\ndataDir: d\nhttp:\n  trustedProxies: [10.0.0.1]\n  tls: {listen: 127.0.0.1:1, certificate: self-signed}\n"
        let loaded = try load(
            file, environment: ["PARLOR_DATA_DIR": "none", "PARLOR_WEBHOOKS_ALLOW": "none"],
            flags: ["http-tls-listen": "off", "http-trusted-proxies": "none"])
        #expect(loaded.configuration.webhooks.allowed.isEmpty)
        #expect(loaded.configuration.http.trustedProxies.isEmpty)
        #expect(loaded.configuration.dataDir == nil)
        #expect(loaded.configuration.http.tls.listen == nil)
        #expect(loaded.configuration.http.tls.certificate == .selfSigned)
    }

    @Test func appsMayShareAKey() throws {
        let loaded = try load(Self.apps + "  - {id: b, accessKey: key, secret: long-enough}\n")
        #expect(loaded.configuration.apps.map(\.id) == ["a", "b"])
    }

    @Test func secretsAreInNoMessage() {
        var found = problems(environment: ["PARLOR_APPS": "a:k:s€cret-value,b"])
        #expect(found.count == 2)
        #expect(!found.joined().contains("cret-value"))
        found = problems(Self.apps + "    settings: {eventCbSecret: s€cret-value}\n")
        #expect(found.count == 1)
        #expect(!found.joined().contains("cret-value"))
        var app = NodeConfiguration.App(id: "a", accessKey: "k", secret: "secret-value")
        app.settings.eventCbSecret = "secret-value"
        for key in ConfigurationKey<NodeConfiguration.App>.all { #expect(key.show(app) != "secret-value") }
    }

    @Test func namesAreSpelledFromThePath() {
        let names = ConfigurationKey<NodeConfiguration>.all
        #expect(Set(names.map(\.path)).count == names.count)
        let key = names.first { $0.path == "media.plain.portRange" }
        #expect(key?.flagName == "media-plain-port-range")
        #expect(key?.variableName == "PARLOR_MEDIA_PLAIN_PORT_RANGE")
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false), ("::/0", "::1", true),
        ("192.0.2.7", "192.0.2.7", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("2001:db8::8000:0:0:0/65", "2001:db8::ffff:0:0:1", true), ("fe80::/10", "febf::1", true),
    ])
    func prefixesHoldTheirAddresses(prefix: String, address: String, inside: Bool) throws {
        let block = try #require(AddressPrefix(prefix))
        #expect(block.contains(try #require(TransportAddress(host: address, port: 5))) == inside)
    }

    @Test(arguments: ["", "/8", "10.0.0.0/33", "10.0.0.1/8", "::/129", "::/", "1.2.3.4/+3", "10.0.0.0/8/8", "x"])
    func badPrefixesAreRefused(text: String) {
        #expect(AddressPrefix(text) == nil)
    }

    @Test func nearestNames() {
        #expect(NearestName.distance("kitten", "sitting") == 3)
        #expect(NearestName.distance("", "abc") == 3)
        #expect(NearestName.distance("dve", "dev") == 1)
        #expect(NearestName.of("serv", among: ["token", "serve"]) == "serve")
        #expect(NearestName.of("banana", among: ["token", "serve"]) == nil)
    }
}
