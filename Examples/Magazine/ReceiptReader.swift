import Foundation
import PurchaseVault
import StoreKit
import StoreReceipts

/// Reads this device's receipt, and verifies it: its signature, the app and the device.
public struct ReceiptReader: Sendable {
    private static let most = 16 << 20

    private let file: URL
    private let verifier: ReceiptVerifier
    private let expectation: ReceiptExpectation

    /// Why the receipt says nothing.
    public struct Problem: LocalizedError, Equatable {
        /// The reason, for the reader.
        public var text: String
        /// ``text``.
        public var errorDescription: String? { text }
    }

    /// Creates a reader. A vault's configuration has the places and the device's identifier that this needs.
    ///
    /// - Throws: ``Problem`` or ``VaultError`` when the configuration has no root certificates or is incomplete.
    public init(_ configuration: StoreKitConfiguration) throws {
        let places = try VaultConfiguration(storeKit: configuration, grants: [:], now: { Date() })
        file = places.receiptURL
        guard !places.roots.isEmpty else {
            throw Problem(text: "no root certificate of the store is known; set CORNERSTORE_ROOTS or CORNERSTORE_DATA")
        }
        verifier = try ReceiptVerifier(roots: places.roots.map { [UInt8](try Data(contentsOf: $0)) })
        expectation = ReceiptExpectation(
            bundleID: places.bundleIdentifier,
            deviceIdentifier: withUnsafeBytes(of: places.deviceIdentifier.uuid) { Array($0) })
    }

    /// The receipt's bytes; nil when there is none.
    public var bytes: Data? {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        guard let bytes = try? handle.read(upToCount: Self.most + 1), bytes.count <= Self.most else { return nil }
        return bytes
    }

    /// Reads the subscription's status; nil without a subscription.
    ///
    /// The device's clock may be wrong, so the time is at least the receipt's own date.
    /// - Throws: ``Problem`` when the receipt is not genuine.
    public func status(at now: Date) async throws -> ReceiptStatus? {
        guard let bytes else { return nil }
        switch await verifier.verify([UInt8](bytes), expecting: expectation) {
        case .rejected(let rejection): throw Problem(text: "The receipt is not valid. (\(rejection.detail))")
        case .verified(let verified):
            return ReceiptStatus(verified.receipt.inApp, at: max(now, verified.receipt.creationDate))
        }
    }
}
