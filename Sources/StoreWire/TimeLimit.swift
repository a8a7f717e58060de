/// Does something that ends when its task is cancelled, and cancels it when the time is over.
///
/// AsyncHTTPClient's own limit ends with an answer's head: the body behind it could drip without end.
/// - Parameters:
///   - limit: none is left at zero or less.
///   - error: what is thrown when the time is over.
/// - Throws: what `body` throws, `error`, or `CancellationError`.
package func withTimeLimit<Value: Sendable>(
    _ limit: Duration, else error: @escaping @Sendable @autoclosure () -> any Error,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask {
            let value = try await body()
            // What was cut off may look like what has ended.
            try Task.checkCancellation()
            return value
        }
        group.addTask {
            try await Task.sleep(for: limit)
            throw error()
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
