import Foundation
import StoreWire
import Synchronization

/// The configuration of StoreKit: the store, the app and the device.
///
/// StoreKit reads it once, at its first use: the configuration passed to ``use(_:)``, else the one of
/// ``init(environment:executable:)``.
public struct StoreKitConfiguration: Sendable {
    /// The store's base URL, `http` or `https`. If it is nil, every request fails with "Cannot connect to iTunes
    /// Store".
    public var store: URL?
    /// The base URL of the storefront, with its search and the items' pages, for apps that use them; nil when it is
    /// not known. StoreKit itself does not use it.
    public var storefront: URL?
    /// The environment of the store. It determines the names of the receipt's file and the journal.
    public var environment: StoreEnvironment
    /// DER files of the root certificates that app receipts must chain to. If it is empty, StoreKit does not check
    /// receipts.
    public var roots: [URL]
    /// The device's folder, with its identifiers and account tokens, and a journal and the receipt of each app.
    /// StoreKit creates it with mode 0700.
    public var deviceFolder: URL
    /// The app's bundle identifier. If it is nil, every request fails as without a store.
    public var bundleIdentifier: String?
    /// `CFBundleVersion`, which the receipt contains.
    public var bundleVersion: String
    /// The customer's languages, best first.
    public var languages: [String]
    /// The payment sheet, which asks the customer.
    public var sheet: any PaymentSheet
    /// The presenter of product pages and review requests.
    public var presenter: any StorePresenter
    /// Whether this program allows purchases. If it is false, `canMakePayments()` is false, and payments fail with
    /// `paymentNotAllowed`. ``DeviceRestrictions`` apply to all programs.
    public var allowsPayments: Bool
    /// A link `itms-services://?action=purchaseIntent&…` that opened the app. The queue asks the observers about its
    /// product when the app adds the first observer.
    public var purchaseIntent: URL?
    /// The most downloads of hosted content that run at once, at least 1. Other downloads wait.
    public var simultaneousDownloads = 3
    /// Whether content stays in the app's caches after the app finished its transaction. As on macOS, it then stays
    /// available to ``SKDownload/contentURL(forProductID:)`` until ``SKDownload/deleteContent(forProductID:)``.
    /// Otherwise StoreKit removes it at the app's next launch; iOS may do so at any time.
    public var keepsContent = false
    /// The queue on which StoreKit calls observers and delegates.
    public var callbackQueue: DispatchQueue
    /// Receives failures that no API can report, such as an unreadable journal or a refused receipt. The messages are
    /// in English and contain no secrets. StoreKit also writes to standard error when the configuration cannot work.
    public var diagnostics: @Sendable (String) -> Void
    /// Receives failures that delay the delivery of paid purchases and of refunds, instead of ``diagnostics``.
    var alarm: (@Sendable (String) -> Void)?
    /// Receives the reasons why the configuration cannot work, instead of ``diagnostics`` and standard error.
    var complain: (@Sendable (String) -> Void)?
    /// Whether the reason for a missing store was reported already.
    var isMissingStoreSaid = false
    /// Receives every step of the queue, on the thread that performs it, and may end the process. For crash tests.
    package var onStep: (@Sendable (PaymentQueueStep) -> Void)?
    /// Called before the queue delivers a purchase that this process added, on the thread that performs it. It may end
    /// the process.
    package var beforeGrant: (@Sendable () -> Void)?
    /// Receives every step of the downloads, as ``onStep`` does for the queue.
    package var onDownloadStep: (@Sendable (DownloadMoment) -> Void)?
    /// A factor for the delays before retries. For crash tests.
    package var retryPace = 1.0
    /// Whether a request waits at the store for renewals and other news while the app observes. Tests that count the
    /// requests of an app turn it off.
    package var watchesStore = true

    /// Creates a configuration with default values for all other properties, which can be set afterwards.
    public init(store: URL?, bundleIdentifier: String?, deviceFolder: URL, sheet: any PaymentSheet) {
        self.store = store
        self.bundleIdentifier = bundleIdentifier
        self.deviceFolder = deviceFolder
        self.sheet = sheet
        presenter = TerminalStorePresenter()
        environment = .sandbox
        roots = []
        bundleVersion = "1"
        languages = ["en"]
        allowsPayments = true
        callbackQueue = .main
        diagnostics = { _ in }
    }

    /// Reports why the configuration cannot work.
    func say(problem line: String) {
        if let complain { return complain(line) }
        diagnostics(line)
        Self.writeToStandardError(line)
    }

    static func writeToStandardError(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("StoreKit: \(line)\n".utf8))
    }

    /// Sets StoreKit's configuration for this process. Call it before any other StoreKit API.
    ///
    /// - Throws: ``StoreKitConfigurationError`` when StoreKit is already configured or in use.
    public static func use(_ configuration: StoreKitConfiguration) throws {
        try chosen.withLock { state in
            guard case .open = state else {
                throw StoreKitConfigurationError(
                    code: .alreadyInUse,
                    detail: "StoreKit is already configured or in use; set the configuration once, before first use")
            }
            state = .set(configuration)
        }
    }

    private enum Choice {
        case open
        case set(StoreKitConfiguration)
        case inUse(StoreKitConfiguration)
    }

    private static let chosen = Mutex(Choice.open)

    /// The configuration of the process: the one passed to ``use(_:)``, else the one of the environment variables.
    /// Reading it fixes the configuration.
    public static var current: StoreKitConfiguration { settle() }

    /// Fixes and returns the configuration of the process.
    static func settle() -> StoreKitConfiguration {
        chosen.withLock { state in
            let settled: StoreKitConfiguration =
                switch state {
                case .inUse(let configuration), .set(let configuration): configuration
                case .open:
                    StoreKitConfiguration(
                        environment: ProcessInfo.processInfo.environment, executable: Bundle.main.executableURL)
                }
            state = .inUse(settled)
            return settled
        }
    }
}

/// The reason why StoreKit refused a configuration.
public struct StoreKitConfigurationError: LocalizedError, Equatable, CustomStringConvertible {
    /// The kinds of refusal.
    public enum Code: String, Sendable {
        /// StoreKit is already configured or in use.
        case alreadyInUse
    }

    /// The kind of refusal.
    public var code: Code
    /// The problem, and how to fix it.
    public var detail: String
    /// ``detail``.
    public var description: String { detail }
    /// ``detail``, which is also `localizedDescription`.
    public var errorDescription: String? { detail }
}
