import Logging
import ServiceLifecycle
import Store

/// Builds feeds when they are due by the store's clock.
struct FeedSchedule: Service {
    let desk: FeedDesk
    let logger: Logger
    /// How long to wait after a build that failed.
    var pause = Duration.seconds(600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskCancellationHandler {
                var next = ContinuousClock.now
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    guard .now >= next, !desk.state.isBuilding, let due = desk.due() else { continue }
                    do {
                        Self.log(.success(try await desk.build(due.mode, day: due.day)), logger)
                    } catch {
                        Self.log(.failure(error), logger)
                        next = .now + pause
                    }
                }
            } onCancel: {
                desk.stop()
            }
        }
    }

    /// Logs how a build ended.
    static func log(_ result: Result<FeedBuild, any Error>, _ logger: Logger) {
        switch result {
        case .success(let build):
            logger.notice(
                "feed built",
                metadata: [
                    "mode": "\(build.mode.rawValue)", "day": "\(build.day)", "items": "\(build.items)",
                    "bytes": "\(build.bytes)", "prices-left-out": "\(build.pricesLeftOut)",
                ])
        case .failure(is CancellationError): break
        case .failure(let error):
            logger.error(
                "feed not built, the previous one stays in use",
                metadata: ["problem": "\((error as? StoreError)?.detail ?? "\(error)")"])
        }
    }
}
