import Foundation
import StoreWire
import Testing

@testable import StoreKit

/// Notes which entitlements it was told to be gone, and counts the calls.
// @unchecked: the list is a lock's.
private final class RevocationObserver: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    let told = LockedList<[String]>()

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions where transaction.transactionState == .purchased {
            queue.finishTransaction(transaction)
        }
    }

    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) { told.append(productIdentifiers) }
}

@Suite("Refunds that are told in pages", .timeLimit(.minutes(5)))
struct NoticePagesTests {
    /// A device on which somebody has signed in.
    private func signedIn() async throws -> TestDevice {
        let device = try TestDevice()
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 3)
        await engine.stop()
        return device
    }

    @Test func `all pages are one call, and the next launch tells nothing again`() async throws {
        let device = try await signedIn()
        // A page is two; one product stands twice.
        device.store.change { $0.lost = ["a", "b", "c", "a", "d"] }
        for isFirst in [true, false] {
            let asked = device.store.asked.count { $0 == "notices" }
            let engine = device.launch()
            let queue = SKPaymentQueue(engine: engine)
            let observer = RevocationObserver()
            queue.add(observer)
            await until { device.store.asked.count { $0 == "notices" } >= asked + (isFirst ? 3 : 1) }
            if isFirst { await until { !observer.told.all.isEmpty } }
            await engine.stop()
            #expect(observer.told.all == (isFirst ? [["a", "b", "c", "d"]] : []))
        }
        // Two to sign in with, three pages, one after.
        #expect(device.store.asked.count { $0 == "notices" } >= 4)
    }

    @Test func `a store that has no end of pages is not asked without end`() async throws {
        let device = try await signedIn()
        device.store.change {
            $0.lost = ["a"]
            $0.saysThereIsMore = true
        }
        let before = device.store.asked.count { $0 == "notices" }
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = RevocationObserver()
        queue.add(observer)
        await until { !observer.told.all.isEmpty }
        await engine.stop()
        #expect(observer.told.all == [["a"]])
        #expect(device.store.asked.count { $0 == "notices" } == before + 2)
    }
}
