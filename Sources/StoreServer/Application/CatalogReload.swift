import Logging
import ServiceLifecycle
import Store

/// Looks once a second whether a catalog file changed, and takes it in. A file that has become bad leaves the old catalog in place and is told of in
/// the log.
struct CatalogReload: Service {
    var watcher: CatalogWatcher
    let catalog: CurrentCatalog
    let logger: Logger
    /// Called with the new catalog before it takes the old one's place.
    let prepare: @Sendable (Catalog) async throws -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reload = self
            while (try? await Task.sleep(for: .seconds(1))) != nil { await reload.look() }
        }
    }

    /// Takes the files in if one changed since the last look.
    mutating func look() async {
        switch watcher.reload() {
        case .unchanged: return
        case .failed(let error): report(error)
        case .loaded(let new, let notes):
            do {
                try await prepare(new)
                catalog.replace(with: new)
                logger.notice("catalog taken in again", metadata: ["apps": "\(new.apps.count)", "notes": "\(notes)"])
            } catch {
                report(error)
            }
        }
    }

    private func report(_ error: any Error) {
        logger.error("catalog file not taken in, the old one stays", metadata: ["problem": "\(error)"])
    }
}
