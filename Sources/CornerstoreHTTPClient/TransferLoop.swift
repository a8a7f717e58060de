import CornerstoreCCurl
import Foundation
import Synchronization

/// The thread that runs all transfers of a client. curl's handles belong to one thread; others send it commands.
final class TransferLoop: Sendable {
    enum Command: Sendable {
        case start(HTTPRequest, ResponseStream)
        case resume(ResponseStream)
        case cancel(ResponseStream)
    }

    private struct Queue {
        var commands: [Command] = []
        /// Whether the thread ends after the last transfer.
        var isEnding = false
        /// Whether the thread has ended, and the handle with it.
        var isOver = false
    }

    private static let isCurlReady = cornerstore_curl_global_init() == CURLE_OK
    /// When more connections than this are open, those that become idle are closed.
    private static let keptConnections = 64

    private let queue = Mutex(Queue())
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer

    /// Nil for lack of memory.
    init?(authorities: String?) {
        guard Self.isCurlReady, let multi = curl_multi_init() else { return nil }
        self.multi = multi
        _ = cornerstore_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.keptConnections)
        let thread = Thread { [self] in run(authorities: authorities) }
        thread.name = "HTTP client"
        thread.start()
    }

    /// Sends the thread a command.
    func add(_ command: Command) { change { $0.commands.append(command) } }

    /// Ends the thread after the last transfer.
    func end() { change { $0.isEnding = true } }

    private func change(_ body: (inout Queue) -> Void) {
        queue.withLock { queue in
            guard !queue.isOver else { return }
            body(&queue)
            // Under the lock, because the thread frees the handle at its end.
            curl_multi_wakeup(multi)
        }
    }

    private func run(authorities: String?) {
        // Writing to a closed connection is an error of curl's, and must not end the process.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        let transfers = Transfers(multi, authorities: authorities)
        while let commands = takeCommands(isIdle: transfers.isEmpty) {
            let wasIdle = transfers.isEmpty
            for command in commands { transfers.apply(command) }
            let wait = transfers.advance()
            // That was perhaps the last transfer of all.
            if transfers.isEmpty, !wasIdle { continue }
            // The call also returns for curl's own timers and when a command is added.
            if curl_multi_poll(multi, nil, 0, wait, nil) != CURLM_OK { poll(nil, 0, 100) }
        }
        curl_multi_cleanup(multi)
    }

    /// Nil at the end.
    private func takeCommands(isIdle: Bool) -> [Command]? {
        queue.withLock { queue in
            if queue.isEnding, isIdle, queue.commands.isEmpty {
                queue.isOver = true
                return nil
            }
            defer { queue.commands = [] }
            return queue.commands
        }
    }
}
