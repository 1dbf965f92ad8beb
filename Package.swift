// swift-tools-version: 6.2

// The import law: arrows point down only. `tools/check-imports` enforces this table.
//
//   target          may import
//   MediaWire       the standard library
//   MediaContract   MediaWire
//   MediaTransport  MediaWire, MediaContract, CCrypto
//   MediaSwitch     MediaWire, MediaContract, MediaTransport
//   MediaEngine     MediaSwitch, MediaTransport, MediaContract, MediaWire, CNet
//   RoomProtocol    FoundationEssentials
//   RoomControl     RoomProtocol, MediaContract, MediaWire (SDP), CCrypto (HMAC), CSQLite
//   WebTransport    CWeb
//   RoomService     RoomControl, RoomProtocol, WebTransport, MediaContract, MediaWire, CPages
//   ParlorNode      RoomService, RoomControl, RoomProtocol, MediaEngine, MediaTransport (certificates), WebTransport,
//                   MediaContract, MediaWire, CYAML
//   ClientEngine    MediaTransport, MediaContract, MediaWire, CNet
//   MediaCodecs     MediaWire, CCodecs
//   RTCClient       ClientEngine, RoomProtocol, WebTransport, MediaCodecs, MediaTransport (certificates),
//                   MediaContract, MediaWire
//   MediaLoad       RTCClient, RoomProtocol, ClientEngine, MediaCodecs, WebTransport, MediaContract, MediaWire
//   parlor          ParlorNode
//   parlor-load     MediaLoad

import PackageDescription

let language: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// The media path: cross-module inlining, and no dynamic exclusivity checks (bounds and overflow traps stay on).
let mediaPath: [SwiftSetting] =
    language + [
        .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
        .unsafeFlags(["-enforce-exclusivity=unchecked"]),
    ]

let package = Package(
    name: "parlor",
    products: [
        .executable(name: "parlor", targets: ["parlor"]),
        .executable(name: "parlor-load", targets: ["parlor-load"]),
        .library(name: "RTCClient", targets: ["RTCClient"]),
    ],
    targets: [
        // C and C++ shims
        .target(name: "CNet", path: "CMediaShims/net"),
        .target(
            name: "CCrypto", path: "CMediaShims/crypto",
            linkerSettings: [.linkedLibrary("srtp2"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(
            name: "CCodecs", path: "CMediaShims/codecs",
            linkerSettings: [.linkedLibrary("opus"), .linkedLibrary("vpx"), .linkedLibrary("m")]),
        .target(
            name: "CWeb", path: "CMediaShims/web",
            cxxSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CPages", path: "Sources/web", exclude: ["README.md", "files"]),
        .systemLibrary(
            name: "CYAML", path: "CMediaShims/yaml", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(
            name: "CSQLite", path: "CMediaShims/sqlite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        // Media path
        .target(name: "MediaWire", exclude: ["README.md"], swiftSettings: mediaPath),
        .target(name: "MediaContract", dependencies: ["MediaWire"], exclude: ["README.md"], swiftSettings: mediaPath),
        .target(
            name: "MediaTransport", dependencies: ["MediaWire", "MediaContract", "CCrypto"], exclude: ["README.md"],
            swiftSettings: mediaPath),
        .target(
            name: "MediaSwitch", dependencies: ["MediaWire", "MediaContract", "MediaTransport"],
            exclude: ["README.md"], swiftSettings: mediaPath),
        .target(
            name: "MediaEngine",
            dependencies: ["MediaSwitch", "MediaTransport", "MediaContract", "MediaWire", "CNet"],
            exclude: ["README.md"], swiftSettings: mediaPath),

        // Control path
        .target(name: "RoomProtocol", exclude: ["README.md"], swiftSettings: language),
        .target(
            name: "RoomControl", dependencies: ["RoomProtocol", "MediaContract", "MediaWire", "CCrypto", "CSQLite"],
            exclude: ["README.md"], swiftSettings: language),
        .target(name: "WebTransport", dependencies: ["CWeb"], exclude: ["README.md"], swiftSettings: language),
        .target(
            name: "RoomService",
            dependencies: ["RoomControl", "RoomProtocol", "WebTransport", "MediaContract", "MediaWire", "CPages"],
            exclude: ["README.md"], swiftSettings: language),
        .target(
            name: "ParlorNode",
            dependencies: [
                "RoomService", "RoomControl", "RoomProtocol", "MediaEngine", "MediaTransport", "WebTransport",
                "MediaContract", "MediaWire", "CYAML",
            ],
            exclude: ["README.md"], swiftSettings: language),

        // Clients
        .target(
            name: "ClientEngine", dependencies: ["MediaTransport", "MediaContract", "MediaWire", "CNet"],
            exclude: ["README.md"], swiftSettings: mediaPath),
        .target(
            name: "MediaCodecs", dependencies: ["MediaWire", "CCodecs"], exclude: ["README.md"],
            swiftSettings: mediaPath),
        .target(
            name: "RTCClient",
            dependencies: [
                "ClientEngine", "RoomProtocol", "WebTransport", "MediaCodecs", "MediaTransport", "MediaContract",
                "MediaWire",
            ],
            exclude: ["README.md"], swiftSettings: language),
        .target(
            name: "MediaLoad",
            dependencies: [
                "RTCClient", "RoomProtocol", "ClientEngine", "MediaCodecs", "WebTransport", "MediaContract",
                "MediaWire",
            ],
            exclude: ["README.md"], swiftSettings: language),

        // Programs
        .executableTarget(name: "parlor", dependencies: ["ParlorNode"], swiftSettings: language),
        .executableTarget(name: "parlor-load", dependencies: ["MediaLoad"], swiftSettings: language),

        // Benchmarks
        .target(
            name: "CForwardingFloor", dependencies: ["CCrypto"], path: "Benchmarks/CForwardingFloor",
            cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "parlor-bench",
            dependencies: [
                "CForwardingFloor", "MediaEngine", "MediaSwitch", "MediaTransport", "MediaContract", "MediaWire",
                "CNet", "CCrypto", "CAllocationCounter",
            ],
            path: "Benchmarks/Forwarding", swiftSettings: mediaPath),

        // Tests
        .target(name: "CAllocationCounter", path: "Tests/Support/CAllocationCounter"),
        .target(name: "CSRTPFuzz", dependencies: ["CCrypto"], path: "Tests/Fuzz/SRTP", exclude: ["corpus"]),
        .target(
            name: "MediaTestKit",
            dependencies: ["MediaSwitch", "MediaTransport", "MediaContract", "MediaWire"],
            path: "Tests/Support/MediaTestKit", swiftSettings: mediaPath),
        .testTarget(name: "MediaWireTests", dependencies: ["MediaWire"], swiftSettings: language),
        .testTarget(
            name: "MediaTransportTests",
            dependencies: [
                "MediaTransport", "MediaContract", "MediaWire", "CCrypto", "CAllocationCounter", "CSRTPFuzz",
            ],
            swiftSettings: language),
        .testTarget(
            name: "MediaSwitchTests",
            dependencies: [
                "MediaSwitch", "MediaTransport", "MediaContract", "MediaWire", "MediaTestKit", "CAllocationCounter",
            ],
            swiftSettings: language),
        .testTarget(
            name: "MediaEngineTests",
            dependencies: ["MediaEngine", "MediaSwitch", "MediaContract", "MediaWire", "MediaTransport", "CNet"],
            swiftSettings: language),
        .target(
            name: "RoomTestKit", dependencies: ["RoomControl", "RoomProtocol", "MediaContract", "MediaWire"],
            path: "Tests/Support/RoomTestKit", swiftSettings: language),
        .testTarget(name: "RoomProtocolTests", dependencies: ["RoomProtocol"], swiftSettings: language),
        .testTarget(
            name: "RoomControlTests",
            dependencies: ["RoomControl", "RoomProtocol", "RTCClient", "MediaContract", "MediaWire", "RoomTestKit"],
            swiftSettings: language),
        .testTarget(
            name: "RTCClientTests",
            dependencies: [
                "RTCClient", "RoomProtocol", "ParlorNode", "RoomService", "RoomControl", "WebTransport", "ClientEngine",
                "MediaWire", "MediaCodecs",
            ],
            swiftSettings: language),
        .testTarget(
            name: "RoomsAndMediaTests",
            dependencies: [
                "RoomControl", "MediaSwitch", "MediaTransport", "MediaContract", "MediaWire", "MediaTestKit",
                "RoomTestKit",
            ],
            swiftSettings: language),
        .testTarget(name: "WebTransportTests", dependencies: ["WebTransport", "MediaWire"], swiftSettings: language),
        .testTarget(
            name: "RoomServiceTests",
            dependencies: [
                "RoomService", "RoomControl", "RoomProtocol", "WebTransport", "MediaContract", "MediaWire",
                "RoomTestKit",
            ],
            swiftSettings: language),
        .testTarget(
            name: "ParlorNodeTests",
            dependencies: [
                "ParlorNode", "MediaEngine", "MediaWire", "WebTransport", "RoomControl", "RoomService",
            ],
            swiftSettings: language),
        .testTarget(
            name: "ClientEngineTests",
            dependencies: [
                "ClientEngine", "MediaTransport", "MediaContract", "MediaWire", "MediaSwitch", "MediaTestKit",
            ],
            swiftSettings: language),
        .testTarget(
            name: "MediaLoadTests",
            dependencies: [
                "MediaLoad", "RTCClient", "RoomProtocol", "WebTransport", "ClientEngine", "MediaCodecs", "MediaContract",
                "MediaWire",
            ],
            swiftSettings: language),
        .testTarget(name: "MediaCodecsTests", dependencies: ["MediaCodecs", "MediaWire"], swiftSettings: language),
        .testTarget(
            name: "EndToEndTests", dependencies: ["MediaTransport", "MediaWire", "WebTransport", "RoomProtocol"],
            exclude: ["Python"],
            swiftSettings: language),
    ],
    cLanguageStandard: .gnu11,
    cxxLanguageStandard: .cxx17
)
