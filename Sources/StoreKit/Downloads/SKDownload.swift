import Foundation
import StoreWire
import Synchronization

/// What ``SKDownload/timeRemaining`` is while it cannot be told: -1, as Apple documents it.
// Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// Where a download stands.
public enum SKDownloadState: Int, Sendable {
    /// Not begun yet.
    case waiting = 0
    /// Bytes are coming.
    case active = 1
    /// Stopped by the app; goes on when it is told to resume.
    case paused = 2
    /// The content is at ``SKDownload/contentURL``.
    case finished = 3
    /// ``SKDownload/error`` says why.
    case failed = 4
    /// Given up by the app.
    case cancelled = 5
}

/// Content of a product that the store hosts. A transaction has the same object for as long as it is in the queue;
/// downloads compare by identity. It changes on the callback queue, right before the observers are told.
// @unchecked: `record` is a Mutex, and all else is constant.
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
        /// Nil once the transaction has left the queue and the app holds it no more.
        var transaction: SKPaymentTransaction?
    }

    /// The transaction's id; nil when no queue made the download.
    final let id: TransactionID?
    private let record: Mutex<Record>

    /// An empty download that waits, for subclasses in tests.
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

    /// Where it stands.
    open var state: SKDownloadState { record.withLock { $0.state } }
    /// The older name of ``state`` (iOS 6 to 12).
    open var downloadState: SKDownloadState { state }
    /// The older name of ``expectedContentLength`` (iOS 6 to 13).
    open var contentLength: Int64 { expectedContentLength }
    /// How long the content is, in bytes of the package to download.
    open var expectedContentLength: Int64 { record.withLock { $0.length } }
    /// The identifier of the product whose content it is.
    open var contentIdentifier: String { record.withLock { $0.productIdentifier } }
    /// The content's version, such as `1.0`.
    open var contentVersion: String { record.withLock { $0.version } }
    /// The folder of the content, with `ContentInfo.plist` and `Contents/`, only when it is finished. It is in the app's
    /// caches: copy or move it before the transaction is finished (``ContentShelf``).
    open var contentURL: URL? { record.withLock { $0.contentURL } }
    /// Why it failed, an ``SKError``; nil in every other state. A full disk is `CocoaError.fileWriteOutOfSpace` under
    /// `NSUnderlyingErrorKey`, damaged content `CocoaError.fileReadCorruptFile`.
    open var error: (any Error)? { record.withLock { $0.error } }
    /// How much of it came, from 0 to 1. 1 is not the end: it is unpacked then, and ``state`` says when that is done.
    open var progress: Float { record.withLock { $0.progress } }
    /// The seconds that it will take, or ``SKDownloadTimeRemainingUnknown``.
    open var timeRemaining: TimeInterval { record.withLock { $0.timeRemaining } ?? SKDownloadTimeRemainingUnknown }
    /// The transaction that bought the content.
    open var transaction: SKPaymentTransaction { record.withLock { $0.transaction } ?? SKPaymentTransaction() }

    /// Where this device keeps the content of a product, in the highest version, as on macOS; nil when it keeps none. It
    /// keeps it while its transaction is not finished, and after that until the app is launched again
    /// (``StoreKitConfiguration/keepsContent``).
    open class func contentURL(forProductID productID: String) -> URL? {
        StoreKitEngine.shared.downloads?.content(of: ProductID(productID))
    }

    /// Deletes the content of a product that this device keeps, as on macOS.
    open class func deleteContent(forProductID productID: String) {
        StoreKitEngine.shared.downloads?.deleteContent(of: ProductID(productID))
    }
}
