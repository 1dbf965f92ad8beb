/// libFuzzer's entry: see `SignallingExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
    if let broken = SignallingExercise.run(bytes) { fatalError(broken) }
    return 0
}
