import MediaEngine
import MediaWire
import ParlorNode
import Testing

/// What the configuration's keys become for the media engine.
struct EngineSettingsTests {
    private func engine(_ change: (inout NodeConfiguration.Media) -> Void = { _ in }) -> Engine.Configuration {
        var media = NodeConfiguration().media
        change(&media)
        return Engine.Configuration(
            media, NodeAddresses(media, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)]))
    }

    @Test func plainSocketsAskForNoMoreThanAMebibyte() {
        let usual = engine()
        #expect(usual.receiveBufferSize == 4 << 20 && usual.sendBufferSize == 4 << 20)
        #expect(usual.plainReceiveBufferSize == 1 << 20 && usual.plainSendBufferSize == 1 << 20)
        let small = engine {
            $0.receiveBuffer = 256 << 10
            $0.sendBuffer = 128 << 10
        }
        #expect(small.receiveBufferSize == 256 << 10 && small.sendBufferSize == 128 << 10)
        #expect(small.plainReceiveBufferSize == 256 << 10 && small.plainSendBufferSize == 128 << 10)
    }

    @Test func collectingAndSegmentation() {
        #expect(engine().collecting == .milliseconds(1) && engine().segmentation)
        let changed = engine {
            $0.collecting = .zero
            $0.segmentation = false
        }
        #expect(changed.collecting == .zero && !changed.segmentation)
    }

    @Test func tcpUnlessSwitchedOff() {
        #expect(engine().tcp && engine().streams == StreamLimits())
        #expect(!engine { $0.tcp = false }.tcp)
    }

    @Test func portsThreadsAndCrypto() {
        let changed = engine {
            $0.port = 9000
            $0.workers = 3
            $0.crypto = .evp
            $0.plain.portRange = 9100...9199
        }
        #expect(changed.mediaPort == 9000 && changed.workers == 3 && changed.sealing == "evp")
        #expect(changed.plainPorts == 9100...9199)
        #expect(changed.ipv4?.isUnspecified == true && changed.ipv6 == nil)
        #expect(engine().workers == 0 && engine().sealing == "auto")
    }
}
