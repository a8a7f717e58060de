import ContentPackages
import Foundation
import StoreWire
import Synchronization

/// Unpacks a package to the folder of its content.
struct ContentUnpacking: Sendable {
    /// The result of unpacking.
    enum Result: Sendable, Equatable {
        /// The content is in its folder. Its `ContentInfo.plist` has this product and version.
        case unpacked(productID: String, version: String)
        case damaged(String)
        case noSpace
        case unwritable(String)
        case cancelled
    }

    /// Unpacks a package to a folder that does not exist yet, completely or not at all.
    typealias Unpack =
        @Sendable (
            _ package: URL, _ folder: URL, _ unpackedLength: Int64, _ isCancelled: @escaping @Sendable () -> Bool
        ) -> Result

    private static let work = DispatchQueue(label: "StoreKit.unpacking", attributes: .concurrent)

    let files: DownloadFiles
    let entry: DownloadEntry
    let content: GrantedContent
    let unpack: Unpack
    /// Called each time the unpacking checks for cancellation. For tests.
    var onStep: (@Sendable (DownloadMoment) -> Void)?

    /// Unpacks the download's package, off the threads that tasks share. Nil when the task was cancelled.
    func run() async -> DownloadStateMachine.Outcome? {
        let isCancelled = Mutex(false)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Self.work.async {
                    let (package, folder) = (files.package(of: entry.id), files.content(of: entry))
                    // A folder of another version, or of a run that ended before it was recorded.
                    try? FileManager.default.removeItem(at: folder)
                    continuation.resume(
                        returning: unpack(package, folder, content.unpackedLength) {
                            onStep?(.unpacking)
                            return isCancelled.withLock { $0 }
                        })
                }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
        let outcome = outcome(of: result)
        switch result {
        case .unpacked, .damaged:
            if outcome != .finished { files.discard(entry) }
        // The package stays, so that a retry with more free space need not download it again.
        case .noSpace, .unwritable, .cancelled: break
        }
        return outcome
    }

    private func outcome(of result: Result) -> DownloadStateMachine.Outcome? {
        switch result {
        case .unpacked(entry.productID.rawValue, content.version): return .finished
        case .unpacked(let product, let version):
            return .failed(.damaged("Expected \(entry.productID) \(content.version), found \(product) \(version)."))
        case .damaged(let reason): return .failed(.damaged(reason))
        case .noSpace: return .failed(.noSpace)
        case .unwritable(let reason): return .failed(.contentFile(reason))
        case .cancelled: return nil
        }
    }
}
