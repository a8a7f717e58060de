import ArgumentParser
import AsyncHTTPClient
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

/// The one map from the errors of all modules to what a command says; nil for ArgumentParser's own, which words them itself.
extension CommandError {
    init?(known error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as ContentPackageError: self.init(error.code == .refused ? .refused : .failed, error.detail)
        case let error as BlobError: self.init(.failed, error.detail)
        case let error as CatalogError: self.init(.failed, error.detail)
        case let error as StoreServerError: self.init(.failed, error.detail)
        case let error as DatabaseError: self.init(.failed, "The database failed: \(error.detail)")
        case let error as MerchantServerError: self.init(.failed, error.detail)
        case let error as MerchantError: self.init(.refused, error.detail)
        case let error as ReceiptAuthorityError: self.init(.failed, error.detail)
        case let error as ReceiptRejection: self.init(.refused, "\(error.detail) (\(error.code.rawValue)).")
        case let error as StoreError: self.init(.refused, error.detail)
        case let error as StoreKitConfigurationError: self.init(.failed, error.detail)
        case let error as HTTPClientError: self.init(.failed, "The store did not answer: \(error.shortDescription).")
        case is CancellationError: self.init(.failed, "Stopped before it was done.")
        case is CleanExit, is ExitCode, is ValidationError: return nil
        default:
            // ArgumentParser's errors of parsing are its own; all else that arrives here is the system's.
            let module = String(reflecting: type(of: error)).prefix { $0 != "." }
            guard module != "ArgumentParser" else { return nil }
            self.init(.failed, "It failed: \(error.localizedDescription)")
        }
    }
}
