import StoreKit

/// Where the app kills itself: the `count`th time, in one launch, that it comes to a point.
public struct KillPoint: Sendable, Hashable {
    /// A step of the queue (``PaymentQueueStep/name``), of the downloads (``DownloadMoment/name``) or one of ``App``.
    public var name: String
    /// Counted from 1.
    public var count: Int

    /// The app's own points.
    public enum App: String, Sendable, CaseIterable {
        /// The queue is there; no observer yet.
        case launched = "app-launched"
        /// A payment was added.
        case added = "app-added"
        /// A transaction was told and nothing done.
        case beforeGrant = "app-before-grant"
        /// Delivered, and not finished.
        case afterGrant = "app-after-grant"
        case afterFinish = "app-after-finish"
        /// The queue said that a transaction is gone.
        case removed = "app-removed"
        /// All is bought and finished; a restore, if wanted, has not begun.
        case drained = "app-drained"
        /// A restore was asked for.
        case restoring = "app-restoring"
        case restored = "app-restored"
    }

    /// Creates a kill point.
    public init(name: String, count: Int) {
        self.name = name
        self.count = count
    }

    /// `NAME:COUNT`, as in the environment; nil for anything else.
    public init?(text: String) {
        guard let match = text.wholeMatch(of: /([a-z-]+):([0-9]{1,4})/), let count = Int(match.2), count > 0 else {
            return nil
        }
        self.init(name: String(match.1), count: count)
    }

    /// `NAME:COUNT`, as ``init(text:)`` reads it.
    public var text: String { "\(name):\(count)" }

    /// The names of all points.
    public static var allNames: [String] {
        PaymentQueueStep.Action.allCases.flatMap { action in
            PaymentQueueStep.Moment.allCases.map { PaymentQueueStep($0, action).name }
        } + App.allCases.map(\.rawValue) + downloadNames
    }

    /// The names of those that only an app with hosted content comes to.
    public static var downloadNames: [String] { DownloadMoment.allCases.map(\.name) }
}
