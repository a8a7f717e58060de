import StoreWire

/// The download of one transaction's content. The journal stores it after the app's first action on it.
struct DownloadEntry: Codable, Sendable, Equatable {
    /// The phase of the download. The app sees `waiting` and `wanted` as `waiting`.
    enum Phase: String, Codable, Sendable, CaseIterable {
        /// The app has not started the download.
        case waiting
        /// The app has started the download, which waits for other downloads.
        case wanted
        /// The download receives bytes, waits for the network, or unpacks the package.
        case active
        case paused
        case finished
        case failed
        case cancelled
    }

    /// The identifier of the transaction.
    let id: TransactionID
    let productID: ProductID
    /// The account of the transaction.
    var account: AccountID?
    var phase: Phase
    /// The version of the content and its length in bytes. They come with the transaction, and after the first grant
    /// from that grant.
    var version: String
    var length: Int64
    /// Whether the store has granted this version. Later requests then ask for the same version.
    var isBegun = false
    var failure: PaymentFailure?
}

extension DownloadEntry.Phase {
    /// The state that the app sees.
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
    /// The download of a purchased or restored transaction; nil when the store hosts no content for it.
    init?(of entry: PaymentQueueEntry) {
        guard entry.phase == .purchased || entry.phase == .restored, let transaction = entry.transaction,
            let content = transaction.content
        else { return nil }
        self.init(
            id: transaction.transactionID, productID: transaction.productID, account: entry.account, phase: .waiting,
            version: content.version, length: content.lengths.reduce(0) { $0.addingReportingOverflow($1).partialValue })
    }
}
