import Foundation
import StoreKit
import StoreWire

/// Which merchant the client speaks to, for whom, and where it keeps its files.
public struct MerchantClientConfiguration: Sendable {
    /// When a StoreKit transaction is finished whose product gives content.
    public enum Finishing: Sendable, Hashable {
        /// When the merchant has confirmed it and the content is on the disk. Until then StoreKit tells it anew at each
        /// launch.
        case afterDelivery
        /// As soon as the merchant has confirmed it. The content comes later, by what the merchant's books say; what is due
        /// is written down first.
        case afterRedemption
    }

    /// What is shown to the merchant for a purchase.
    public enum Evidence: Sendable, Hashable {
        /// The app's receipt, which redeems all that it speaks of; the transaction's own while there is none.
        case appReceipt
        /// The transaction's own receipt (iOS 6), which is small however much was bought, and the app's for those that have
        /// none, such as restored ones. The merchant has to know the certificates that it is signed with.
        case transactionReceipt
    }

    /// The merchant's base URL: `https`, or `http` on this machine.
    public var merchant: URL
    /// The app whose products are asked for.
    public var bundleIdentifier: String
    /// Where what was begun, the product list and the content are kept; made with mode 0700, for one process at a time.
    public var folder: URL
    /// Where the app's receipt lies; nil when there is none to be had.
    public var receiptURL: URL?
    /// Gives the user's token, from the app's own sign-in. It is asked once, and then again with the token that the merchant
    /// did not take.
    ///
    /// A `URLError`, or a ``MerchantClientError`` with the code `unreachable`, means that the token cannot be had now: what
    /// needs it is tried again, as when the merchant cannot be reached. Any other error means that nobody is signed in.
    public var token: @Sendable (_ refused: String?) async throws -> String
    /// Whose balances are read, spent and listed; nil for those that the merchant takes as usual.
    /// ``init(merchant:storeKit:token:)`` takes the one in which StoreKit buys.
    public var environment: StoreEnvironment?
    /// When a StoreKit transaction whose product gives content is finished.
    public var finishing = Finishing.afterDelivery
    /// Which receipt is sent to the merchant for a purchase.
    public var evidence = Evidence.appReceipt
    /// Allows `http` to another machine, where anybody between can read the user's token. For networks of one's own.
    public var allowsCleartext = false
    /// How many downloads run at once; at least 1.
    public var simultaneousDownloads = 3
    /// Is told what happens, in order, on whatever thread. It should be quick.
    public var onEvent: @Sendable (MerchantEvent) -> Void = { _ in }
    /// Spreads retries: gives numbers from 0 up to 1.
    package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Waits for so many seconds. A boundary, so that tests need not wait.
    package var wait: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
    /// Is told of every step before it is taken; what it throws ends the client there, as a crash would.
    package var onStep: @Sendable (RedemptionStep) throws -> Void = { _ in }

    /// A configuration with nothing but these; the rest can be set after.
    public init(
        merchant: URL, bundleIdentifier: String, folder: URL,
        token: @escaping @Sendable (_ refused: String?) async throws -> String
    ) {
        self.merchant = merchant
        self.bundleIdentifier = bundleIdentifier
        self.folder = folder
        self.token = token
    }

    /// The client of an app on this device as StoreKit is configured, in the device's folder.
    ///
    /// - Parameters:
    ///   - merchant: The merchant's base URL.
    ///   - storeKit: What StoreKit uses: ``StoreKitConfiguration/current`` unless the program has it at hand.
    ///   - token: Gives the user's token, as ``token`` says.
    /// - Throws: ``MerchantClientError`` `notConfigured` without a bundle identifier.
    public init(
        merchant: URL, storeKit: StoreKitConfiguration,
        token: @escaping @Sendable (_ refused: String?) async throws -> String
    ) throws(MerchantClientError) {
        guard let bundleIdentifier = storeKit.bundleIdentifier, let folder = storeKit.appFolder(in: "merchants") else {
            throw MerchantClientError(
                .notConfigured, "the merchant's client needs a bundle identifier: set CORNERSTORE_BUNDLE_ID")
        }
        self.init(
            merchant: merchant, bundleIdentifier: bundleIdentifier,
            folder: folder.appendingPathComponent(storeKit.environment.name, isDirectory: true), token: token)
        receiptURL = storeKit.receiptURL
        environment = storeKit.environment
    }
}
