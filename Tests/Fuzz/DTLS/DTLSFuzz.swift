/// libFuzzer's entry: see `DTLSExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    DTLSExercise.run(Array(UnsafeRawBufferPointer(start: data, count: size)))
    return 0
}
