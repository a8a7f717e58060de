import Foundation
import StoreKit
import StoreWire
import Testing

@testable import StoreKit

/// Waits for the end of a request.
final class RequestEnd: NSObject, SKRequestDelegate, @unchecked Sendable {
    // @unchecked: the stream and its continuation are Sendable, and nothing else is held.
    private let ends: AsyncStream<SKError?>
    private let end: AsyncStream<SKError?>.Continuation

    override init() {
        (ends, end) = AsyncStream.makeStream()
        super.init()
    }

    /// Nil when the request did what was asked.
    func of(_ request: SKRequest) async -> SKError? {
        request.delegate = self
        request.start()
        for await end in ends { return end }
        return SKError(.unknown)
    }

    func requestDidFinish(_ request: SKRequest) { end.yield(nil) }
    func request(_ request: SKRequest, didFailWithError error: any Error) {
        end.yield(error as? SKError ?? SKError(.clientInvalid))
    }
}

@Suite("Refreshing the receipt", .timeLimit(.minutes(1)))
struct ReceiptRefreshTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    @Test func `the receipt is written, after a sign-in when nobody is signed in`() async throws {
        let engine = device.launch()
        let receipt = try #require(engine.receiptURL)
        #expect(!FileManager.default.fileExists(atPath: receipt.path))
        #expect(await RequestEnd().of(SKReceiptRefreshRequest(receiptProperties: nil, engine: engine)) == nil)
        #expect(try Data(contentsOf: receipt) == Data("receipt []".utf8))
        #expect(device.store.asked == ["signIn", "appReceipt"])
        #expect(device.store.change { $0.receiptRequests.map(\.pretence) } == [nil])
    }

    @Test func `a newer token that another app has saved replaces a rejected one`() async throws {
        let engine = device.launch()
        func refresh() async -> SKError? {
            await RequestEnd().of(SKReceiptRefreshRequest(receiptProperties: nil, engine: engine))
        }
        #expect(await refresh() == nil)
        let store = try #require(URL(string: "http://127.0.0.1:1"))
        let other = AccountTokens(file: try DeviceFolder(device.folder).accountFile(of: store))
        let account = try #require(other.current).account
        func renew(_ token: String) throws {
            try other.keep(AccountTokens.SignedIn(token: token, account: account), asCurrent: false)
            device.store.change { state in
                state.tokens = [token: account.accountID]
                state.asked = []
            }
        }
        try renew("newer")
        #expect(await refresh() == nil)
        #expect(device.store.asked == ["appReceipt", "appReceipt"])
        try renew("newest")
        _ = try await engine.products(["com.example.monkeys.credits5"]).get()
        #expect(device.store.asked == ["products", "products"])
        #expect(engine.session?.tokens.current?.token == "newest")
    }

    @Test func `test properties reach the store`() async throws {
        let engine = device.launch()
        func refresh(_ properties: [String: Any]?) async -> ReceiptPretence? {
            let request = SKReceiptRefreshRequest(receiptProperties: properties, engine: engine)
            #expect((request.receiptProperties == nil) == (properties == nil))
            #expect(await RequestEnd().of(request) == nil)
            return device.store.change { $0.receiptRequests.last?.pretence }
        }
        #expect(
            await refresh([SKReceiptPropertyIsExpired: true])
                == ReceiptPretence(isExpired: true, isRevoked: false, isVolumePurchase: false))
        #expect(
            await refresh([SKReceiptPropertyIsRevoked: NSNumber(value: 1), SKReceiptPropertyIsVolumePurchase: true])
                == ReceiptPretence(isExpired: false, isRevoked: true, isVolumePurchase: true))
        #expect(await refresh([SKReceiptPropertyIsExpired: false, "other": true]) == nil)
        #expect(await refresh([:]) == nil)
    }

    @Test func `a cancelled sign-in, an unavailable store and a missing store are reported`() async throws {
        let sheet = AutomaticPaymentSheet(answer: .buy, credentials: nil)
        let unwilling = device.launch(device.configuration(sheet: sheet))
        var error = await RequestEnd().of(SKReceiptRefreshRequest(receiptProperties: nil, engine: unwilling))
        #expect(error?.code == .paymentCancelled)
        await unwilling.stop()

        device.store.change { $0.isDown = true }
        let away = device.launch()
        error = await RequestEnd().of(SKReceiptRefreshRequest(receiptProperties: nil, engine: away))
        #expect(error?.code == .unknown && error?.localizedDescription == "Cannot connect to iTunes Store")
        #expect((error?.errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.domain == NSURLErrorDomain)
        await away.stop()

        var configuration = device.configuration()
        configuration.store = nil
        error = await RequestEnd().of(
            SKReceiptRefreshRequest(receiptProperties: nil, engine: device.launch(configuration)))
        #expect(error?.code == .unknown)
    }

    @Test func `the file's name shows the environment`() {
        var configuration = device.configuration()
        #expect(device.launch(configuration).receiptURL?.lastPathComponent == "sandboxReceipt")
        configuration.environment = .production
        #expect(device.launch(configuration).receiptURL?.lastPathComponent == "receipt")
    }

    @Test func `an invalid receipt ends the program with status 173`() async {
        await #expect(processExitsWith: .exitCode(173)) { SKTerminateForInvalidReceipt() }
    }

    @Test func `the symbols are Apple's`() {
        let request = SKReceiptRefreshRequest(receiptProperties: [SKReceiptPropertyIsExpired: true])
        #expect(request.receiptProperties?.count == 1)
        #expect(SKReceiptRefreshRequest().receiptProperties == nil)
        class Mock: SKPaymentQueue, @unchecked Sendable {
            var calls = 0
            override func restoreCompletedTransactions() { calls += 1 }
            override func restoreCompletedTransactions(withApplicationUsername username: String?) { calls += 1 }
        }
        let queue = Mock()
        queue.restoreCompletedTransactions()
        queue.restoreCompletedTransactions(withApplicationUsername: "a")
        #expect(queue.calls == 2)
    }

    @Test func `an unanswered products request fails with the network's error`() async throws {
        final class Delegate: NSObject, SKProductsRequestDelegate {
            func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {}
        }
        device.store.change { $0.isDown = true }
        guard case .failure(let lost) = await device.launch().products(["a"]) else {
            Issue.record("answered")
            return
        }
        #expect(lost.code == .unknown && lost.localizedDescription == "Cannot connect to iTunes Store")
        #expect((lost.errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.code == NSURLErrorUnknown)

        // A port that nobody listens on.
        let address = try #require(URL(string: "http://127.0.0.1:1"))
        let transport = try #require(HTTPTransport(store: address))
        let other = try TestDevice()
        guard case .failure(let refused) = await other.launch(transport: transport).products(["a"]) else {
            Issue.record("answered")
            return
        }
        let underlying = try #require(refused.errorUserInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == NSURLErrorDomain && underlying.code == NSURLErrorCannotConnectToHost)

        // What the store itself refuses is no fault of the network's.
        device.store.change { $0.isDown = false }
        device.store.failNext("products", .refusal(404, WireError(code: .unknownApp, message: "no app")))
        guard case .failure(let told) = await device.launch(device.configuration()).products(["a"]) else {
            Issue.record("answered")
            return
        }
        #expect(told.code == .storeProductNotAvailable && told.errorUserInfo[NSUnderlyingErrorKey] == nil)
    }
}
