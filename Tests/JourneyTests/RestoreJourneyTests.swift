import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Restoring on another device", .serialized, .timeLimit(.minutes(1)))
struct RestoreJourneyTests {
    /// Buys and finishes these, one after the other.
    private static func own(_ products: [String], on device: JourneyDevice) async throws {
        let app = JourneyApp(device.launch(), grants: Grants())
        for (index, product) in products.enumerated() {
            app.queue.add(payment(product))
            #expect(await app.told(index * 3 + 3).last == "removed purchased \(product)")
        }
        await app.stop()
    }

    @Test(arguments: Backend.available)
    func `a second device gets non-consumables and unfinished transactions`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let first = try await JourneyDevice(store)
            try await Self.own(["hats", "credits5", "news", "season", "club.monthly"], on: first)
            var app = JourneyApp(first.launch())
            app.queue.add(payment("scarf"))
            await app.told(2)
            await app.stop()
            let before = try await first.ledger()

            let second = JourneyDevice(beside: first, name: "b")
            let isThere = Mutex<Bool?>(nil)
            app = JourneyApp(
                second.launch { action in
                    if case .update(let entries) = action, entries.contains(where: { $0.phase == .restored }) {
                        isThere.withLock { $0 = FileManager.default.fileExists(atPath: second.receiptURL.path) }
                    }
                    return true
                })
            app.queue.restoreCompletedTransactions()
            await app.told(3)
            #expect(isThere.withLock { $0 } == true)
            let restored = "updated restored hats + updated restored news + updated restored club.monthly"
            // What is unfinished comes as it would have, before or after.
            #expect(Set(app.history) == [restored, "restore finished", "updated purchased scarf"])
            #expect(app.history.filter { $0 != "updated purchased scarf" } == [restored, "restore finished"])

            let transactions = app.queue.transactions.filter { $0.transactionState == .restored }
            let ledger = try await second.ledger()
            #expect(ledger == before && ledger.payments.count == 5)
            let ids = Dictionary(uniqueKeysWithValues: ledger.transactions.map { ($0.product, String($0.id)) })
            for transaction in transactions {
                let product = transaction.payment.productIdentifier
                #expect(transaction.original?.transactionIdentifier == ids[product])
                #expect(transaction.transactionIdentifier != ids[product])
                let date = try #require(transaction.transactionDate)
                let firstDate = try #require(transaction.original?.transactionDate)
                #expect(date > firstDate)
                #expect(transaction.original?.original == nil && transaction.original?.transactionState == .purchased)
            }
            // The receipt lists what was bought, under the ids of then, and is bound to this device.
            let receipt = try await second.checkedReceipt()
            #expect(Set(receipt.inApp.map(\.productID)) == ["hats", "news", "season", "club.monthly", "scarf"])
            #expect(Set(receipt.inApp.map(\.transactionID)).isSubset(of: Set(ids.values)))
            #expect(second.sheets.isEmpty)

            for transaction in app.queue.transactions { app.queue.finishTransaction(transaction) }
            repeat { await app.engine.payments.quiet() } while !Task.isCancelled && !app.engine.payments.isEmpty
            #expect(try await second.ledger().transactions.map(\.isFinished) == Array(repeating: true, count: 6))
            await app.stop()

            // Nothing comes again by itself, and all that lasts by another restore.
            app = JourneyApp(second.launch(), grants: Grants())
            app.queue.restoreCompletedTransactions()
            await app.told(3)
            #expect(app.history.first == "\(restored) + updated restored scarf")
            let again = app.transactions.compactMap(\.transactionIdentifier)
            #expect(Set(again).isDisjoint(with: transactions.compactMap(\.transactionIdentifier)))
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `after a kill before any step, another restore is complete`(
        _ backend: Backend
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            var kills = 0
            for step in 1...40 {
                let first = try await JourneyDevice(store, email: "ape\(step)@example.com")
                try await Self.own(["hats", "scarf"], on: first)
                let before = try await first.ledger()
                let second = JourneyDevice(beside: first, name: "b")
                let grants = Grants()
                let wasKilled = try await Self.run(second, grants) { $0 != step }
                if wasKilled {
                    kills += 1
                    #expect(try await !Self.run(second, grants) { _ in true })
                }
                #expect(try second.journal().isEmpty, "step \(step)")
                #expect(try await second.ledger() == before, "step \(step)")
                #expect(Set(grants.originals) == Set(before.transactions.map { String($0.id) }), "step \(step)")
                // What was told and not finished came again under the id that it had.
                #expect(grants.all.count <= 4, "step \(step)")
                if !wasKilled { break }
            }
            #expect(kills >= 9)
        }
    }

    /// One launch: restores, and goes on until all is finished or it was killed.
    private static func run(
        _ device: JourneyDevice, _ grants: Grants, _ mayPerform: @escaping @Sendable (Int) -> Bool
    ) async throws -> Bool {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let count = Mutex(0)
        let app = JourneyApp(
            device.launch { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if mayPerform(number) { return true }
                end.yield(true)
                return false
            }, grants: grants)
        app.queue.restoreCompletedTransactions()
        let isDone = Task {
            repeat {
                await app.engine.payments.quiet()
            } while !Task.isCancelled
                && !(app.history.contains("restore finished") && app.engine.payments.isEmpty)
            // The queue is empty before its journal is.
            await app.engine.payments.quiet()
            if !Task.isCancelled { end.yield(false) }
        }
        var iterator = ends.makeAsyncIterator()
        let wasKilled = await iterator.next() ?? false
        isDone.cancel()
        await app.stop()
        return wasKilled
    }

    @Test(arguments: Backend.available)
    func `a store that fails during a restore, and one that stays unavailable`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            try await Self.own(["hats"], on: device)
            let app = JourneyApp(device.launch())
            let fault = #"{"operation":"restores","status":503,"count":2}"#
            #expect(try await store.control("POST", "faults", fault).status < 300)
            app.queue.restoreCompletedTransactions()
            #expect(await app.told(2) == ["updated restored hats", "restore finished"])
            await store.stop()
            app.queue.restoreCompletedTransactions()
            #expect(await app.told(3).last == "restore failed unknown")
            try await store.start()
            app.queue.restoreCompletedTransactions()
            // It is in the queue still, so that there is nothing to tell but the end.
            #expect(await app.told(4).last == "restore finished")
            await app.stop()
        }
    }

    // MARK: Receipts

    @Test(arguments: Backend.available)
    func `a receipt copied from another device is refused, and a refresh replaces it`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let first = try await JourneyDevice(store)
            try await Self.own(["hats"], on: first)
            let second = JourneyDevice(beside: first, name: "b")
            var configuration = second.configuration()
            configuration.roots = [store.receiptRoot]
            let engine = second.launch(configuration)
            let copied = try first.receipt()
            try copied.write(to: second.receiptURL)

            // The app's own check finds it out, and so does the one of this module.
            let rejection = await #expect(throws: ReceiptRejection.self) { try await second.checkedReceipt() }
            #expect(rejection?.code == .wrongDeviceHash)
            let check = try ReceiptCheck(
                roots: [store.receiptRoot], bundleID: JourneyStore.bundleID, bundleVersion: "1.2",
                vendorIdentifier: try DeviceFolder(second.folder).vendorIdentifier, environment: .sandbox)
            #expect(await check.refusal(of: copied)?.contains("device") == true)

            #expect(await Refresh().error(of: SKReceiptRefreshRequest(receiptProperties: nil, engine: engine)) == nil)
            #expect(try await second.checkedReceipt().inApp.map(\.productID) == ["hats"])
            #expect(await check.refusal(of: try second.receipt()) == nil)
            // The first device's is as it was.
            #expect(try first.receipt() == copied)
            #expect(try await first.checkedReceipt().inApp.map(\.productID) == ["hats"])
            await engine.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `the sandbox's expired receipt says so, also to verifyReceipt`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let engine = device.launch()
            let request = SKReceiptRefreshRequest(
                receiptProperties: [SKReceiptPropertyIsExpired: true, SKReceiptPropertyIsVolumePurchase: true],
                engine: engine)
            #expect(await Refresh().error(of: request) == nil)
            let receipt = try await device.checkedReceipt()
            #expect(receipt.receiptType == "ProductionVPPSandbox")
            #expect(try #require(receipt.expirationDate) < receipt.creationDate)
            let answer = try await store.verify(try device.receipt())
            #expect(answer.verification == 0 && answer.receipt["receipt_type"] as? String == "ProductionVPPSandbox")
            #expect(answer.receipt["expiration_date_ms"] is String)
            await engine.stop()
        }
    }

    // MARK: The app's own name of its user

    @Test(arguments: Backend.available)
    func `applicationUsername survives a relaunch and an account switch, and reaches the receipt`(
        _ backend: Backend
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let other = try await JourneyDevice(store, email: "gibbon@example.com")
            let name = "5F1D2C3B-0A99-4E88-9D77-665544332211"
            // The store has sold it, and the device does not know: it dies before the answer is read.
            var app = JourneyApp(
                device.launch { action in
                    if case .collect = action { return false }
                    return true
                })
            let added = payment("credits5")
            added.applicationUsername = name
            app.queue.add(added)
            try await until { try await !device.ledger().purchases.isEmpty }
            await app.stop()
            #expect(try device.journal().map(\.payment.applicationUsername) == [name])

            // Somebody else signs in on the device before the app runs again.
            let address = try #require(URL(string: store.addresses.sandbox))
            let tokens = AccountTokens(file: try DeviceFolder(device.folder).accountFile(of: address))
            let client = StoreClient(transport: try #require(HTTPTransport(store: address)))
            let answer = try await client.signIn(
                SignInRequest(email: other.email, password: JourneyDevice.password, deviceID: UUID()))
            try tokens.keep(AccountTokens.SignedIn(token: answer.token, account: answer.account), asCurrent: true)

            app = JourneyApp(device.launch())
            #expect(await app.told(2) == ["updated purchasing credits5", "updated purchased credits5"])
            #expect(app.latest?.payment.applicationUsername == name)
            #expect(try await device.ledger().payments.count == 1)
            #expect(try await other.ledger().purchases.isEmpty)
            let verified = try await store.verify(try device.receipt())
            #expect(verified.inApp.map { $0["app_account_token"] as? String } == [name.lowercased()])
            // What comes after is the new account's.
            app.queue.finishTransaction(try #require(app.latest))
            await app.told(3)
            app.queue.add(payment("hats"))
            await app.told(5)
            #expect(try await other.ledger().purchases.map(\.product) == ["hats"])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a restore with a user name brings only that user's purchases`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let app = JourneyApp(device.launch(), grants: Grants())
            for (index, product) in ["hats", "scarf"].enumerated() {
                let added = payment(product)
                added.applicationUsername = index == 0 ? "ape 1" : "ape 2"
                app.queue.add(added)
                await app.told(index * 3 + 3)
            }
            app.queue.restoreCompletedTransactions(withApplicationUsername: "ape 2")
            #expect(await app.told(8).contains("updated restored scarf"))
            #expect(app.latest?.payment.applicationUsername == "ape 2")
            #expect(!app.history.contains { $0.contains("restored hats") })
            await app.stop()
        }
    }
}

/// Waits for the end of a refresh.
// @unchecked: the stream and its continuation are Sendable, and nothing else is held.
final class Refresh: NSObject, SKRequestDelegate, @unchecked Sendable {
    private let ends: AsyncStream<SKError?>
    private let end: AsyncStream<SKError?>.Continuation

    override init() {
        (ends, end) = AsyncStream.makeStream()
        super.init()
    }

    /// Nil when it did what was asked.
    func error(of request: SKRequest) async -> SKError? {
        request.delegate = self
        request.start()
        for await end in ends { return end }
        return SKError(.clientInvalid)
    }

    func requestDidFinish(_ request: SKRequest) { end.yield(nil) }
    func request(_ request: SKRequest, didFailWithError error: any Error) {
        end.yield(error as? SKError ?? SKError(.clientInvalid))
    }
}
