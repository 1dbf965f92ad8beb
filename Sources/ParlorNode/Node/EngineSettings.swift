package import MediaEngine
import MediaWire

extension Engine.Configuration {
    /// What the node's configuration says of the media engine. Pure.
    package init(_ media: NodeConfiguration.Media, _ addresses: NodeAddresses) {
        self.init()
        ipv4 = addresses.ipv4
        ipv6 = addresses.ipv6
        mediaPort = media.port
        tcp = media.tcp
        workers = media.workers ?? 0
        plainPorts = media.plain.portRange
        receiveBufferSize = media.receiveBuffer
        sendBufferSize = media.sendBuffer
        // Never more than the shared sockets ask for, so a system that clamps these has clamped those, and the engine has said so.
        plainReceiveBufferSize = min(media.receiveBuffer, NodeConfiguration.Media.plainBufferLimit)
        plainSendBufferSize = min(media.sendBuffer, NodeConfiguration.Media.plainBufferLimit)
        collecting = MediaDuration(media.collecting)
        segmentation = media.segmentation
        sealing = media.crypto.rawValue
    }
}

extension MediaDuration {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(nanoseconds: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}
