/// A server that runs in a task of its own while a test uses it.
public struct ServerTask<Address: Sendable>: Sendable {
    /// Runs a server until its task is cancelled. It calls its argument when the server is ready.
    public typealias Server = @Sendable (_ ready: @escaping @Sendable (Address) -> Void) async throws -> Void

    /// The server ended before it was ready.
    public struct NotReady: Error {}

    /// The address on which the server answers.
    public let address: Address
    private let run: Task<Void, any Error>

    /// Starts a server and waits until it is ready.
    ///
    /// - Throws: The server's error, or ``NotReady``.
    public init(_ server: @escaping Server) async throws {
        let (addresses, ready) = AsyncStream.makeStream(of: Address.self)
        let run = Task {
            defer { ready.finish() }
            try await server { ready.yield($0) }
        }
        var iterator = addresses.makeAsyncIterator()
        guard let address = await iterator.next() else {
            try await run.value
            throw NotReady()
        }
        self.address = address
        self.run = run
    }

    /// Stops the server, whatever it is doing, and waits until it has closed its files.
    public func stop() async {
        run.cancel()
        _ = await run.result
    }

    /// Runs `body` while a server runs.
    public static func with<T>(_ server: @escaping Server, _ body: (Address) async throws -> T) async throws -> T {
        let task = try await ServerTask(server)
        let result = await Result.catching { try await body(task.address) }
        await task.stop()
        return try result.get()
    }
}
