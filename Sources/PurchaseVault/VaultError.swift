import Foundation

/// The reason why a vault's operation failed. It never contains a key, receipt or token.
public struct VaultError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The configuration lacks a bundle identifier or a root certificate, or a certificate cannot be read.
        case notConfigured
        /// Another process of the app, or another vault in this one, holds the vault.
        case inUse
        /// The vault was closed.
        case closed
        /// A file or folder cannot be read or written. The vault is unchanged unless the text says otherwise.
        case storage
        /// Other users can access the key file.
        case exposedKey
        /// The configuration has no grant for the product.
        case unknownProduct
        /// The transaction is not in the state purchased or restored.
        case notPaid
        /// Neither the transaction's own receipt nor the app receipt contains the transaction.
        case noEvidence
        /// The receipt is not genuine, or belongs to another app, device, environment or product.
        case evidenceRefused
        /// The receipt, or the vault with it, exceeds a size limit.
        case tooLarge
        /// The amount is not positive, or the key or currency is empty or longer than 255 bytes.
        case invalidSpend
        /// The balance is lower than the amount.
        case insufficientBalance
        /// The key was used for another amount or currency.
        case keyReused
    }

    /// The kind of failure; stable.
    public var code: Code
    /// The problem, where it occurred, and how to fix it.
    public var detail: String

    /// Creates an error. `detail` describes the problem, where it occurred, and how to fix it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// ``detail``.
    public var description: String { detail }
    /// ``detail``, which is also `localizedDescription`.
    public var errorDescription: String? { detail }
}
