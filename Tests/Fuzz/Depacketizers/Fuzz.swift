// Hostile payloads, in any order, for the VP8, VP9, H.264 and Opus depacketizers. The linked files beside this one are the sources
// under test: they are not part of the wire library, with which fuzz targets are compiled.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    var replay = DepacketizerReplay()
    let broken = replay.run([UInt8](UnsafeBufferPointer(start: data, count: size)))
    precondition(broken == nil, broken ?? "")
    return 0
}
