import Foundation
import Synchronization
import TestSupport

@testable import StoreKit

/// An app that starts all downloads it is told of, or not, and puts them on its shelf, if it has one.
// @unchecked: all is in a Mutex or constant.
final class ContentApp: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    struct Heard: Sendable {
        var state: SKDownloadState
        var received: Int64
    }

    let queue: SKPaymentQueue
    private let shelf: ContentShelf?
    private let startsAll: Bool
    private let heard = Mutex<[Heard]>([])
    private let restores = Mutex(0)

    init(_ queue: SKPaymentQueue, shelf: ContentShelf?, startsAll: Bool = true) {
        self.queue = queue
        self.shelf = shelf
        self.startsAll = startsAll
        super.init()
        queue.add(self)
    }

    func until(_ isSo: ([Heard]) -> Bool) async throws {
        try await TestSupport.until { isSo(heard.withLock { $0 }) }
    }

    /// The states that were told, in order.
    var words: [SKDownloadState] { heard.withLock { $0.map(\.state) } }

    func untilRestored() async throws { try await until { _ in restores.withLock { $0 } > 0 } }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        if startsAll { queue.start(transactions.flatMap(\.downloads)) }
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads {
            let received = Int64(Double(download.progress) * Double(download.expectedContentLength))
            heard.withLock { $0.append(Heard(state: download.state, received: received)) }
            if download.state == .finished, let shelf, (try? shelf.install(download)) != nil {
                queue.finishTransaction(download.transaction)
            }
        }
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { restores.withLock { $0 += 1 } }
}
