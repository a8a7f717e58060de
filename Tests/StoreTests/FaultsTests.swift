import StoreWire
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct FaultsTests {
    @Test func anOrderedFaultFailsTheGivenNumberOfRequests() throws {
        let faults = Faults(now: { 0 }, changed: {})
        try faults.order(.init(operation: .products, status: 503, remaining: 2))
        #expect(faults.next(.purchases) == nil)
        #expect(faults.next(.products)?.status == 503)
        #expect(faults.ordered == [.init(operation: .products, status: 503, remaining: 1)])
        #expect(faults.next(.products)?.status == 503)
        #expect(faults.next(.products) == nil && faults.ordered.isEmpty)
        try faults.order(.init(operation: .products, status: 500, remaining: 9))
        try faults.order(.init(operation: .products, status: 599, remaining: 1))
        #expect(faults.next(.products)?.status == 599)
        #expect(faults.next(.products) == nil)
        try faults.order(.init(operation: .finish, status: 500, remaining: 1_000_000))
        faults.clear()
        #expect(faults.next(.finish) == nil)
    }

    @Test(
        arguments: [
            (.verifyReceipt, 0, 1), (.verifyReceipt, 21000, 1), (.verifyReceipt, 21010, 1), (.verifyReceipt, 21099, 1),
            (.verifyReceipt, 21200, 1), (.verifyReceipt, 503, 1), (.products, 200, 1), (.products, 499, 1),
            (.products, 600, 1),
            (.signIn, 21005, 1), (.signIn, 503, 0), (.signIn, 503, -1), (.signIn, 503, 1_000_001), (.signIn, .min, 1),
        ] as [(Faults.Operation, Int, Int)])
    func whatCannotBeOrderedIsRefused(_ operation: Faults.Operation, _ status: Int, _ count: Int) {
        let faults = Faults(now: { 0 }, changed: {})
        #expect(throws: StoreError.self) {
            try faults.order(.init(operation: operation, status: status, remaining: count))
        }
        #expect(faults.ordered.isEmpty)
    }

    @Test func requestsAtTheSameMomentShareOneCount() async throws {
        let faults = Faults(now: { 0 }, changed: {})
        try faults.order(.init(operation: .receipts, status: 500, remaining: 100))
        let failed = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { (0..<50).filter { _ in faults.next(.receipts) != nil }.count } }
            return await group.reduce(0, +)
        }
        #expect(failed == 100)
    }
}
