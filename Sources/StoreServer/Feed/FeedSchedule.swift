import Logging
import ServiceLifecycle
import Store

/// Builds feeds when they are due by the store's clock. Of several processes that are to build the feeds, one does.
struct FeedSchedule: Service {
    let desk: FeedDesk
    /// The claims of the processes that share the store; nil for a store of one process.
    var claims: Claims?
    let logger: Logger
    /// How long to wait after a build that failed.
    var pause = Duration.seconds(600)

    func run() async throws {
        // A build can take longer than the claim lasts, so the claim is kept beside it.
        let claim = claims.map { KeptClaim($0, "feed", seconds: 60) }
        await cancelWhenGracefulShutdown {
            await withTaskCancellationHandler {
                await withDiscardingTaskGroup { group in
                    if let claim {
                        group.addTask {
                            await claim.keep {
                                logger.warning("another process builds the feeds; this process waits")
                            }
                        }
                    }
                    await build(under: claim)
                    group.cancelAll()
                }
            } onCancel: {
                desk.stop()
            }
        }
    }

    /// Builds what is due while this process has the claim, until the task is cancelled.
    private func build(under claim: KeptClaim?) async {
        var next = ContinuousClock.now
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            guard .now >= next, claim?.isHeld ?? true, !desk.state.isBuilding, let due = desk.due() else { continue }
            do {
                Self.log(.success(try await desk.build(due.mode, day: due.day)), logger)
            } catch {
                Self.log(.failure(error), logger)
                next = .now + pause
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
