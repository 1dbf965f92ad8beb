/// libFuzzer's entry: see `RequestBodyExercise`.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    if let broken = RequestBodyExercise.run([UInt8](UnsafeBufferPointer(start: data, count: size))) {
        fatalError(broken)
    }
    return 0
}
