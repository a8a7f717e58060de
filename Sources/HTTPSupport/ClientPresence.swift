import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Whether the client of a connection is still there, and who is to be told when it leaves.
final class ClientPresence: Sendable {
    private struct State {
        var hasLeft = false
        var last = 0
        var actions: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Calls `action` when the client leaves, or at once when it has left.
    /// - Returns: a number for ``forget(_:)``; nil when there is nothing to forget.
    func whenLeft(_ action: @escaping @Sendable () -> Void) -> Int? {
        let id = state.withLock { state -> Int? in
            guard !state.hasLeft else { return nil }
            state.last += 1
            state.actions[state.last] = action
            return state.last
        }
        if id == nil { action() }
        return id
    }

    /// Does not call an action any more.
    func forget(_ id: Int?) {
        guard let id else { return }
        _ = state.withLock { $0.actions.removeValue(forKey: id) }
    }

    /// Says that the client has left.
    func leave() {
        let actions = state.withLock { state in
            state.hasLeft = true
            defer { state.actions = [:] }
            return state.actions
        }
        for action in actions.values { action() }
    }
}

extension ConnectionRequestContext {
    /// Does work that is not worth its cost once the client has left: it is cancelled then.
    ///
    /// A client that closes only its sending end counts as gone: TCP shows no difference before something is written.
    /// - Throws: what the work throws; ``HTTPProblem`` 499 when it was cancelled, for the log.
    public func whileClientStays<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let channel = channel
        let presence = try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: RequestBoundsHandler.self).presence
        }.get()
        guard let presence else { return try await work() }
        let task = Task { try await work() }
        let id = presence.whenLeft { task.cancel() }
        defer { presence.forget(id) }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError {
            throw HTTPProblem(
                HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request"), code: "client_left",
                message: "The client closed the connection before the answer was ready.")
        }
    }
}
