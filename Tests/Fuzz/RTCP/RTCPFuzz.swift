/// libFuzzer's entry: see `RTCPExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    RTCPExercise.run(UnsafeRawBufferPointer(start: data, count: size).bytes)
    return 0
}
