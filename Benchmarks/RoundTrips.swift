import AsyncHTTPClient
import Foundation
import NIOCore
import StoreWire

/// The steps that every purchase needs, each measured alone: the requests to the store, including the store's
/// signatures and flushes, and a flush of this machine's disk.
struct RoundTrips: Codable, Sendable {
    /// In seconds, one of each round.
    var products: [Double] = []
    var purchase: [Double] = []
    var transactionReceipt: [Double] = []
    var appReceipt: [Double] = []
    var finish: [Double] = []
    /// Two pages appended to a file and flushed, as a commit of the device's journal is.
    var flush: [Double] = []

    /// Buys and finishes with bare requests, a round at a time.
    struct Device {
        private let caller: Caller
        private let folder: URL
        private let product = ProductID(SampleReceipts.bundleID + ".credit")
        private let receipt = AppReceiptRequest(
            bundleID: BundleID(SampleReceipts.bundleID), bundleVersion: "1", vendorIdentifier: UUID())

        /// Signs the tester in.
        init(_ client: HTTPClient, store: String, data: URL) async throws {
            let tester = try Tester.read(data)
            var caller = Caller(client: client, store: store)
            let (signedIn, _) = try await caller.ask(
                .signIn, SignInRequest(email: tester.email, password: tester.password, deviceID: UUID()))
            caller.token = try JSONDecoder().decode(SignInResponse.self, from: signedIn).token
            (self.caller, folder) = (caller, data)
        }

        /// Requests the products.
        func products(into found: inout RoundTrips) async throws {
            found.products.append(
                try await caller.ask(
                    .products, ProductsRequest(bundleID: receipt.bundleID, productIDs: [product], languages: ["en"])
                ).seconds)
        }

        /// A purchase, its receipts and its finish, one after another, as an app does.
        func purchase(into found: inout RoundTrips) async throws {
            let (answer, seconds) = try await caller.ask(
                .purchases,
                PurchaseRequest(
                    idempotencyKey: UUID(timeOrdered: Date(), chance: UUID()), bundleID: receipt.bundleID,
                    productID: product, quantity: 1, applicationUsername: nil, simulatesAskToBuy: false,
                    agreedPrice: nil))
            found.purchase.append(seconds)
            guard let bought = try JSONDecoder().decode(PurchaseResponse.self, from: answer).transaction else {
                throw BenchmarkError("a purchase was refused")
            }
            found.transactionReceipt.append(
                try await caller.ask(.transactionReceipt(bought.transactionID), receipt).seconds)
            found.appReceipt.append(try await caller.ask(.appReceipt, receipt).seconds)
            found.finish.append(
                try await caller.ask(.finish(bought.transactionID), nil as AppReceiptRequest?).seconds)
        }

        /// Makes as many flushes as a purchase.
        func flush(into found: inout RoundTrips) throws { found.flush += try RoundTrips.flush(4, in: folder) }
    }

    private static func flush(_ count: Int, in folder: URL) throws -> [Double] {
        let path = folder.appending(path: "bench-flush").path
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw BenchmarkError("cannot write \(path)") }
        defer { close(descriptor) }
        let pages = [UInt8](repeating: 1, count: 8192)
        return try (0..<count).map { _ in
            let start = ContinuousClock.now
            guard write(descriptor, pages, pages.count) == pages.count, fdatasync(descriptor) == 0 else {
                throw BenchmarkError("cannot flush \(path)")
            }
            return (ContinuousClock.now - start).seconds
        }
    }

    private struct Caller {
        let client: HTTPClient
        let store: String
        var token: String?

        /// The answer, and the time from sending the request to receiving the answer.
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
