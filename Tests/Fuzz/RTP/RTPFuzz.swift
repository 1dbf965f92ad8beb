/// libFuzzer's entry: see `RTPExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    RTPExercise.run(UnsafeRawBufferPointer(start: data, count: size).bytes)
    return 0
}
