import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("An app, a store, sockets between them", .timeLimit(.minutes(1)))
struct PurchaseJourneyTests {
    @Test(arguments: Backend.available)
    func `three packs of credits, from the price to the empty queue`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let app = JourneyApp(device.launch())
            let (found, invalid) = try await ProductsQuestion().ask(["credits5", "hats", "nothing", ""], app.engine)
            #expect(found == ["credits5 0.99", "hats 2.99"] && invalid == ["", "nothing"])

            app.queue.add(payment("credits5", quantity: 3))
            #expect(await app.told(2) == ["updated purchasing credits5", "updated purchased credits5"])
            let sheet = try #require(device.sheets.first)
            #expect(device.sheets.count == 1 && sheet.account == device.email && sheet.productName == "Five Credits")
            #expect(sheet.quantity == 3 && sheet.formattedUnitPrice == "$0.99" && sheet.formattedTotal == "$2.97")

            let transaction = try #require(app.latest)
            let id = try #require(transaction.transactionIdentifier)
            #expect(app.queue.transactions == [transaction] && transaction.payment.quantity == 3)
            #expect(transaction.error == nil && transaction.original == nil)
            try await Self.checkAppReceipt(device, id)
            try await Self.checkTransactionReceipt(transaction, device)
            var ledger = try await device.ledger()
            let purchase = try #require(ledger.purchases.first)
            #expect(ledger.purchases.count == 1 && ledger.payments.count == 1)
            #expect(purchase.state == "purchased" && purchase.amount == 2970 && purchase.quantity == 3)
            let row = try #require(ledger.transactions.first)
            #expect(ledger.transactions.count == 1 && String(row.id) == id && row.originalID == row.id)
            #expect(row.product == "credits5" && row.quantity == 3 && row.price == 2970 && !row.isFinished)
            #expect(row.key == purchase.key && purchase.transactionID == row.id)
            #expect(transaction.transactionDate == Date(timeIntervalSince1970: Double(row.purchaseDate) / 1000))

            app.queue.finishTransaction(transaction)
            #expect(await app.told(3).last == "removed purchased credits5")
            #expect(app.queue.transactions.isEmpty && app.engine.payments.isEmpty)
            ledger = try await device.ledger()
            #expect(ledger.transactions.map(\.isFinished) == [true] && ledger.payments.count == 1)
            // What was consumed is in no later receipt.
            app.queue.add(payment("hats"))
            #expect(await app.told(5).suffix(2) == ["updated purchasing hats", "updated purchased hats"])
            #expect(try await device.checkedReceipt().inApp.map(\.productID) == ["hats"])
            await app.stop()
        }
    }

    private static func checkAppReceipt(_ device: JourneyDevice, _ id: String) async throws {
        let receipt = try await device.checkedReceipt()
        #expect(receipt.environment == .sandbox)
        #expect(receipt.inApp.map(\.transactionID) == [id] && receipt.inApp.map(\.quantity) == [3])
        let bytes = try device.receipt()
        let production = try await device.store.verify(bytes, .production)
        #expect(production.status == 200 && production.verification == 21007)
        let sandbox = try await device.store.verify(bytes)
        #expect(sandbox.verification == 0 && sandbox.json["environment"] as? String == "Sandbox")
        #expect(sandbox.receipt["bundle_id"] as? String == JourneyStore.bundleID.rawValue)
        #expect(sandbox.inApp.map { $0["transaction_id"] as? String } == [id])
        #expect(sandbox.inApp.map { $0["quantity"] as? String } == ["3"])
        let attributes = try FileManager.default.attributesOfItem(atPath: device.receiptURL.path)
        #expect(attributes[.type] as? FileAttributeType == .typeRegular)
    }

    private static func checkTransactionReceipt(
        _ transaction: SKPaymentTransaction, _ device: JourneyDevice
    ) async throws {
        let old = try await device.store.verify(try #require(transaction.transactionReceipt))
        #expect(old.verification == 0)
        #expect(old.receipt["transaction_id"] as? String == transaction.transactionIdentifier)
        #expect(old.receipt["product_id"] as? String == "credits5" && old.receipt["quantity"] as? String == "3")
        #expect(old.receipt["bid"] as? String == JourneyStore.bundleID.rawValue)
    }

    @Test(arguments: Backend.available)
    func `a non-consumable bought twice is paid once and delivered twice`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let grants = Grants()
            let app = JourneyApp(device.launch(), grants: grants)
            app.queue.add(payment("hats"))
            await app.told(3)
            app.queue.add(payment("hats"))
            let once = ["updated purchasing hats", "updated purchased hats", "removed purchased hats"]
            #expect(await app.told(6) == once + once)
            let ledger = try await device.ledger()
            #expect(ledger.purchases.map(\.amount) == [2990, 0] && ledger.payments.count == 1)
            let first = try #require(ledger.transactions.first)
            #expect(ledger.transactions.map(\.originalID) == [first.id, first.id])
            #expect(ledger.transactions.allSatisfy(\.isFinished) && grants.all.count == 2)
            #expect(app.latest?.original?.transactionIdentifier == String(first.id))
            #expect(app.latest?.transactionIdentifier != String(first.id))
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a subscription's first period ends on the last day of a shorter month`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let clock = #"{"freeze":true,"set":"2027-01-31T12:00:00Z"}"#
            #expect(try await store.control("PUT", "clock", clock).status == 200)
            let device = try await JourneyDevice(store)
            let app = JourneyApp(device.launch())
            app.queue.add(payment("club.monthly"))
            #expect(await app.told(2) == ["updated purchasing club.monthly", "updated purchased club.monthly"])
            let transaction = try #require(app.latest)
            #expect(transaction.transactionDate == Date(timeIntervalSince1970: 1_801_396_800))
            let row = try #require(try await device.ledger().transactions.first)
            #expect(row.price == 5990 && row.expiresDate == 1_803_816_000_000)
            let receipt = try device.receipt()
            #expect(try await store.verify(receipt).verification == 21004)
            let answer = try await store.verify(receipt, password: try store.sharedSecret())
            let latest = try #require((answer.json["latest_receipt_info"] as? [[String: Any]])?.first)
            #expect(latest["expires_date"] as? String == "2027-02-28 12:00:00 Etc/GMT")
            #expect(latest["purchase_date_pst"] as? String == "2027-01-31 04:00:00 America/Los_Angeles")
            let renewal = try #require((answer.json["pending_renewal_info"] as? [[String: Any]])?.first)
            #expect(renewal["auto_renew_product_id"] as? String == "club.monthly")
            app.queue.finishTransaction(transaction)
            await app.told(3)
            // Once more is no second period.
            app.queue.add(payment("club.monthly"))
            #expect(await app.told(5).suffix(2) == ["updated purchasing club.monthly", "updated failed club.monthly"])
            let ledger = try await device.ledger()
            #expect(ledger.purchases.map(\.failure) == [nil, "already_subscribed"] && ledger.transactions.count == 1)
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a declined and a cancelled payment cost nothing`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            #expect(try await store.control("POST", "payment-rules", #"{"name":"broke","count":1}"#).status == 201)
            let failed = ["updated purchasing credits5", "updated failed credits5", "removed failed credits5"]
            let app = JourneyApp(device.launch(), grants: Grants())
            app.queue.add(payment("credits5"))
            #expect(await app.told(3) == failed)
            #expect((app.latest?.error as? SKError)?.code == .unknown && app.latest?.transactionReceipt == nil)
            var ledger = try await device.ledger()
            #expect(ledger.purchases.map(\.failure) == ["payment_declined"])
            #expect(ledger.transactions.isEmpty && ledger.payments.isEmpty)
            await app.stop()

            let other = JourneyApp(device.launch(device.configuration(answer: .cancel)), grants: Grants())
            other.queue.add(payment("credits5"))
            #expect(await other.told(3) == failed)
            #expect((other.latest?.error as? SKError)?.code == .paymentCancelled)
            await other.stop()
            // The store heard nothing of the second, and nothing is left to do.
            ledger = try await device.ledger()
            #expect(ledger.purchases.count == 1 && ledger.transactions.isEmpty)
            #expect(try device.journal().isEmpty && !FileManager.default.fileExists(atPath: device.receiptURL.path))
        }
    }

    @Test(arguments: Backend.available, [true, false])
    func `an ask-to-buy purchase waits for approval`(_ backend: Backend, isApproved: Bool) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let grants = Grants()
            var app = JourneyApp(device.launch(), grants: grants)
            app.queue.add(payment("credits5", askToBuy: true))
            #expect(await app.told(2) == ["updated purchasing credits5", "updated deferred credits5"])
            #expect(try await device.ledger().purchases.map(\.state) == ["deferred"])
            await app.stop()
            // The word may come while the app does not run, or while it does.
            app = JourneyApp(device.launch(), grants: grants)
            #expect(await app.told(1) == ["updated deferred credits5"])
            let list = try await store.control("GET", "pending-purchases")
            let pending = try #require(try JSONSerialization.jsonObject(with: Data(list.body)) as? [[String: Any]])
            let key = try #require(pending.first?["key"] as? String)
            #expect(pending.count == 1 && pending[0]["productId"] as? String == "credits5")
            let word = isApproved ? "approve" : "decline"
            let reply = try await store.control("POST", "pending-purchases/\(key)/\(word)")
            #expect(reply.status == (isApproved ? 200 : 204))
            let state = isApproved ? "purchased" : "failed"
            #expect(await app.told(3).dropFirst() == ["updated \(state) credits5", "removed \(state) credits5"])
            let ledger = try await device.ledger()
            #expect(ledger.purchases.map(\.state) == [state] && grants.all.count == (isApproved ? 1 : 0))
            #expect(ledger.transactions.map(\.isFinished) == (isApproved ? [true] : []))
            #expect(ledger.payments.count == (isApproved ? 1 : 0))
            await app.stop()
        }
    }
}
