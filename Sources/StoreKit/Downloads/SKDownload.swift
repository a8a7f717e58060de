import Foundation
import StoreWire
import Synchronization

// Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The value of ``SKDownload/timeRemaining`` while the time cannot be estimated: -1, as Apple documents it.
public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// The state of a download.
public enum SKDownloadState: Int, Sendable {
    /// The download has not started.
    case waiting = 0
    /// The download is running.
    case active = 1
    /// The app paused the download, and can resume it.
    case paused = 2
    /// The download is complete; the content is at ``SKDownload/contentURL``.
    case finished = 3
    /// The download failed; ``SKDownload/error`` has the reason.
    case failed = 4
    /// The app cancelled the download.
    case cancelled = 5
}

// @unchecked: `record` is a Mutex, and all else is constant.
/// The download of a product's content, hosted by the store. The object stays the same while its transaction is in the
/// queue, and downloads compare by identity. Its state changes on the callback queue, right before the queue calls the
/// observers.
open class SKDownload: NSObject, @unchecked Sendable {
    struct Record: Sendable {
        var productIdentifier = ""
        var version = ""
        var length: Int64 = 0
        var state = SKDownloadState.waiting
        var progress: Float = 0
        var timeRemaining: TimeInterval?
        var error: SKError?
        var contentURL: URL?
        /// The transaction; nil once it has left the queue and the app no longer retains it.
        var transaction: SKPaymentTransaction?
    }

    /// The identifier of the transaction; nil when no queue created the download.
    final let id: TransactionID?
    private let record: Mutex<Record>

    /// Creates an empty, waiting download, for subclasses in tests.
    public override init() {
        id = nil
        record = Mutex(Record())
        super.init()
    }

    init(_ id: TransactionID, _ record: Record) {
        self.id = id
        self.record = Mutex(record)
        super.init()
    }

    final func become(_ new: Record) {
        record.withLock { record in
            let transaction = record.transaction
            record = new
            record.transaction = transaction
        }
    }

    final func belong(to transaction: SKPaymentTransaction) { record.withLock { $0.transaction = transaction } }

    /// The state of the download.
    open var state: SKDownloadState { record.withLock { $0.state } }
    /// The older name of ``state`` (iOS 6 to 12).
    open var downloadState: SKDownloadState { state }
    /// The older name of ``expectedContentLength`` (iOS 6 to 13).
    open var contentLength: Int64 { expectedContentLength }
    /// The size of the package to download, in bytes.
    open var expectedContentLength: Int64 { record.withLock { $0.length } }
    /// The identifier of the product.
    open var contentIdentifier: String { record.withLock { $0.productIdentifier } }
    /// The content's version, such as `1.0`.
    open var contentVersion: String { record.withLock { $0.version } }
    /// The folder of the content, with `ContentInfo.plist` and `Contents/`; nil until the download is finished. It is
    /// in the app's caches: copy or move it before you finish the transaction (``ContentShelf``).
    open var contentURL: URL? { record.withLock { $0.contentURL } }
    /// The reason for the failure, an ``SKError``; nil in every other state. `NSUnderlyingErrorKey` has
    /// `CocoaError.fileWriteOutOfSpace` for a full disk, `CocoaError.fileWriteUnknown` for a file that cannot be
    /// written or read, and `CocoaError.fileReadCorruptFile` for damaged content.
    open var error: (any Error)? { record.withLock { $0.error } }
    /// The received part of the package, from 0 to 1. At 1 the package is still to be unpacked; ``state`` tells when
    /// the download is finished.
    open var progress: Float { record.withLock { $0.progress } }
    /// The estimated seconds until the package is received, or ``SKDownloadTimeRemainingUnknown``.
    open var timeRemaining: TimeInterval { record.withLock { $0.timeRemaining } ?? SKDownloadTimeRemainingUnknown }
    /// The transaction of the purchase.
    open var transaction: SKPaymentTransaction { record.withLock { $0.transaction } ?? SKPaymentTransaction() }

    /// The folder of a product's content on this device, in its highest version, as on macOS; nil when there is none.
    /// StoreKit keeps the content until the transaction is finished and the app is launched again, or longer if
    /// ``StoreKitConfiguration/keepsContent`` is true.
    open class func contentURL(forProductID productID: String) -> URL? {
        StoreKitEngine.shared.downloads?.content(of: ProductID(productID))
    }

    /// Deletes all content of a product on this device, as on macOS.
    open class func deleteContent(forProductID productID: String) {
        StoreKitEngine.shared.downloads?.deleteContent(of: ProductID(productID))
    }
}
