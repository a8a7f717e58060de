import ControlWire
import Database
import Logging
import ServiceLifecycle
import Store

/// Tells the other processes of the store which catalog files this process has, and whether it can answer requests. It
/// logs when an older process has other files, and records when what operators see of the processes has changed.
struct ProcessWatch: Service {
    /// How often a difference is logged.
    private static let pauseBetweenReports = Duration.seconds(60)

    let process: @Sendable () -> ProcessState
    let health: StoreHealth
    let facts: OwnFacts
    let news: CatalogNews
    let changes: Changes
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            var nextReport = ContinuousClock.now
            var shown: [[String]] = []
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                let problem = await health.problem()?.rawValue
                facts.update {
                    $0.catalog = news.state.digest
                    $0.problem = $0.address == nil ? ControlAPI.StoreProcess.starting : problem
                }
                let state = process()
                if .now >= nextReport, reportOtherCatalog(state) { nextReport = .now + Self.pauseBetweenReports }
                let now = ControlAPI.StoreProcess.all(state).map { [$0.name, $0.state] }
                if now != shown { changes.record(ChangeTopic(.processes, nil)) }
                shown = now
            }
        }
    }

    /// Logs that an older process has other catalog files. Returns false when none has.
    private func reportOtherCatalog(_ state: ProcessState) -> Bool {
        guard let other = state.otherCatalog else { return false }
        logger.error(
            "the catalog files differ from those of another process of this store, this process is not ready",
            metadata: ["other": "\(other.name)", "node": "\(other.node)"])
        return true
    }
}

/// Tells load balancers that the server stops, and waits until they have heard it, before its ports close.
struct ReadinessEnd: Service {
    let health: StoreHealth
    /// How long the server still answers requests after it has said that it stops.
    let delay: Duration
    /// Whether the process can answer requests; nil for a store of one process.
    let isCurrent: (@Sendable () -> Bool)?

    func run() async {
        do { try await gracefulShutdown() } catch {
            // The group is cancelled, so nothing waits.
            health.stop()
            return
        }
        health.stop()
        // A process that has lost the database would only refuse requests, and delay its next start.
        guard isCurrent?() ?? true else { return }
        try? await Task.sleep(for: delay)
    }
}
