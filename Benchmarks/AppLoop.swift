import AsyncHTTPClient
import Foundation
import StoreKit
import StoreWire

/// An app in a process of its own that repeatedly requests products, buys and finishes. It takes turns with the same
/// requests and flushes made directly, so that other load on the machine affects both.
enum AppLoop {
    static let subcommand = "app-loop"

    /// The measured seconds, as the process prints them.
    struct Found: Codable, Sendable {
        /// From `start()` to the delegate's call.
        var products: [Double] = []
        /// From `add(_:)` to the purchased transaction.
        var purchase: [Double] = []
        /// From `finishTransaction(_:)` to `removedTransactions`.
        var finish: [Double] = []
        /// The requests and flushes that each step needs.
        var alone = RoundTrips()
    }

    /// Runs the loop in this process and prints the measured times.
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[0]), count > 0 else {
            throw BenchmarkError("the app's loop takes a number, an address and a folder")
        }
        let found = try await HTTPClient.withHTTPClient { client in
            let device = try await RoundTrips.Device(client, store: arguments[1], data: URL(filePath: arguments[2]))
            return try await run(count, beside: device)
        }
        print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    }

    private static func run(_ count: Int, beside device: RoundTrips.Device) async throws -> Found {
        var found = Found()
        let product = SampleReceipts.bundleID + ".credit"
        let events = LoopEvents()
        let queue = SKPaymentQueue.default()
        queue.add(events)
        var stream = events.stream.makeAsyncIterator()
        for round in 0..<count {
            // The second one finds warm caches in the store, so the order alternates.
            for isApp in round % 2 == 0 ? [true, false] : [false, true] {
                if isApp {
                    found.products.append(try await products([product], events, &stream))
                } else {
                    try await device.products(into: &found.alone)
                }
            }
            for isApp in round % 2 == 0 ? [true, false] : [false, true] {
                if isApp {
                    let seconds = try await purchase(product, queue, &stream)
                    found.purchase.append(seconds.purchase)
                    found.finish.append(seconds.finish)
                } else {
                    try await device.purchase(into: &found.alone)
                }
            }
            try device.flush(into: &found.alone)
        }
        return found
    }

    private static func products(
        _ identifiers: Set<String>, _ events: LoopEvents, _ stream: inout AsyncStream<LoopEvents.Event>.AsyncIterator
    ) async throws -> Double {
        let request = SKProductsRequest(productIdentifiers: identifiers)
        request.delegate = events
        let start = ContinuousClock.now
        request.start()
        guard case .products(1, let told)? = await stream.next() else {
            throw BenchmarkError("the store returned no product")
        }
        return (told - start).seconds
    }

    private static func purchase(
        _ product: String, _ queue: SKPaymentQueue, _ stream: inout AsyncStream<LoopEvents.Event>.AsyncIterator
    ) async throws -> (purchase: Double, finish: Double) {
        let payment = SKMutablePayment()
        payment.productIdentifier = product
        let added = ContinuousClock.now
        queue.add(payment)
        var next = await stream.next()
        while case .purchasing? = next { next = await stream.next() }
        guard case .purchased(let transaction, let bought)? = next else { throw BenchmarkError("the purchase failed") }
        let finished = ContinuousClock.now
        queue.finishTransaction(transaction)
        guard case .removed(let removed)? = await stream.next() else {
            throw BenchmarkError("the transaction was not finished")
        }
        return ((bought - added).seconds, (removed - finished).seconds)
    }

    /// Starts the process for a device and returns its result.
    static func found(_ count: Int, store: String, data: URL, device: URL) throws -> Found {
        let output = Pipe()
        let child = try ChildProcess(
            try ChildProcess.ownExecutable(), [subcommand, String(count), store, data.path],
            environment: try AppProcess.environment(store: store, data: data, device: device), output: output,
            on: .forLoad)
        defer { child.stop() }
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        do { return try JSONDecoder().decode(Found.self, from: text) } catch {
            throw BenchmarkError("the app's process said “\(String(decoding: text.prefix(200), as: UTF8.self))”")
        }
    }
}

/// Turns the calls of the queue and of the request into a stream, with the time of each call.
private final class LoopEvents: NSObject, SKPaymentTransactionObserver, SKProductsRequestDelegate {
    enum Event: Sendable {
        case products(Int, ContinuousClock.Instant)
        case purchasing
        case purchased(SKPaymentTransaction, ContinuousClock.Instant)
        case removed(ContinuousClock.Instant)
        case failed
    }

    let stream: AsyncStream<Event>
    private let send: AsyncStream<Event>.Continuation

    override init() {
        (stream, send) = AsyncStream.makeStream(of: Event.self)
        super.init()
    }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        send.yield(.products(response.products.count, .now))
    }

    func request(_ request: SKRequest, didFailWithError error: any Error) { send.yield(.failed) }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing: send.yield(.purchasing)
            case .purchased: send.yield(.purchased(transaction, .now))
            case .failed, .restored, .deferred: send.yield(.failed)
            }
        }
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        send.yield(.removed(.now))
    }
}
