import BlobStorage
import Logging
import ServiceLifecycle
import Store

/// Deletes the bytes of packages and files that nothing uses, and that were not deleted at once.
struct BlobSweep: Service {
    let library: ContentLibrary
    let logger: Logger
    /// How often it looks.
    var pause = Duration.seconds(60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: pause)) != nil {
                do {
                    try await library.removeDeadBlobs()
                } catch {
                    logger.warning(
                        "unused packages not deleted, they stay until the next time",
                        metadata: ["problem": "\((error as? BlobError)?.detail ?? "\(error)")"])
                }
            }
        }
    }
}
