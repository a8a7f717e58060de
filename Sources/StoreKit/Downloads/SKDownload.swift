import Foundation

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

/// Content of a product that the store hosts. Downloads compare by identity.
///
/// The store hosts no content yet: no product is downloadable, the queue makes no downloads, and what an app (or a
/// test) makes itself stays as its overridden properties say.
// @unchecked: nothing is stored.
open class SKDownload: NSObject, @unchecked Sendable {
    /// An empty download that waits, for subclasses in tests.
    public override init() { super.init() }

    /// Where it stands.
    open var state: SKDownloadState { .waiting }
    /// The older name of ``state`` (iOS 6 to 12).
    open var downloadState: SKDownloadState { state }
    /// The older name of ``expectedContentLength`` (iOS 6 to 13).
    open var contentLength: Int64 { expectedContentLength }
    /// How long the content is, in bytes.
    open var expectedContentLength: Int64 { 0 }
    /// The identifier of the product whose content it is.
    open var contentIdentifier: String { "" }
    /// The content's version, such as `1.0`.
    open var contentVersion: String { "" }
    /// The folder of the content, only when it is finished; move it before the transaction is finished.
    open var contentURL: URL? { nil }
    /// Why it failed; nil in every other state.
    open var error: (any Error)? { nil }
    /// How much of it came, from 0 to 1.
    open var progress: Float { 0 }
    /// The seconds that it will take, or ``SKDownloadTimeRemainingUnknown``.
    open var timeRemaining: TimeInterval { SKDownloadTimeRemainingUnknown }
    /// The transaction that bought the content.
    open var transaction: SKPaymentTransaction { SKPaymentTransaction() }

    /// Where this device keeps the content of a product, as on macOS; nil when it keeps none.
    open class func contentURL(forProductID productID: String) -> URL? { nil }

    /// Deletes the content of a product that this device keeps, as on macOS.
    open class func deleteContent(forProductID productID: String) {}
}
