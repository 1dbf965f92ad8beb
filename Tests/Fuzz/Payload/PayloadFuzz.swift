/// libFuzzer's entry: see `PayloadExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    PayloadExercise.run(UnsafeRawBufferPointer(start: data, count: size).bytes)
    return 0
}
