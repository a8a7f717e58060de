import Database
import Logging
import ServiceLifecycle

/// Tells the other processes of the store which catalog files this process has, and logs when an older process has
/// others.
struct ProcessWatch: Service {
    /// How often a difference is logged.
    private static let pauseBetweenReports = Duration.seconds(60)

    let membership: Membership
    let facts: OwnFacts
    let news: CatalogNews
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            var nextReport = ContinuousClock.now
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                facts.update { $0.catalog = news.state.digest }
                if .now >= nextReport, reportOtherCatalog() { nextReport = .now + Self.pauseBetweenReports }
            }
        }
    }

    /// Logs that an older process has other catalog files. Returns false when none has.
    private func reportOtherCatalog() -> Bool {
        guard let other = ProcessState(membership, own: facts.value).otherCatalog else { return false }
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
