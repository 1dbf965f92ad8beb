import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.contains("--help") || arguments.contains("-h") {
    print(Options.help)
    exit(0)
}
do {
    var benchmark = try Benchmark(try Options(arguments))
    exit(try benchmark.run() ? 0 : 1)
} catch {
    FileHandle.standardError.write(Data("parlor-bench: \(error)\n".utf8))
    exit(2)
}
