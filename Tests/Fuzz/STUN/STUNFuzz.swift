/// libFuzzer's entry: see `STUNExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    STUNExercise.run(Array(UnsafeRawBufferPointer(start: data, count: size)))
    return 0
}
