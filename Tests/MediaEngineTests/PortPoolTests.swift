import MediaEngine
import Testing

@Suite struct PortPoolTests {
    @Test func everyPortOnceThenNone() {
        var pool = PortPool(range: 8000...8004)
        #expect((0..<5).map { _ in pool.lease() } == [8000, 8001, 8002, 8003, 8004])
        #expect(pool.lease() == nil)
        #expect(pool.leasePair() == nil)
        #expect(pool.leasedCount == 5)
    }

    @Test func aReleasedPortComesLast() {
        var pool = PortPool(range: 8000...8003)
        #expect(pool.lease() == 8000)
        pool.release(8000)
        #expect((0..<4).map { _ in pool.lease() } == [8001, 8002, 8003, 8000])
        pool.release(8002)
        #expect(pool.lease() == 8002)
    }

    @Test func pairsBeginEvenAndNeedBoth() {
        var pool = PortPool(range: 8001...8007)
        #expect(pool.leasePair() == 8002)
        #expect(pool.lease() == 8004)
        #expect(pool.leasePair() == 8006)
        #expect(pool.leasePair() == nil)  // 8001 is odd, 8004 is taken, 8007 has no even partner before it
        pool.release(8004)
        #expect(pool.leasePair() == 8004)
        // Each half comes back by itself.
        pool.release(8006)
        #expect(pool.leasePair() == nil)
        pool.release(8007)
        #expect(pool.leasePair() == 8006)
    }

    @Test func theHighestPortsWork() {
        var pool = PortPool(range: 65534...65535)
        #expect(pool.leasePair() == 65534)
        #expect(pool.lease() == nil)
        var single = PortPool(range: 65535...65535)
        #expect(single.leasePair() == nil)
        #expect(single.lease() == 65535)
    }
}
