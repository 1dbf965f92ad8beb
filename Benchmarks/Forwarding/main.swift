import Glibc

let sinks = Sinks()
try sinks.reserve(1000)
let slots = Int(CommandLine.arguments.dropFirst().first ?? "1024") ?? 1024
for size in [1200, 120] { for profile in Cell.profiles { for gso in [true, false] { for fanOut in [1, 10, 100] {
    let cell = Cell(fanOut: fanOut, size: size, profile: profile, segmentation: gso)
    var ours = try Ours(cell, sinks, outboxSlots: nil)
    var floor = try Floor(cell, sinks, slots: slots)
    var a: [Double] = [], b: [Double] = []
    for sample in 0..<8 {
        var cpu: Int64 = 0, copies = 0
        while copies < 20000 { let t = try ours.turn(); cpu += t.cpu; copies += t.copies }
        if sample > 0 { a.append(Double(cpu) / Double(copies)) }
        cpu = 0; copies = 0
        while copies < 20000 { let t = try floor.turn(); cpu += t.cpu; copies += t.copies }
        if sample > 0 { b.append(Double(cpu) / Double(copies)) }
    }
    let r = zip(a, b).map { $0 / $1 }.sorted()[3]
    print(cell.key, a.sorted()[3], b.sorted()[3], r)
}}}}
