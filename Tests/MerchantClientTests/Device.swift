import Foundation
import MerchantWire
import StoreKit
import Synchronization

@testable import MerchantClient

/// A device with one app: StoreKit's queue of what is paid and not finished, and a folder that outlives the app's
/// launches.
final class Device: Sendable {
    struct State: Sendable {
        /// Paid and not finished, oldest first.
        var queue: [String] = []
        var finished: [String] = []
        var delays: [Double] = []
        var tokens: [String] = ["token"]
        var refusedTokens: [String?] = []
    }

    let folder: URL
    let merchant: URL
    private let state = Mutex(State())

    init(folder: URL, merchant: URL) {
        self.folder = folder
        self.merchant = merchant
    }

    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
    var finished: [String] { change { $0.finished } }

    struct NoToken: Error {}

    func configuration(_ log: EventLog) -> MerchantClientConfiguration {
        var configuration = MerchantClientConfiguration(
            merchant: merchant, bundleIdentifier: "com.example.books", folder: folder.appendingPathComponent("client")
        ) { refused in
            try self.change { state in
                state.refusedTokens.append(refused)
                if refused != nil, !state.tokens.isEmpty { state.tokens.removeFirst() }
                return Result { () throws -> String in
                    guard let token = state.tokens.first else { throw NoToken() }
                    return token
                }
            }.get()
        }
        configuration.receiptURL = folder.appendingPathComponent("receipt")
        configuration.evidence = .transactionReceipt
        configuration.jitter = { 1 }
        configuration.wait = { seconds in self.change { $0.delays.append(seconds) } }
        configuration.onEvent = { log.note($0) }
        return configuration
    }

    /// The app is launched: StoreKit tells what is not finished.
    func launch(
        _ log: EventLog, _ change: (inout MerchantClientConfiguration) -> Void = { _ in }
    ) async throws -> MerchantClient {
        var configuration = configuration(log)
        change(&configuration)
        let client = try MerchantClient(configuration)
        await client.open()
        for id in self.change({ $0.queue }) { await client.begin(purchase(id)) }
        return client
    }

    /// Something is paid, and StoreKit has it.
    func buy(_ id: String) -> StorePurchase {
        change { $0.queue.append(id) }
        return purchase(id)
    }

    func purchase(_ id: String, receipt: String? = nil) -> StorePurchase {
        StorePurchase(transactionID: id, productID: "issue1", receipt: Data((receipt ?? id).utf8)) {
            self.change { state in
                state.queue.removeAll { $0 == id }
                state.finished.append(id)
            }
        }
    }
}

/// What a client told, with somebody waiting for it.
final class EventLog: Sendable {
    private struct State {
        var lines: [String] = []
        var waiters: [(line: String, count: Int, end: AsyncStream<Void>.Continuation)] = []
    }

    private let state = Mutex(State())

    /// All but the progress of downloads.
    var lines: [String] { state.withLock { $0.lines } }

    func note(_ event: MerchantEvent) {
        let line =
            switch event {
            case .redeemed(let redeemed): "redeemed \(redeemed.transactionID)"
            case .waiting(let purchase, let error, let seconds):
                "waiting \(purchase.transactionID) \(error.code)\(seconds.map { " \($0)" } ?? "")"
            case .refused(let purchase, let error):
                "refused \(purchase.transactionID) \(error.reason.map { "\($0)" } ?? "\(error.code)")"
            case .downloading: ""
            case .delivered(let content): "delivered \(content.item) \(content.version)"
            case .notDelivered(let item, let error, _):
                "not delivered \(item) \(error.reason.map { "\($0)" } ?? "\(error.code)")"
            case .finished(let purchase): "finished \(purchase.transactionID)"
            case .problem(let error): "problem \(error.code)"
            }
        guard !line.isEmpty else { return }
        note(line)
    }

    func note(_ line: String) {
        let ready = state.withLock { state in
            state.lines.append(line)
            let lines = state.lines
            let ready = state.waiters.filter { waiter in lines.count { $0 == waiter.line } >= waiter.count }
            state.waiters.removeAll { waiter in lines.count { $0 == waiter.line } >= waiter.count }
            return ready.map(\.end)
        }
        for end in ready { end.finish() }
    }

    /// Waits until a line was told so often, or the test's time is over.
    func told(_ line: String, _ count: Int = 1) async {
        let (wait, end) = AsyncStream.makeStream(of: Void.self)
        let isThere = state.withLock { state in
            if state.lines.count(where: { $0 == line }) >= count { return true }
            state.waiters.append((line, count, end))
            return false
        }
        if isThere { end.finish() }
        for await _ in wait {}
    }
}
