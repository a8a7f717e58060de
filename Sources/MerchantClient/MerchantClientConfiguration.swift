import Foundation
import StoreKit
import StoreWire

/// The merchant's address, the user's token and the files of a client.
public struct MerchantClientConfiguration: Sendable {
    /// The time at which a StoreKit transaction whose product grants content is finished.
    public enum Finishing: Sendable, Hashable {
        /// After the merchant has confirmed the transaction and the content is on the disk. Until then, StoreKit
        /// reports the transaction at each launch.
        case afterDelivery
        /// As soon as the merchant has confirmed the transaction. The client saves the pending downloads first and
        /// completes them later.
        case afterRedemption
    }

    /// The evidence that the client sends for a purchase.
    public enum Evidence: Sendable, Hashable {
        /// The app's receipt, which redeems all of its purchases; the transaction's own receipt while there is no app
        /// receipt.
        case appReceipt
        /// The transaction's own receipt (iOS 6), which is small regardless of earlier purchases; the app's receipt for
        /// a transaction without one, such as a restored transaction. The merchant must know the certificates that
        /// signed it.
        case transactionReceipt
    }

    /// The merchant's base URL: `https`, or `http` for this machine.
    public var merchant: URL
    /// The bundle identifier of the app whose products are requested.
    public var bundleIdentifier: String
    /// The folder for unfinished work, the product list and content. It is created with mode 0700 and used by one
    /// process at a time.
    public var folder: URL
    /// The file with the app's receipt; nil when there is none.
    public var receiptURL: URL?
    /// Returns the user's token from the app's own sign-in. It is called once, and again with the refused token after
    /// the merchant has refused one.
    ///
    /// A `URLError`, or a ``MerchantClientError`` with the code `unreachable`, means that the token is temporarily
    /// unavailable: the work is retried as if the merchant were unreachable. Any other error means that nobody is
    /// signed in.
    public var token: @Sendable (_ refused: String?) async throws -> String
    /// The environment of the balances that the client reads and spends; nil for the merchant's default environment.
    /// ``init(merchant:storeKit:token:)`` uses StoreKit's environment.
    public var environment: StoreEnvironment?
    /// When a StoreKit transaction whose product gives content is finished.
    public var finishing = Finishing.afterDelivery
    /// Which receipt is sent to the merchant for a purchase.
    public var evidence = Evidence.appReceipt
    /// Whether `http` to another machine is allowed. Anybody on the network path can then read the user's token. For
    /// private networks only.
    public var allowsCleartext = false
    /// The number of simultaneous downloads, at least 1.
    public var simultaneousDownloads = 3
    /// Called with each event, in order, on any thread. It should return quickly.
    public var onEvent: @Sendable (MerchantEvent) -> Void = { _ in }
    /// Returns numbers from 0 up to but not including 1, which spread retries.
    package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Waits for a number of seconds. Tests replace it.
    package var wait: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
    /// Called before every step. An error that it throws stops the client there, as a crash would.
    package var onStep: @Sendable (RedemptionStep) throws -> Void = { _ in }

    /// Creates a configuration with defaults for the other properties.
    public init(
        merchant: URL, bundleIdentifier: String, folder: URL,
        token: @escaping @Sendable (_ refused: String?) async throws -> String
    ) {
        self.merchant = merchant
        self.bundleIdentifier = bundleIdentifier
        self.folder = folder
        self.token = token
    }

    /// Creates a configuration from StoreKit's configuration, with a folder inside the device's folder.
    ///
    /// - Parameters:
    ///   - merchant: The merchant's base URL.
    ///   - storeKit: The configuration of StoreKit, such as ``StoreKitConfiguration/current``.
    ///   - token: Returns the user's token, as described at ``token``.
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
