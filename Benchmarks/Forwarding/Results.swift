import Foundation

/// What a run found, as `--json` writes it.
struct Results: Codable {
    struct Forwarding: Codable {
        /// size/profile/gso or plain/fan-out
        var cell: String
        var fanOut: Int
        /// CPU ns per copy, medians over the samples.
        var ours: Double
        var floor: Double
        /// The median of the pairs' own ratios.
        var ratio: Double
        /// Half the distance between the pairs' quartiles.
        var spread: Double
    }

    struct OwnCode: Codable {
        var cell: String
        var fanOut: Int
        /// ns per copy, without kernel and crypto.
        var own: Double
        var receive: Double
        var plan: Double
        var complete: Double
        /// Opening and sealing of the same packets.
        var crypto: Double
    }

    struct Allocations: Codable {
        var cell: String
        var packets: Int
        var copies: Int
        var count: Int
    }

    var machine: String
    var kernel: String
    var sealing: String
    var unit = "CPU ns per forwarded copy"
    var forwarding: [Forwarding] = []
    var ownCode: [OwnCode] = []
    var allocations: [Allocations] = []

    init(sealing: String) {
        self.sealing = sealing
        let processor = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = processor.split(separator: "\n").first { $0.hasPrefix("model name") }
        machine = model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        let release = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? "unknown"
        kernel = release.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    static func read(_ path: String) throws(BenchError) -> Results {
        guard let data = FileManager.default.contents(atPath: path) else { throw BenchError("cannot read \(path)") }
        do { return try JSONDecoder().decode(Results.self, from: data) } catch {
            throw BenchError("\(path) is no result of parlor-bench: \(error)")
        }
    }

    func write(_ path: String) throws(BenchError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        do { try encoder.encode(self).write(to: URL(fileURLWithPath: path)) } catch {
            throw BenchError("cannot write \(path): \(error)")
        }
    }
}

/// The limits that `--check` holds a run to. Measured values with a margin for the machine's mood; the target is what
/// we want, and stands beside them.
struct Thresholds: Codable {
    var targetRatio: Double
    var targetOwnCode: Double
    /// By cell.
    var ratio: [String: Double]
    /// By size.
    var ownCode: [String: Double]

    static func read(_ path: String) throws(BenchError) -> Thresholds {
        guard let data = FileManager.default.contents(atPath: path) else { throw BenchError("cannot read \(path)") }
        do { return try JSONDecoder().decode(Thresholds.self, from: data) } catch {
            throw BenchError("\(path) holds no thresholds: \(error)")
        }
    }

    /// What is above its limit, a line each.
    func violations(_ results: Results) -> [String] {
        var lines: [String] = []
        for result in results.forwarding {
            guard let limit = ratio[result.cell], result.ratio > limit else { continue }
            lines.append("\(result.cell): \(text(result.ratio, 2)) times the floor, above \(text(limit, 2))")
        }
        for result in results.ownCode {
            let size = result.cell.split(separator: "/").first.map(String.init) ?? ""
            guard let limit = ownCode[size], result.own > limit else { continue }
            lines.append("\(result.cell): own code \(text(result.own, 1)) ns, above \(text(limit, 1))")
        }
        return lines
    }
}

/// A number with so many digits behind the point, right-aligned.
func text(_ value: Double, _ digits: Int, width: Int = 0) -> String {
    let plain = String(format: "%.\(digits)f", value)
    return String(repeating: " ", count: max(0, width - plain.count)) + plain
}

func median(_ values: [Double]) -> Double { quantile(values, 0.5) }

func quantile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let low = Int(place)
    guard low + 1 < sorted.count else { return last }
    return sorted[low] + (sorted[low + 1] - sorted[low]) * (place - Double(low))
}
