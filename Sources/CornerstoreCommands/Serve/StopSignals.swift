import Foundation
import Glibc
import UnixSignals

/// The signals that stop a server.
enum StopSignals {
    /// The signals at which a server finishes what it is doing, and then ends.
    static let all: [UnixSignal] = [.sigterm, .sigint]

    /// A signal that follows sooner is part of the first request: `timeout` sends its signal twice.
    private static let pause = Duration.seconds(1)

    /// Ends the process at the second signal, without waiting for open requests. Call it once the server stops at the
    /// first, because the signals have no other effect from then on.
    static func endAtTheSecond() {
        Task {
            var begun: ContinuousClock.Instant?
            for await _ in await UnixSignalsSequence(trapping: all) {
                guard let first = begun else {
                    begun = ContinuousClock.now
                    continue
                }
                guard ContinuousClock.now - first >= pause else { continue }
                Console.current.complain("stopped at the second signal, without waiting for open requests")
                _exit(1)
            }
        }
    }
}
