import Foundation
import StoreWire
import Synchronization

/// Which store the device speaks to, and as which app. Read once, at the first use of StoreKit: what ``use(_:)`` was
/// given, else what ``init(environment:executable:)`` finds.
public struct StoreKitConfiguration: Sendable {
    /// The store's base URL, `http` or `https`. Nil: every request fails with "Cannot connect to iTunes Store".
    public var store: URL?
    /// Which of the store's environments that is; it names the receipt's file and the journal.
    public var environment: StoreEnvironment
    /// DER files of the root certificates that app receipts must chain to. Empty: receipts are kept unchecked.
    public var roots: [URL]
    /// The device's folder: its ids, account tokens, and for each app a journal and the receipt. Made with mode 0700.
    public var deviceFolder: URL
    /// The app's reverse-DNS name. Nil: as without a store.
    public var bundleIdentifier: String?
    /// `CFBundleVersion`, which the receipt carries.
    public var bundleVersion: String
    /// The customer's languages, best first.
    public var languages: [String]
    /// Asks the customer.
    public var sheet: any PaymentSheet
    /// Shows product pages and asks for reviews.
    public var presenter: any StorePresenter
    /// False when the program restricts the device from buying (``DeviceRestrictions`` do so for all programs):
    /// `canMakePayments()` is false, and payments fail with
    /// `paymentNotAllowed`.
    public var allowsPayments: Bool
    /// A link `itms-services://?action=purchaseIntent&…` that opened the app: observers are asked about its product when
    /// the first is added.
    public var purchaseIntent: URL?
    /// How many downloads of hosted content run at once; at least 1. The others wait for their turn.
    public var simultaneousDownloads = 3
    /// Whether content stays in the app's caches after its transaction was finished, for
    /// ``SKDownload/contentURL(forProductID:)``, until ``SKDownload/deleteContent(forProductID:)``, as on macOS. Else it is
    /// removed when the app is next launched, as iOS may do at any time.
    public var keepsContent = false
    /// Where observers and delegates are called.
    public var callbackQueue: DispatchQueue
    /// Is told, in English and without secrets, of what no API can report: a journal that cannot be read, a receipt
    /// refused. A configuration with which nothing works is written to standard error as well.
    public var diagnostics: @Sendable (String) -> Void
    /// Is told instead of ``diagnostics`` of what keeps paid purchases from being delivered.
    var alarm: (@Sendable (String) -> Void)?
    /// Is told instead of ``diagnostics`` and standard error why nothing works with this configuration.
    var complain: (@Sendable (String) -> Void)?
    /// Whether somebody was told already why there is no store.
    var isMissingStoreSaid = false
    /// Is told of every step of the queue, on whatever thread takes it, and may end the process. For tests of crashes.
    package var onStep: (@Sendable (PaymentQueueStep) -> Void)?
    /// As ``onStep``, of the downloads.
    package var onDownloadStep: (@Sendable (DownloadMoment) -> Void)?
    /// What the delays before retries are multiplied by. For tests of crashes.
    package var retryPace = 1.0

    /// A configuration with nothing but these; the rest can be set after.
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

    /// Says why nothing works with this configuration.
    func say(problem line: String) {
        if let complain { return complain(line) }
        diagnostics(line)
        Self.writeToStandardError(line)
    }

    static func writeToStandardError(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("StoreKit: \(line)\n".utf8))
    }

    /// Sets what StoreKit uses in this process. Call it before anything else of StoreKit.
    ///
    /// - Throws: ``StoreKitConfigurationError`` when StoreKit is in use already.
    public static func use(_ configuration: StoreKitConfiguration) throws {
        try chosen.withLock { state in
            guard case .open = state else {
                throw StoreKitConfigurationError(
                    code: .alreadyInUse,
                    detail: "StoreKit was configured or used before; set its configuration first, and once")
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

    /// The configuration of the process: what ``use(_:)`` was given, else what the environment says. From now on it
    /// is fixed.
    public static var current: StoreKitConfiguration { settle() }

    /// The configuration of the process, from now on fixed.
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

/// Why a configuration was not taken.
public struct StoreKitConfigurationError: LocalizedError, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// StoreKit was configured or used already.
        case alreadyInUse
    }

    public var code: Code
    public var detail: String
    public var description: String { detail }
    public var errorDescription: String? { detail }
}
