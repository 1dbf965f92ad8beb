import Foundation
import ParlorNode
import Synchronization
import Testing

struct LogQueueTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    @Test func linesComeInTheirOrder() async {
        let lines = Lines()
        let log = LogQueue { lines.add($0) }
        for number in 0..<1000 { log.post("\(number)") }
        await log.flush()
        #expect(lines.all == (0..<1000).map { "\($0)" })
    }

    /// Nobody reads: whoever posts goes on, and what does not fit is counted.
    @Test func aReaderThatIsStuckHoldsUpNobody() async {
        let lines = Lines()
        let goOn = DispatchSemaphore(value: 0)
        let log = LogQueue(limit: 3) { line in
            if line == "0" { goOn.wait() }
            lines.add(line)
        }
        log.post("0")
        for number in 1..<10 { log.post("\(number)") }
        goOn.signal()
        await log.flush()
        #expect(
            lines.all == [
                "0", "7 lines of this log were lost: it is not read as fast as it is written", "1", "2",
            ])
    }

    /// Nor the end of the node.
    @Test(.timeLimit(.minutes(1))) func aFlushGivesUp() async {
        let goOn = DispatchSemaphore(value: 0)
        let lines = Lines()
        let log = LogQueue { line in
            goOn.wait()
            lines.add(line)
        }
        log.post("not read for long")
        await log.flush(within: .milliseconds(10))
        #expect(lines.all.isEmpty, "the flush gave up")
        goOn.signal()
        await log.flush(within: .seconds(30))
        #expect(lines.all == ["not read for long"], "the flush waited")
    }
}
