internal import CCrypto

/// Asks for the cache lines of a range that will soon be written; changes nothing, and may name memory that is not there. Opening a packet
/// takes long enough for the lines to come meanwhile.
package func willWrite(_ start: UnsafeRawPointer, count: Int) { parlor_will_write(start, max(0, count)) }
