package import MediaWire

/// One m-line of a plain leg as a command line of FFmpeg or GStreamer needs it.
package struct PlainStream: Hashable, Sendable {
    package var codec: Codec
    package var payloadType: UInt8
    package var ssrc: UInt32
    /// Seals what is sent along this stream: the client's key when publishing, the node's when playing.
    package var key: SRTPMasterKey
    /// Publishing: where the node receives RTP. Playing: where the client does.
    package var rtp: TransportAddress
    /// The same for RTCP.
    package var rtcp: TransportAddress

    package init(
        codec: Codec, payloadType: UInt8, ssrc: UInt32, key: SRTPMasterKey, rtp: TransportAddress,
        rtcp: TransportAddress
    ) {
        self.codec = codec
        self.payloadType = payloadType
        self.ssrc = ssrc
        self.key = key
        self.rtp = rtp
        self.rtcp = rtcp
    }
}

/// Why a tool cannot do what was asked.
package struct ToolLimit: Error, CustomStringConvertible {
    package var description: String
}
