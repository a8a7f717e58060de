/// Runs a cancellable operation and cancels it when the time limit is reached.
///
/// The timeout of AsyncHTTPClient covers only the head of a response; a server could send the body without end.
/// - Parameters:
///   - limit: the time that the operation may take. Zero or less leaves no time.
///   - error: the error to throw when the time limit is reached.
/// - Throws: the error of `body`, `error`, or `CancellationError`.
package func withTimeLimit<Value: Sendable>(
    _ limit: Duration, else error: @escaping @Sendable @autoclosure () -> any Error,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask {
            let value = try await body()
            // A cancelled operation may return as if it had finished.
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
