/// libFuzzer's entry: see `OfferExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    if let broken = OfferExercise.run([UInt8](UnsafeBufferPointer(start: data, count: size))) { fatalError(broken) }
    return 0
}
