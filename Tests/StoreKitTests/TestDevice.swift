import Foundation
import StoreWire
import Synchronization
import TestSupport

@testable import StoreKit

/// A device with a folder of its own and a store: apps can be launched on it again and again.
final class TestDevice: Sendable {
    let folder: URL
    let store = FakeStore()
    private let keys = Mutex(0)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("storekit-tests-\(UUID().uuidString)")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    static let bundleID = "com.example.monkeys"

    /// A device on which somebody has signed in, bought and finished. The store has been asked for notices once.
    /// - Parameter notices: what was refunded; nil for a store that has no notices.
    static func signedIn(notices: [ProductID]? = nil) async throws -> TestDevice {
        let device = try TestDevice()
        device.store.change { $0.lost = notices }
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        // Nobody is signed in when the queue asks for its list: only the list after the sign-in leads to a check.
        await engine.payments.quiet()
        queue.add(payment())
        await observer.wait(count: 3)
        // A request that came later would be counted, or would take a fault, in the launch after this one.
        await engine.payments.quiet()
        try await until { device.store.asked.contains("notices") }
        await engine.stop()
        return device
    }

    func configuration(
        sheet: any PaymentSheet = .automatic(StoreCredentials(email: "monkey@example.com", password: "bananas"))
    ) -> StoreKitConfiguration {
        var configuration = StoreKitConfiguration(
            store: URL(string: "http://127.0.0.1:1"), bundleIdentifier: Self.bundleID, deviceFolder: folder,
            sheet: sheet)
        configuration.callbackQueue = DispatchQueue(label: "callbacks")
        configuration.watchesStore = false
        return configuration
    }

    /// Keys that are never made twice on this device: 1, 2, 3…
    func nextKey() -> UUID {
        let number = keys.withLock { count in
            count += 1
            return count
        }
        return Self.key(number)
    }

    static func key(_ number: Int) -> UUID {
        withUnsafeBytes(of: UInt64(number).bigEndian) { bytes in
            UUID(
                uuid: (
                    0, 0, 0, 0, 0, 0, 0, 0, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6],
                    bytes[7]
                ))
        }
    }

    func launch(
        _ configuration: StoreKitConfiguration? = nil, timer: any RetryTimer = ManualTimer(),
        transport: (any StoreTransport)? = nil,
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true },
        downloading: DownloadBoundary = DownloadBoundary()
    ) -> StoreKitEngine {
        StoreKitEngine(
            configuration: configuration ?? self.configuration(), transport: transport ?? store, timer: timer,
            backoff: Backoff(jitter: { 1 }), newKey: { self.nextKey() }, mayPerform: mayPerform,
            downloading: downloading)
    }
}

/// A launch's way to the store. It can be cut, as when the process is killed: then no request arrives any more, also of
/// tasks that go on.
final class StoreLine: StoreTransport {
    private let store: FakeStore
    private let isCut = Mutex(false)

    init(_ store: FakeStore) { self.store = store }

    /// On return every request has arrived or never will.
    func cut() { isCut.withLock { $0 = true } }

    func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse {
        try isCut.withLock { isCut in
            guard !isCut else { throw FakeStore.Lost() }
            return try store.answer(request)
        }
    }
}

extension PaymentQueueStateMachine {
    /// Adds a payment as the engine does.
    mutating func add(_ payment: PaymentValues, key: UUID) -> [Action] {
        add(newEntry(for: payment, key: key, storefront: nil))
    }
}

/// Keeps what is to be done later until the test says so.
final class ManualTimer: RetryTimer {
    private struct State {
        var bodies: [@Sendable () -> Void] = []
        var delays: [Double] = []
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func after(seconds: Double, _ body: @escaping @Sendable () -> Void) {
        let waiter = state.withLock { state in
            state.bodies.append(body)
            state.delays.append(seconds)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// The delays asked for so far, in seconds.
    var delays: [Double] { state.withLock { $0.delays } }

    /// Waits until something is to be done later, or the test's time is over, then does it now.
    func fire() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isReady = !state.bodies.isEmpty || Task.isCancelled
                    if !isReady { state.waiter = continuation }
                    return isReady
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
        let bodies = state.withLock { state in
            defer { state.bodies = [] }
            return state.bodies
        }
        for body in bodies { body() }
    }
}

/// Does at once what is to be done later.
struct ImmediateTimer: RetryTimer {
    func after(seconds: Double, _ body: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: body) }
}

/// A payment of this many packs of five credits.
func payment(_ product: String = "credits5", quantity: Int = 1, askToBuy: Bool = false) -> SKMutablePayment {
    let payment = SKMutablePayment()
    payment.productIdentifier = "com.example.monkeys.\(product)"
    payment.quantity = quantity
    payment.simulatesAskToBuyInSandbox = askToBuy
    return payment
}

/// The app as it should be: it keeps the ids it granted, and finishes what is over.
final class GrantBook: Sendable {
    private let granted = Mutex<[String: Int]>([:])

    /// How many times each transaction was delivered as purchased, over all launches.
    var deliveries: [String: Int] { granted.withLock { $0 } }

    func observer() -> ObserverRecorder {
        ObserverRecorder { queue, transaction in
            switch transaction.transactionState {
            case .purchased:
                guard let id = transaction.transactionIdentifier else { return }
                self.granted.withLock { $0[id, default: 0] += 1 }
                queue.finishTransaction(transaction)
            case .failed: queue.finishTransaction(transaction)
            case .purchasing, .restored, .deferred: break
            }
        }
    }
}
