import AsyncHTTPClient
import Foundation
import NIOCore
import StoreWire

/// What a purchase cannot do without, each measured alone: the requests to the store with what the store does for them (its signatures and its flush
/// among it), and a flush of this machine's disk.
struct RoundTrips: Sendable {
    /// Medians, in seconds.
    var products = 0.0
    var purchase = 0.0
    var transactionReceipt = 0.0
    var appReceipt = 0.0
    var finish = 0.0
    /// Two pages appended to a file and flushed, as a commit of the device's journal is.
    var flush = 0.0

    /// Measures one after another, as an app does.
    static func measure(_ count: Int, store: String, data: URL) async throws -> RoundTrips {
        let client = HTTPClient(eventLoopGroupProvider: .singleton)
        do {
            let found = try await measure(count, Caller(client: client, store: store), data)
            try await client.shutdown()
            return found
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private static func measure(_ count: Int, _ anonymous: Caller, _ data: URL) async throws -> RoundTrips {
        let tester = try Tester.read(data)
        var caller = anonymous
        let (signedIn, _) = try await caller.ask(
            .signIn, SignInRequest(email: tester.email, password: tester.password, deviceID: UUID()))
        caller.token = try JSONDecoder().decode(SignInResponse.self, from: signedIn).token
        let bundleID = BundleID(SampleReceipts.bundleID)
        let product = ProductID(SampleReceipts.bundleID + ".credit")
        let receipt = AppReceiptRequest(bundleID: bundleID, bundleVersion: "1", vendorIdentifier: UUID())
        var times: [[Double]] = Array(repeating: [], count: 5)
        for _ in 0..<count {
            times[0].append(
                try await caller.ask(
                    .products, ProductsRequest(bundleID: bundleID, productIDs: [product], languages: ["en"])
                ).seconds)
            let (answer, seconds) = try await caller.ask(
                .purchases,
                PurchaseRequest(
                    idempotencyKey: UUID(timeOrdered: Date(), chance: UUID()), bundleID: bundleID, productID: product,
                    quantity: 1, applicationUsername: nil, simulatesAskToBuy: false, agreedPrice: nil))
            times[1].append(seconds)
            guard let bought = try JSONDecoder().decode(PurchaseResponse.self, from: answer).transaction else {
                throw BenchmarkError("a purchase was refused")
            }
            times[2].append(try await caller.ask(.transactionReceipt(bought.transactionID), receipt).seconds)
            times[3].append(try await caller.ask(.appReceipt, receipt).seconds)
            times[4].append(try await caller.ask(.finish(bought.transactionID), nil as AppReceiptRequest?).seconds)
        }
        let medians = times.map(Rate.median)
        return RoundTrips(
            products: medians[0], purchase: medians[1], transactionReceipt: medians[2], appReceipt: medians[3],
            finish: medians[4], flush: try flush(count * 4, in: data))
    }

    private static func flush(_ count: Int, in folder: URL) throws -> Double {
        let path = folder.appending(path: "bench-flush").path
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw BenchmarkError("cannot write \(path)") }
        defer {
            close(descriptor)
            unlink(path)
        }
        let pages = [UInt8](repeating: 1, count: 8192)
        return Rate.median(
            try (0..<count).map { _ in
                let start = ContinuousClock.now
                guard write(descriptor, pages, pages.count) == pages.count, fdatasync(descriptor) == 0 else {
                    throw BenchmarkError("cannot flush \(path)")
                }
                return (ContinuousClock.now - start).seconds
            })
    }

    private struct Caller {
        let client: HTTPClient
        let store: String
        var token: String?

        /// The answer, and how long it took from the request's bytes to the answer's.
        func ask(_ route: StoreRoute, _ body: (some Encodable)?) async throws -> (answer: Data, seconds: Double) {
            var request = HTTPClientRequest(url: store + route.path)
            request.method = .init(rawValue: route.method.rawValue)
            if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
            if let body { request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body))) }
            let start = ContinuousClock.now
            let response = try await client.execute(request, timeout: .seconds(30))
            let bytes = try await response.body.collect(upTo: 16 << 20)
            let seconds = (ContinuousClock.now - start).seconds
            guard response.status.code / 100 == 2 else {
                throw BenchmarkError("\(route.path) answered \(response.status.code)")
            }
            return (Data(bytes.readableBytesView), seconds)
        }
    }
}
