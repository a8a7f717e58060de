import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import Testing

@testable import StoreKit

/// A device with one app and one customer: the app can be launched on it again and again.
final class JourneyDevice: Sendable {
    let store: JourneyStore
    let folder: URL
    let email: String
    private let asked = Mutex<[PaymentSheetRequest]>([])

    static let password = "two bananas a day"

    /// Makes the account as well.
    init(_ store: JourneyStore, email: String = "ape@example.com") async throws {
        self.store = store
        self.email = email
        folder = store.configuration.dataDirectory.deletingLastPathComponent()
            .appendingPathComponent("device-\(email)")
        let body = #"{"email":"\#(email)","password":"\#(Self.password)"}"#
        try #require(try await store.control("POST", "accounts", body).status == 201)
    }

    /// Another device of the same customer.
    init(beside first: JourneyDevice, name: String) {
        store = first.store
        email = first.email
        folder = first.folder.deletingLastPathComponent().appendingPathComponent("device-\(first.email)-\(name)")
    }

    /// What the payment sheet showed.
    var sheets: [PaymentSheetRequest] { asked.withLock { $0 } }

    func configuration(answer: PaymentSheetAnswer = .buy) -> StoreKitConfiguration {
        let credentials = StoreCredentials(email: email, password: Self.password)
        let sheet = ProgrammedPaymentSheet(
            confirm: { request in
                self.asked.withLock { $0.append(request) }
                return answer
            },
            signIn: { $0.passwordWasWrong ? nil : credentials })
        var configuration = StoreKitConfiguration(
            store: URL(string: store.addresses.sandbox), bundleIdentifier: JourneyStore.bundleID.rawValue,
            deviceFolder: folder, sheet: sheet)
        configuration.bundleVersion = "1.2"
        configuration.callbackQueue = DispatchQueue(label: "callbacks")
        configuration.watchesStore = false
        return configuration
    }

    func launch(
        _ configuration: StoreKitConfiguration? = nil, transport: (any StoreTransport)? = nil,
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
    ) -> StoreKitEngine {
        StoreKitEngine(
            configuration: configuration ?? self.configuration(), transport: transport, timer: BriefTimer(),
            backoff: Backoff(jitter: { 1 }), newKey: { UUID() }, mayPerform: mayPerform)
    }

    // MARK: What lies on its disk

    var receiptURL: URL {
        DeviceFolder.receiptURL(device: folder, bundleID: JourneyStore.bundleID, environment: .sandbox)
    }

    func receipt() throws -> Data { try Data(contentsOf: receiptURL) }

    /// The receipt on disk as the app's own check finds it: under that root, for this app, version and device.
    func checkedReceipt() async throws -> AppReceipt {
        let verifier = try ReceiptVerifier(roots: [[UInt8](Data(contentsOf: store.receiptRoot))])
        let vendor = try DeviceFolder(folder).vendorIdentifier
        let expectation = ReceiptExpectation(
            bundleID: JourneyStore.bundleID.rawValue, applicationVersion: "1.2",
            deviceIdentifier: withUnsafeBytes(of: vendor.uuid) { Array($0) })
        switch await verifier.verify([UInt8](try receipt()), expecting: expectation) {
        case .verified(let verified): return verified.receipt
        case .rejected(let rejection): throw rejection
        }
    }

    /// The journal, while no app runs.
    func journal() throws -> [PaymentQueueEntry] {
        let folder = try DeviceFolder(folder).bundleFolder(of: JourneyStore.bundleID)
        let journal = try SQLitePaymentJournal(folder: folder, name: "sandbox.journal") { _ in }
        defer { journal.close() }
        return try journal.load()
    }

    func ledger() async throws -> Ledger { try await store.ledger(of: email) }
}

/// Tries again soon, so that a store that starts is found at once.
struct BriefTimer: RetryTimer {
    func after(seconds: Double, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20), execute: body)
    }
}

/// Carries requests to the store, and loses one answer: the store has done what was asked.
final class LossyTransport: StoreTransport {
    private let whole: HTTPTransport
    private let lost: Int
    private let count = Mutex(0)

    struct Lost: Error {}

    /// Loses the answer to the `lost`th request, counted from 1.
    init(_ whole: HTTPTransport, lost: Int) {
        self.whole = whole
        self.lost = lost
    }

    /// Whether there was such a request.
    var hasLost: Bool { count.withLock { $0 >= lost } }

    func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let response = try await whole.send(request)
        if number == lost { throw Lost() }
        return response
    }
}

/// Puts the question, and gives the answer that its delegate gets.
final class ProductsQuestion: NSObject, SKProductsRequestDelegate, @unchecked Sendable {
    // @unchecked: `request` is set once, before the answer can come; the rest is a stream's continuation.
    private let answers: AsyncStream<Result<([String], [String]), SKError>>
    private let answer: AsyncStream<Result<([String], [String]), SKError>>.Continuation

    override init() {
        (answers, answer) = AsyncStream.makeStream()
        super.init()
    }

    /// The identifiers that were found, with their prices, and the others.
    func ask(_ identifiers: Set<String>, _ engine: StoreKitEngine) async throws -> ([String], [String]) {
        let request = SKProductsRequest(productIdentifiers: identifiers, engine: engine)
        request.delegate = self
        request.start()
        for await answer in answers { return try answer.get() }
        throw CancellationError()
    }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        let found = response.products.map { "\($0.productIdentifier) \($0.price)" }.sorted()
        answer.yield(.success((found, response.invalidProductIdentifiers.sorted())))
    }

    func request(_ request: SKRequest, didFailWithError error: any Error) {
        answer.yield(.failure((error as? SKError) ?? SKError(.unknown)))
    }
}

func payment(_ product: String, quantity: Int = 1, askToBuy: Bool = false) -> SKMutablePayment {
    let payment = SKMutablePayment()
    payment.productIdentifier = product
    payment.quantity = quantity
    payment.simulatesAskToBuyInSandbox = askToBuy
    return payment
}
