/// libFuzzer's entry: see `StreamFramesExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    StreamFramesExercise.run(UnsafeRawBufferPointer(start: data, count: size).bytes)
    return 0
}
