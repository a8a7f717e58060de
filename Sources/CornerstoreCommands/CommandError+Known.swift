import ArgumentParser
import AsyncHTTPClient
import Backups
import BlobStorage
import ContentPackages
import Database
import Foundation
import Merchant
import MerchantServer
import Store
import StoreKit
import StoreReceipts
import StoreServer

/// Maps the errors of all modules to command errors. The result is nil for ArgumentParser's errors, which have their
/// own messages.
extension CommandError {
    init?(known error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as ContentPackageError: self.init(error.code == .refused ? .refused : .failed, error.detail)
        case let error as BackupError: self.init(.failed, error.detail)
        case let error as BlobError: self.init(.failed, error.detail)
        case let error as CatalogError: self.init(.failed, error.detail)
        case let error as StoreServerError: self.init(.failed, error.detail)
        case let error as DatabaseError: self.init(.failed, Self.text(of: error))
        case let error as MerchantServerError: self.init(.failed, error.detail)
        case let error as MerchantPlaceError: self.init(.failed, error.detail)
        case let error as MerchantError: self.init(.refused, error.detail)
        case let error as ReceiptAuthorityError: self.init(.failed, error.detail)
        case let error as ReceiptRejection: self.init(.refused, "\(error.detail) (\(error.code.rawValue)).")
        case let error as StoreError: self.init(.refused, error.detail)
        case let error as StoreSecretsError:
            self.init(error.code == .keyUnusable ? .usage : .failed, error.detail)
        case let error as StoreKitConfigurationError: self.init(.failed, error.detail)
        case let error as HTTPClientError: self.init(.failed, "The store did not answer: \(error.shortDescription).")
        case is CancellationError: self.init(.failed, "Stopped before the command completed.")
        case is CleanExit, is ExitCode, is ValidationError: return nil
        default:
            // ArgumentParser prints its own parsing errors. Every other error here comes from the system.
            let module = String(reflecting: type(of: error)).prefix { $0 != "." }
            guard module != "ArgumentParser" else { return nil }
            self.init(.failed, "The command failed: \(error.localizedDescription)")
        }
    }

    /// The message of a database's error. The message of one that the operator can mend stands alone.
    private static func text(of error: DatabaseError) -> String {
        let detail = error.detail
        switch error.code {
        case .settingsDiffer, .clockDiffers, .isStandby, .dataLost, .olderSchema, .newerSchema, .changedMigration,
            .invalidLocation:
            return "\(detail.prefix(1).uppercased())\(detail.dropFirst())\(detail.hasSuffix(".") ? "" : ".")"
        default:
            return "Database error: \(detail)"
        }
    }
}
