import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Tracks whether the client of a connection is still there, and runs actions when it leaves.
final class ClientPresence: Sendable {
    private struct State {
        var hasLeft = false
        var last = 0
        var actions: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Calls `action` when the client leaves, or at once when it has left already.
    /// - Returns: a number for ``forget(_:)``; nil when the client has left already.
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

    /// Cancels an action.
    func forget(_ id: Int?) {
        guard let id else { return }
        _ = state.withLock { $0.actions.removeValue(forKey: id) }
    }

    /// Records that the client has left, and runs the actions.
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
    /// Runs work that is cancelled when the client leaves, since it would be wasted.
    ///
    /// A client that closes only its sending side counts as gone: TCP shows no difference before the server writes.
    /// - Throws: the errors of `work`; ``HTTPProblem`` 499 when the work was cancelled, for the log.
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
