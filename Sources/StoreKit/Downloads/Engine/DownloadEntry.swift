import StoreWire

/// The download of one transaction's content, as the journal keeps it once the app has done anything with it.
struct DownloadEntry: Codable, Sendable, Equatable {
    /// How far it is. `waiting` and `wanted` are both `waiting` to the app.
    enum Phase: String, Codable, Sendable, CaseIterable {
        /// The app has not started it.
        case waiting
        /// The app has started it, and it waits for a free place.
        case wanted
        /// It has a place: bytes come, or the network is waited for, or the package is being unpacked.
        case active
        case paused
        case finished
        case failed
        case cancelled
    }

    /// The transaction whose content it is.
    let id: TransactionID
    let productID: ProductID
    /// Whose transaction it is.
    var account: AccountID?
    var phase: Phase
    /// The version of the content and its length in bytes: what the store said with the transaction, and from the first
    /// grant on what is being downloaded.
    var version: String
    var length: Int64
    /// Whether the store has granted this version: then it is asked for the same again.
    var isBegun = false
    var failure: PaymentFailure?
}

extension DownloadEntry.Phase {
    /// What the app sees.
    var state: SKDownloadState {
        switch self {
        case .waiting, .wanted: .waiting
        case .active: .active
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}

extension DownloadEntry {
    /// The download of a transaction that the app may deliver; nil when the store hosts nothing for it.
    init?(of entry: PaymentQueueEntry) {
        guard entry.phase == .purchased || entry.phase == .restored, let transaction = entry.transaction,
            let content = transaction.content
        else { return nil }
        self.init(
            id: transaction.transactionID, productID: transaction.productID, account: entry.account, phase: .waiting,
            version: content.version, length: content.lengths.reduce(0) { $0.addingReportingOverflow($1).partialValue })
    }
}
