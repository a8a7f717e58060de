import Testing

@testable import StoreWire

@Suite(.timeLimit(.minutes(1))) struct TimeLimitTests {
    private struct Late: Error {}

    @Test(arguments: [Duration.milliseconds(50), .zero, .seconds(-1)])
    func whatTakesTooLongIsCancelled(_ limit: Duration) async {
        let (silence, _) = AsyncStream.makeStream(of: Void.self)
        await #expect(throws: Late.self) {
            // It ends when it is cancelled, as if it had been done.
            try await withTimeLimit(limit, else: Late()) { for await _ in silence {} }
        }
    }

    @Test func aResultWithinTheTimeLimitIsReturned() async throws {
        #expect(try await withTimeLimit(.seconds(600), else: Late()) { 7 } == 7)
        struct Own: Error {}
        await #expect(throws: Own.self) { try await withTimeLimit(.seconds(600), else: Late()) { throw Own() } }
    }
}
