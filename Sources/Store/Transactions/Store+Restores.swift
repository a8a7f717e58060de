import Database
import Foundation
import StoreWire

extension Store {
    /// Delivers a page of the account's finished transactions in an app again: at most ``StoreLimits/page``, in the
    /// order of the purchases. Nothing is charged, and the app receipt does not change.
    ///
    /// A repeated request under the same key returns the same identifiers. A later restore by the same device also
    /// returns the same identifiers for transactions that the device has not finished, so an interrupted restore can be
    /// repeated.
    /// - Throws: ``StoreError`` `unknown_app` or `invalid_request`; ``DatabaseError``. Nothing is recorded when this
    ///   throws.
    public func restore(_ request: RestoreRequest, for account: Account) async throws -> RestoreResponse {
        guard request.bundleID.rawValue.utf8.count <= StoreLimits.identifier,
            (request.applicationUsername?.utf8.count ?? 0) <= StoreLimits.applicationUsername
        else {
            throw StoreError(
                .invalidRequest,
                "Identifiers can have at most \(StoreLimits.identifier) bytes and applicationUsername at most \(StoreLimits.applicationUsername)."
            )
        }
        guard apps[request.bundleID] != nil else {
            throw StoreError(.unknownApp, "No app with the bundle identifier \(request.bundleID) is known.")
        }
        let now = clock.milliseconds
        let ids = ids
        let accountID = account.accountID
        try await settleSubscriptions(of: accountID)
        // Read one more than a page, to know whether another page follows.
        let found = try await database.read { connection in
            try Transactions.restorable(by: request, of: accountID, limit: StoreLimits.page + 1, connection)
        }
        let sources = Array(found.prefix(StoreLimits.page))
        guard let first = sources.first?.transactionID, let last = sources.last?.transactionID else {
            return RestoreResponse(transactions: [], next: nil)
        }
        let restored = try await database.write { connection in
            var known = try RestoredTransactions.deliveries(request, of: accountID, sources: first...last, connection)
            let count = known.count
            let isNewDevice = try RestoredTransactions.isNew(request.deviceID, of: accountID, connection)
            let descriptions = try sources.map { source in
                if let delivery = known[source.transactionID] { return source.restored(delivery).description }
                let delivery = RestoredTransactions.Delivery(transactionID: ids.next(), restoredAt: now)
                try RestoredTransactions.insert(delivery, of: source, request, connection)
                known[source.transactionID] = delivery
                return source.restored(delivery).description
            }
            if known.count > count {
                try RestoredTransactions.forgetFinished(request, of: accountID, sources: first...last, connection)
            }
            if isNewDevice { try RestoredTransactions.forgetDevices(of: accountID, connection) }
            return descriptions
        }
        changed(.transactions)
        return RestoreResponse(transactions: await described(restored), next: found.count > sources.count ? last : nil)
    }
}
