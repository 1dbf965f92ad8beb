/// Reads in network byte order. The caller has checked that the bytes are there; a read past the end would trap.
extension RawSpan {
    @inlinable @inline(__always) package func octet(at offset: Int) -> UInt8 {
        unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    @inlinable @inline(__always) package func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inlinable @inline(__always) package func bigEndian24(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 8 | UInt32(octet(at: offset &+ 2))
    }

    @inlinable @inline(__always) package func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inlinable @inline(__always) package func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

/// Writes in network byte order. Release builds do not check these bounds: the writers do, before they call.
extension UnsafeMutableRawBufferPointer {
    @inlinable @inline(__always) package func storeBigEndian(_ value: UInt16, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
    }

    @inlinable @inline(__always) package func storeBigEndian(_ value: UInt32, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
    }

    @inlinable @inline(__always) package func storeBigEndian(_ value: UInt64, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt64.self)
    }
}
