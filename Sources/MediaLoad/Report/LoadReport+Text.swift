extension LoadReport {
    /// The tables, the remarks, and a line for each kind of fault.
    package var text: String {
        var text = tables
        if !remarks.isEmpty { text += "\n" + remarks.map { $0 + "\n" }.joined() }
        if faults.isEmpty {
            text += "\nAll right: every frame that was checked was the right one, in order, and nothing was lost.\n"
        } else {
            text += "\n"
            for fault in faults {
                text += "WRONG  \(fault.kind.rawValue): \(fault.count) \(fault.kind.text)"
                text += fault.example.isEmpty ? "\n" : " (first: \(fault.example))\n"
            }
        }
        return text
    }

    /// Two tables: the media, and joins and repair. More than 40 rooms are shown as the total alone.
    package var tables: String {
        var media = LoadTable(
            "room", "pubs", "subs", "sent", "received", "Mbit/s up", "down", "lost", "loss", "frames", "wrong", "tone",
            "latency p50", "p99 ms")
        var joins = LoadTable(
            "room", "join p50", "p95 ms", "first frame p50", "p95 ms", "NACK", "repaired", "key frames asked",
            "own drops", "jitter ms")
        for room in (rooms.count > 1 && rooms.count <= 40 ? rooms : []) + [total] {
            media.add(mediaRow(room))
            joins.add(joinRow(room))
        }
        if let storm { return media.text + "\n" + storm.text }
        guard let joinPhases else { return media.text + "\n" + joins.text }
        var phases = LoadTable("step of a join", "joins", "p50 ms", "p95 ms", "longest ms")
        for phase in joinPhases {
            phases.add([
                phase.name, "\(phase.count)", Self.milliseconds(phase.p50Milliseconds),
                Self.milliseconds(phase.p95Milliseconds), Self.fixed(phase.longestMilliseconds, 1),
            ])
        }
        return phases.text
    }

    private func mediaRow(_ room: Room) -> [String] {
        var frames = "\(room.framesDecoded)"
        if room.framesNotDecoded > 0 { frames += "+\(room.framesNotDecoded)" }
        let tone =
            room.toneStretches == 0
            ? "-" : "\(room.toneStretches - room.toneStretchesWrong)/\(room.toneStretches)"
        return [
            room.name, Self.joined(room.publishersJoined, room.publishersFailed),
            Self.joined(room.subscribersJoined, room.subscribersFailed), "\(room.packetsSent)",
            "\(room.packetsReceived)", Self.fixed(room.megabitsSent, 2), Self.fixed(room.megabitsReceived, 2),
            "\(room.packetsLost)", Self.fixed(room.lossShare * 100, 2) + "%", frames, "\(room.framesWrong)", tone,
            Self.milliseconds(room.latencyP50Milliseconds), Self.milliseconds(room.latencyP99Milliseconds),
        ]
    }

    private func joinRow(_ room: Room) -> [String] {
        [
            room.name, Self.milliseconds(room.joinP50Milliseconds), Self.milliseconds(room.joinP95Milliseconds),
            Self.milliseconds(room.firstFrameP50Milliseconds), Self.milliseconds(room.firstFrameP95Milliseconds),
            "\(room.nacksSent + room.nacksFromNode)", "\(room.packetsRecovered)", "\(room.keyFrameRequests)",
            "\(room.testerDrops)", Self.fixed(room.jitterMilliseconds, 1),
        ]
    }

    private static func joined(_ joined: Int, _ failed: Int) -> String {
        failed == 0 ? "\(joined)" : "\(joined)/\(joined + failed)"
    }

    private static func milliseconds(_ value: Double?) -> String { value.map { fixed($0, 1) } ?? "-" }

    /// A number with so many digits behind the point.
    package static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "-" }
        var factor = 1.0
        for _ in 0..<digits { factor *= 10 }
        let scaled = Int64((abs(value) * factor).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard digits > 0 else { return sign + "\(scaled)" }
        let fraction = String(scaled % Int64(factor))
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return sign + "\(scaled / Int64(factor)).\(zeros)\(fraction)"
    }
}

/// Columns under their titles: the first to the left, numbers to the right.
struct LoadTable {
    private var rows: [[String]]

    init(_ titles: String...) { rows = [titles] }

    mutating func add(_ cells: [String]) { rows.append(cells) }

    var text: String {
        let columns = rows[0].count
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + space : space + row[column]
            }.joined(separator: "  ") + "\n"
        }.joined()
    }
}
