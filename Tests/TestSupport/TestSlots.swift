/// A number of places for tests that run at the same time. Each test with databases takes a place, because a PostgreSQL
/// server accepts a limited number of connections.
public actor TestSlots {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Creates a number of free places.
    public init(_ count: Int) { free = count }

    /// Runs `body` in a place, and waits for a free one before.
    public nonisolated func with<T>(_ body: () async throws -> T) async throws -> T {
        await take()
        let result = await Result.catching(body)
        await give()
        return try result.get()
    }

    private func take() async {
        if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    private func give() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
