import Foundation
import Synchronization

/// Ends the process with SIGKILL, no cleaning up, or with `exit(0)`, when it comes to its point; and tells whoever
/// started it of every point that it passes.
public final class Killer: Sendable {
    private let point: KillPoint?
    private let exits: Bool
    private let isTelling: Bool
    private let seen = Mutex(0)

    /// Creates a killer.
    ///
    /// - Parameters:
    ///   - point: where the process ends; nil to let it run.
    ///   - exits: true to call `exit(0)`, false to send SIGKILL.
    ///   - isTelling: whether to print the name of every point that the process passes.
    public init(_ point: KillPoint?, exits: Bool = false, isTelling: Bool) {
        self.point = point
        self.exits = exits
        self.isTelling = isTelling
    }

    func pass(_ point: KillPoint.App) { pass(point.rawValue) }

    /// Prints the point's name if asked to, and ends the process if this is its kill point.
    public func pass(_ name: String) {
        if isTelling { tell(name) }
        guard let point, point.name == name else { return }
        let count = seen.withLock { seen in
            seen += 1
            return seen
        }
        guard count == point.count else { return }
        if exits { exit(0) }
        kill(getpid(), SIGKILL)
        // The signal comes at the next return to user mode at the latest; nothing may happen here before it.
        while true { pause() }
    }

    private func tell(_ name: String) {
        let line = Array("\(name)\n".utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }
}
