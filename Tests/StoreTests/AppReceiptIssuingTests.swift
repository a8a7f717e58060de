import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

extension TestStore {
    /// Reads an app receipt that must verify under the authority's root for this bundle, version and device.
    static func verified(_ bytes: [UInt8]) async throws -> AppReceipt {
        let verifier = try ReceiptVerifier(roots: [try await TestAuthority.value.receiptRoot])
        let device = withUnsafeBytes(of: TestStore.device.uuid) { Array($0) }
        let expectation = ReceiptExpectation(
            bundleID: bundleID.rawValue, applicationVersion: "7", deviceIdentifier: device)
        switch await verifier.verify(bytes, expecting: expectation) {
        case .verified(let verified): return verified.receipt
        case .rejected(let rejection): throw rejection
        }
    }

    func receiptProducts(_ account: Account) async throws -> [String] {
        try await Self.verified(try await appReceipt(account)).inApp.map(\.productID).sorted()
    }
}

@Suite(.timeLimit(.minutes(1))) struct AppReceiptIssuingTests {
    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aReceiptVerifiesAndHoldsTheLedger(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let account = try await test.account()
            let empty = try await TestStore.verified(try await test.appReceipt(account))
            #expect(empty.inApp.isEmpty && empty.environment == environment)
            let bought = try await ["credits5", "hats", "season", "news", "club.monthly"].asyncMap {
                try await test.buy(ProductID($0), by: account, quantity: $0 == "credits5" ? 4 : 1)
            }
            test.clock.milliseconds += 10_000
            let receipt = try await TestStore.verified(try await test.appReceipt(account))
            #expect(receipt.creationDate == Date(milliseconds: (TestClock.start + 10_000) / 1000 * 1000))
            let isSandbox = environment == .sandbox
            #expect(receipt.receiptType == (isSandbox ? "ProductionSandbox" : "Production"))
            #expect((receipt.appItemID == 0) == isSandbox && (receipt.downloadID == 0) == isSandbox)
            #expect((receipt.originalPurchaseDate == Date(timeIntervalSince1970: 1_375_340_400)) == isSandbox)
            #expect(receipt.originalApplicationVersion == "1.0")
            #expect(receipt.inApp.count == bought.count)
            let ledger = try await test.ledger()
            for purchase in receipt.inApp {
                let row = try #require(ledger.first { $0.transactionID.description == purchase.transactionID })
                #expect(purchase.productID == row.productID.rawValue && purchase.quantity == Int64(row.quantity))
                #expect(purchase.productType == row.kind.receiptNumber)
                #expect(purchase.purchaseDate == Date(milliseconds: row.purchaseDate / 1000 * 1000))
                #expect(purchase.expiresDate == row.expiresDate.map { Date(milliseconds: $0) })
                #expect(purchase.webOrderLineItemID == (row.webOrderLineItemID ?? 0))
                #expect(purchase.itemID == (isSandbox ? 0 : row.itemID))
                #expect(purchase.isTrialPeriod == (row.offer == .trial) && purchase.isInIntroOfferPeriod == false)
            }
        }
    }

    @Test(arguments: Backend.available) func onlyFinishedConsumablesLeaveTheReceipt(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let all = ["club.monthly", "credits5", "hats", "news", "season"]
            let bought = try await all.asyncMap { try await test.buy(ProductID($0), by: account) }
            #expect(try await test.receiptProducts(account) == all)
            for transaction in bought { try await test.store.finish(transaction.transactionID, of: account) }
            #expect(try await test.receiptProducts(account) == all.filter { $0 != "credits5" })
        }
    }

    @Test(arguments: Backend.available) func aRedeliveredPurchaseIsInTheReceiptOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("hats", by: account)
            let again = try await test.buy("hats", by: account)
            let receipt = try await TestStore.verified(try await test.appReceipt(account))
            #expect(receipt.inApp.map(\.transactionID) == [again.transactionID.description])
            #expect(receipt.inApp.map(\.originalTransactionID) == [first.transactionID.description])
        }
    }

    @Test(arguments: Backend.available) func anUnchangedLedgerIsSignedOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let credits = try await test.buy("credits5", by: account)
            let first = try await test.appReceipt(account)
            test.clock.milliseconds += 1000
            #expect(try await test.appReceipt(account) == first)
            // Another device's or version's receipt is another.
            var request = TestStore.receiptRequest
            request.vendorIdentifier = UUID()
            #expect(try await test.store.appReceipt(request, for: account) != first)
            request = TestStore.receiptRequest
            request.bundleVersion = "8"
            #expect(try await test.store.appReceipt(request, for: account) != first)
            // So is another account's with nothing in it.
            #expect(try await test.appReceipt(try await test.account("new@example.com")) != first)
            try await test.store.finish(credits.transactionID, of: account)
            let second = try await test.appReceipt(account)
            #expect(second != first)
            try await test.buy("hats", by: account)
            #expect(try await test.appReceipt(account) != second)
        }
    }

    @Test(arguments: Backend.available) func aRefreshedReceiptIsCreatedOnRequest(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            let bytes = try await test.appReceipt(account)
            let start = test.clock.milliseconds
            // A year later, a minute later, and after the clock was put back, with the same ledger.
            for moved: Int64 in [365 * 86_400_000, 60_001, 0, 60_001, -3_600_000] {
                test.clock.milliseconds = start + moved
                let now = Date(milliseconds: test.clock.milliseconds / 1000 * 1000)
                #expect(try await TestStore.verified(try await test.appReceipt(account)).creationDate == now)
                let answer = try await test.verify(bytes, password: test.sharedSecret)
                let latest = try #require(answer.latestReceipt)
                #expect(try await TestStore.verified(latest).creationDate == now)
            }
        }
    }

    @Test(arguments: Backend.available) func theNewestOfManyConsumablesAreInTheReceipt(_ backend: Backend) async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            // What lasts takes no consumable's place, finished or not.
            let lasting = ["hats", "season", "club.monthly"]
            for product in lasting { try await test.buy(ProductID(product), by: account) }
            let bytes = try await test.appReceipt(account)
            let first = try await test.buy("credits5", by: account).transactionID
            let model = try #require(try await test.database.read { try Transactions.find(first, $0) })
            let more = (0..<Transactions.mostConsumablesInReceipt).map { _ in
                var copy = model
                copy.transactionID = test.store.ids.next()
                copy.originalTransactionID = copy.transactionID
                copy.idempotencyKey = nil
                return copy
            }
            try await test.database.write { connection in
                for row in more { try row.insert(in: .sandbox, connection) }
            }
            let newest = try await test.buy("credits5", by: account).transactionID
            let expected = (more.map(\.transactionID).dropFirst() + [newest]).map(\.description)
            #expect(expected.count == Transactions.mostConsumablesInReceipt)
            func consumables(_ receipt: AppReceipt) -> [String] {
                receipt.inApp.filter { $0.productID == "credits5" }.map(\.transactionID).sorted()
            }
            let receipt = try await TestStore.verified(try await test.appReceipt(account))
            #expect(consumables(receipt) == expected)
            #expect(receipt.inApp.count == expected.count + lasting.count)
            let answer = try await test.verify(bytes, password: test.sharedSecret)
            let latest = answer.latest.filter { $0["product_id"] as? String == "credits5" }
            #expect(latest.compactMap { $0["transaction_id"] as? String } == expected.reversed())
            #expect(consumables(try await TestStore.verified(try #require(answer.latestReceipt))) == expected)
            // Those that were left out come as soon as there is room.
            try await test.store.finish(newest, of: account)
            let later = try await TestStore.verified(try await test.appReceipt(account))
            #expect(consumables(later) == more.map(\.transactionID.description))
        }
    }

    @Test(arguments: Backend.available) func anImpossibleRequestIsRefused(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let id = try await test.buy("hats", by: account).transactionID
            var request = TestStore.receiptRequest
            request.bundleID = "com.example.nothing"
            #expect(try await refusal { try await test.store.appReceipt(request, for: account) } == .unknownApp)
            for version in ["", String(repeating: "1", count: 65), "1\0"] {
                request = TestStore.receiptRequest
                request.bundleVersion = version
                #expect(try await refusal { try await test.store.appReceipt(request, for: account) } == .invalidRequest)
                #expect(
                    try await refusal { try await test.store.transactionReceipt(id, request, for: account) }
                        == .invalidRequest)
            }
            request = TestStore.receiptRequest
            request.bundleID = "com.example.other"
            #expect(
                try await refusal { try await test.store.transactionReceipt(id, request, for: account) }
                    == .unknownTransaction)
            let other = try await test.account("other@example.com")
            #expect(
                try await refusal { try await test.store.transactionReceipt(id, TestStore.receiptRequest, for: other) }
                    == .unknownTransaction)
        }
    }
}

extension Sequence {
    func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await transform(element)) }
        return result
    }
}
