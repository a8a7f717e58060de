import Foundation

/// Why the vault did not do what was asked. No key, receipt or token is ever in one.
public struct VaultError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The configuration names no bundle identifier, no root certificate, or one that cannot be read.
        case notConfigured
        /// Another process of the app, or another vault in this one, holds the vault.
        case inUse
        /// The vault was closed.
        case closed
        /// A file or folder cannot be read or written; nothing was changed unless the text says so.
        case storage
        /// The key's file may be read by others.
        case exposedKey
        /// The app's configuration says nothing of this product.
        case unknownProduct
        /// The transaction is not paid for, or not delivered yet.
        case notPaid
        /// Neither the transaction's own receipt nor the app's speaks of it.
        case noEvidence
        /// The receipt is not genuine, or of another app, device, environment or product.
        case evidenceRefused
        /// The receipt, or the vault with it, would be larger than the vault takes.
        case tooLarge
        /// An amount that is not above zero, or a key or currency that is empty or longer than 255 bytes.
        case invalidSpend
        /// There is less in the balance.
        case insufficientBalance
        /// The key was used for another amount or currency.
        case keyReused
    }

    /// Which kind it is; stable.
    public var code: Code
    /// What was wrong, where, and what to do.
    public var detail: String

    /// An error of a kind, with what was wrong, where, and what to do.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// ``detail``.
    public var description: String { detail }
    /// ``detail``, which is what `localizedDescription` gives.
    public var errorDescription: String? { detail }
}
