package import MediaContract
package import MediaWire

/// One received datagram. The bytes belong to the worker's receive slots: they are opened in place, and are valid during the
/// one call that hands them in.
package struct InboundDatagram {
    package var socket: SocketID
    package var source: TransportAddress
    package var bytes: UnsafeMutableRawBufferPointer

    @inlinable package init(socket: SocketID, source: TransportAddress, bytes: UnsafeMutableRawBufferPointer) {
        self.socket = socket
        self.source = source
        self.bytes = bytes
    }
}
