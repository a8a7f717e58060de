import ContentDownloads
import Foundation
import StoreWire

/// Downloads the files of the items that the customer buys on pages in this app into the device's library, and tells
/// the customer. The next launch continues downloads that one launch does not complete.
actor LibraryDownloads {
    /// The retries in a row after which a download waits for the next launch.
    private static let mostRetries = 12

    private let session: StoreSession
    private let store: URL
    private let library: @Sendable (AccountID) throws -> DeviceLibrary
    private let tell: @Sendable (String) async -> Void
    private let timer: any RetryTimer
    private let backoff: Backoff
    private let diagnostics: @Sendable (String) -> Void

    private var running: [Int64: Task<Void, Never>] = [:]
    private var failures: [Int64: Int] = [:]
    private var isStopped = false

    /// - Parameters:
    ///   - store: the store's URL.
    ///   - library: opens the library of an account on this device.
    ///   - tell: shows a sentence to the customer.
    init(
        session: StoreSession, store: URL, library: @escaping @Sendable (AccountID) throws -> DeviceLibrary,
        tell: @escaping @Sendable (String) async -> Void, timer: any RetryTimer, backoff: Backoff,
        diagnostics: @escaping @Sendable (String) -> Void
    ) {
        self.session = session
        self.store = store
        self.library = library
        self.tell = tell
        self.timer = timer
        self.backoff = backoff
        self.diagnostics = diagnostics
    }

    /// Continues the downloads of earlier launches, for the account that is signed in. Does nothing when nobody is; the
    /// next launch tries again.
    func resume() {
        guard let account else { return }
        do {
            for order in try library(account).openOrders() where !order.files.isEmpty || order.asked != nil {
                start(order, account)
            }
        } catch {
            diagnostics("the device's library cannot be read: \(Self.text(error))")
        }
    }

    /// Remembers that the customer may buy an item, before the purchase begins, so that a crash loses nothing.
    /// - Returns: the item's saved order, with its key and the page's files; a new one if none is saved.
    func open(_ item: Int64, _ visit: VisitDescription) -> LibraryOrder {
        let new = LibraryOrder(item: item, name: visit.name, key: UUID(), files: visit.files ?? [])
        guard let account else { return new }
        do {
            let library = try library(account)
            var order = library.order(of: item) ?? new
            order.files = new.files
            // An item without files has nothing to download later; its key is kept once the purchase begins.
            if !order.files.isEmpty { try library.save(order) }
            return order
        } catch {
            diagnostics("the order of the item \(item) cannot be saved: \(Self.text(error))")
            return new
        }
    }

    /// Keeps an order whose purchase begins: until the store has answered, its key stays the same.
    func begin(_ order: LibraryOrder) {
        guard let account else { return }
        do { try library(account).save(order) } catch {
            diagnostics("the order of the item \(order.item) cannot be saved: \(Self.text(error))")
        }
    }

    /// Keeps an order that waits for approval. The next launch asks for the decision.
    func wait(_ order: LibraryOrder, asked price: Money?) {
        var order = order
        order.asked = price
        begin(order)
    }

    /// Forgets an order: the customer did not buy the item.
    func close(_ order: LibraryOrder) {
        guard let account, running[order.item] == nil else { return }
        try? library(account).forget(order.item)
    }

    /// Downloads the files of an item that the customer owns, unless the device has them.
    func download(_ order: LibraryOrder) {
        guard let account else { return }
        do {
            let library = try library(account)
            guard order.files.contains(where: { library.state(of: $0) != .downloaded }) else {
                return library.forget(order.item)
            }
            try library.save(order)
            start(order, account)
        } catch {
            diagnostics("the device's library cannot be written: \(Self.text(error))")
        }
    }

    /// Stops all downloads. The next launch continues them.
    func stop() async {
        isStopped = true
        for task in running.values { task.cancel() }
        for task in running.values { await task.value }
    }

    private var account: AccountID? { session.tokens.current?.account.accountID }

    private func start(_ order: LibraryOrder, _ account: AccountID) {
        guard !isStopped, running[order.item] == nil else { return }
        running[order.item] = Task {
            await perform(order, account)
            running[order.item] = nil
        }
    }

    private func perform(_ order: LibraryOrder, _ account: AccountID) async {
        var order = order
        do {
            let library = try library(account)
            if order.asked != nil {
                // The store answers the repeated request with the decision.
                let request = ItemPurchaseMessage(
                    item: order.item, agreedPrice: order.asked, idempotencyKey: order.key)
                _ = try await session.asAccount(account, mayAsk: false) { [session] token throws(StoreFailure) in
                    try await session.client.buyItem(request, token: token)
                }
                order.asked = nil
                await tell("Bought \(order.name).")
                try library.save(order)
            }
            // A file that cannot be downloaded does not hold up the others.
            var problem: (any Error)?
            for file in order.files where library.state(of: file) != .downloaded {
                guard !Task.isCancelled else { throw CancellationError() }
                do {
                    let place = try await library.download(file, at: store) { [session] in
                        try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                            try await session.client.itemFile(file.item, token: token)
                        }
                    }
                    failures[order.item] = nil
                    await tell("Downloaded \(file.title) to \(place.path).")
                } catch {
                    // A refusal closes the order, so any other problem counts before it.
                    if problem.map(Self.isRefusal) ?? true { problem = error }
                }
            }
            if let problem { throw problem }
            library.forget(order.item)
        } catch {
            await failed(order, account, error)
        }
    }

    private func failed(_ order: LibraryOrder, _ account: AccountID, _ error: any Error) async {
        switch error {
        case StoreFailure.unreachable: await retry(order, account, "the store did not answer")
        case StoreFailure.notSignedIn, is CancellationError: break
        case StoreFailure.refused(let refusal) where refusal.code == .awaitsApproval: break
        case StoreFailure.refused(let refusal):
            // The customer did not buy it after all, or it was refunded, or it has no file any more.
            try? library(account).forget(order.item)
            guard order.asked == nil else {
                return await tell("\(order.name) was not bought. \(refusal.message)")
            }
            if refusal.code != .notOwned { await tell("\(order.name) cannot be downloaded. \(refusal.message)") }
        case let error as DeviceError where error.code == .inUse: break
        case let error as ContentDownloadError:
            switch error.code {
            case .cancelled: break
            case .unreachable, .addressExpired: await retry(order, account, error.detail)
            case .wrongLength, .wrongDigest, .noSpace, .fileUnusable, .refused, .invalidRequest:
                await tell("\(order.name) was not downloaded: \(error.detail). Open its page to try again.")
            }
        default:
            await tell("\(order.name) was not downloaded. Open its page to try again.")
        }
        diagnostics("the order of the item \(order.item) was interrupted: \(Self.text(error))")
    }

    private func retry(_ order: LibraryOrder, _ account: AccountID, _ reason: String) async {
        let count = failures[order.item, default: 0] + 1
        failures[order.item] = count
        guard !isStopped else { return }
        guard count <= Self.mostRetries else {
            return await tell("\(order.name) is not complete: \(reason). The app continues when it starts next.")
        }
        timer.after(seconds: backoff.delay(count)) { [weak self] in
            Task { await self?.start(order, account) }
        }
    }

    private static func isRefusal(_ error: any Error) -> Bool {
        if case StoreFailure.refused = error { true } else { false }
    }

    private static func text(_ error: any Error) -> String {
        (error as? DeviceError)?.detail ?? (error as? ContentDownloadError)?.detail ?? "\(error)"
    }
}
