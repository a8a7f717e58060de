import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// What a store delivers again.
@Suite(.timeLimit(.minutes(1))) struct RestoreTests {
    private static let device = UUID()

    private func request(
        _ key: UUID = UUID(), device: UUID = Self.device, username: String? = nil, after: TransactionID? = nil
    ) -> RestoreRequest {
        RestoreRequest(
            idempotencyKey: key, bundleID: TestStore.bundleID, deviceID: device, applicationUsername: username,
            after: after)
    }

    /// Buys, and finishes.
    @discardableResult
    private func own(
        _ product: ProductID, _ test: TestStore, _ account: Account, username: String? = nil
    ) async throws -> TransactionDescription {
        let transaction = try await test.buy(product, by: account, username: username)
        try await test.store.finish(transaction.transactionID, of: account)
        return transaction
    }

    @Test(arguments: Backend.available)
    func whatLastsIsRestoredWithAnIdAndADateOfItsOwn(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            var first: [TransactionDescription] = []
            for product: ProductID in ["hats", "news", "club.monthly"] {
                first.append(try await own(product, test, account, username: "ape 1"))
            }
            // Neither what is consumed, nor what does not renew, nor what is not finished, nor another's.
            try await own("credits5", test, account)
            try await own("season", test, account)
            try await test.buy("domestic", by: account)
            try await own("hats", test, try await test.account("other@example.com"))
            let (ledger, purchases) = (try await test.ledger(), try await test.count("purchases"))
            test.clock.milliseconds += 5_000
            let now = test.store.clock.milliseconds
            let receipt = try await test.receiptProducts(account)

            let response = try await test.store.restore(request(), for: account)
            #expect(response.next == nil)
            #expect(response.transactions.map(\.productID) == ["hats", "news", "club.monthly"])
            for (restored, source) in zip(response.transactions, first) {
                #expect(restored.transactionID > source.transactionID)
                #expect(restored.originalTransactionID == source.transactionID)
                #expect(restored.originalPurchaseDate == source.purchaseDate && restored.purchaseDate == now)
                #expect(restored.expiresDate == source.expiresDate && restored.quantity == 1)
                #expect(restored.applicationUsername == "ape 1" && restored.idempotencyKey == nil)
            }
            #expect(Set(response.transactions.map(\.transactionID)).count == 3)
            // Nothing was bought, charged or written into the receipt.
            #expect(try await test.ledger() == ledger)
            #expect(try await test.count("purchases") == purchases)
            #expect(try await test.receiptProducts(account) == receipt)
        }
    }

    @Test(arguments: Backend.available)
    func aPageAskedForAgainHasTheSameIds(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            for product: ProductID in ["hats", "news"] { try await own(product, test, account) }
            let key = UUID()
            let page = try await test.store.restore(request(key), for: account)
            #expect(try await test.store.restore(request(key), for: account) == page)
            // Also when one was finished meanwhile, and from another device under the same key.
            let ids = page.transactions.map(\.transactionID)
            try await test.store.finish(ids[0], of: account)
            #expect(try await test.store.restore(request(key), for: account) == page)
            #expect(try await test.store.restore(request(key, device: UUID()), for: account) == page)
            #expect(try await test.count("restored_transactions") == 2)
            // Another restore of the device gives what it has not finished as it was, and the rest anew.
            test.clock.milliseconds += 1_000
            let second = try await test.store.restore(request(), for: account).transactions
            #expect(second[1] == page.transactions[1])
            #expect(second[0].transactionID > ids[1] && second[0].originalTransactionID < ids[0])
            // Another device gets its own.
            let other = try await test.store.restore(request(device: UUID()), for: account).transactions
            #expect(Set(other.map(\.transactionID)).isDisjoint(with: ids + second.map(\.transactionID)))
        }
    }

    @Test(arguments: Backend.available)
    func thePagesFollowOneAnother(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let count = StoreLimits.page * 2 + 1
            try await insertOwned(count, test, account)
            let key = UUID()
            var pages: [[TransactionDescription]] = []
            var after: TransactionID?
            repeat {
                let page = try await test.store.restore(request(key, after: after), for: account)
                pages.append(page.transactions)
                after = page.next
            } while after != nil
            #expect(pages.map(\.count) == [StoreLimits.page, StoreLimits.page, 1])
            #expect(Set(pages.joined().map(\.transactionID)).count == count)
            let originals = pages.joined().map(\.originalTransactionID)
            #expect(originals == originals.sorted() && Set(originals).count == count)
            // A page in the middle is the same when it is asked for again.
            let again = try await test.store.restore(request(key, after: originals[StoreLimits.page - 1]), for: account)
            #expect(again.transactions == pages[1])
        }
    }

    /// Finished non-consumables of products that the catalog need not have any more.
    private func insertOwned(_ count: Int, _ test: TestStore, _ account: Account) async throws {
        try await own("hats", test, account)
        var transaction = try #require(try await test.ledger().first)
        let template = transaction
        transaction.idempotencyKey = nil
        for number in 1..<count {
            transaction.transactionID = TransactionID(rawValue: template.transactionID.rawValue + Int64(number) * 1_000)
            transaction.originalTransactionID = transaction.transactionID
            transaction.productID = ProductID("hat\(number)")
            let row = transaction
            try await test.database.write { try row.insert(in: .sandbox, $0) }
        }
    }

    @Test(arguments: Backend.available)
    func theUserNameNarrowsItToTheLetter(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await own("hats", test, account, username: "Ape")
            try await own("news", test, account)
            try await own("domestic", test, account, username: "ape")
            func products(_ username: String?) async throws -> [ProductID] {
                try await test.store.restore(request(username: username), for: account).transactions.map(\.productID)
            }
            #expect(try await products("Ape") == ["hats"])
            #expect(try await products("ape") == ["domestic"])
            #expect(try await products("") == [])
            #expect(try await products("nobody") == [])
            #expect(try await products(nil) == ["hats", "news", "domestic"])
        }
    }

    @Test(arguments: Backend.available)
    func whatWasDeliveredAgainIsRestoredOnceAndWhatWasRefundedIsNot(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let hats = try await own("hats", test, account)
            try await own("hats", test, account)
            let news = try await own("news", test, account)
            try await test.database.write { connection in
                try connection.execute(
                    "UPDATE transactions SET revoked_at = $1 WHERE transaction_id = $2",
                    [1 as Int64, news.transactionID.rawValue])
            }
            let restored = try await test.store.restore(request(), for: account).transactions
            #expect(restored.map(\.originalTransactionID) == [hats.transactionID])
        }
    }

    @Test(arguments: Backend.available)
    func everyPeriodOfASubscriptionIsRestored(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await own("gym.monthly", test, account)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 40 * 86_400_000
            let second = try await own("gym.monthly", test, account)
            let restored = try await test.store.restore(request(), for: account).transactions
            #expect(restored.map(\.expiresDate) == [first.expiresDate, second.expiresDate])
            #expect(Set(restored.map(\.transactionID)).isDisjoint(with: [first.transactionID, second.transactionID]))
        }
    }

    @Test(arguments: Backend.available)
    func aRestoredTransactionIsFinishedByItsOwnerAlone(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (account, other) = (try await test.account(), try await test.account("other@example.com"))
            try await own("hats", test, account)
            let id = try #require(try await test.store.restore(request(), for: account).transactions.first)
                .transactionID
            #expect(try await refusal { try await test.store.finish(id, of: other) } == .unknownTransaction)
            func finishedAt() async throws -> Int64? {
                try await test.database.read {
                    try $0.queryOne("SELECT finished_at FROM restored_transactions")?.optionalInt64(0)
                }
            }
            #expect(try await finishedAt() == nil)
            try await test.store.finish(id, of: account)
            let first = try await finishedAt()
            test.clock.milliseconds += 1_000
            try await test.store.finish(id, of: account)
            let second = try await finishedAt()
            #expect(first != nil && first == second)
        }
    }

    @Test(arguments: Backend.available)
    func itsReceiptOfTheOldKindNamesTheOriginal(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let hats = try await own("hats", test, account)
            let club = try await own("club.monthly", test, account)
            test.clock.milliseconds += 1_000
            let restored = try await test.store.restore(request(), for: account).transactions
            for (transaction, source) in zip(restored, [hats, club]) {
                let id = transaction.transactionID
                let bytes = try await test.store.transactionReceipt(id, TestStore.receiptRequest, for: account)
                let body = VerifyReceiptRequest(
                    receiptData: bytes, password: test.sharedSecret, excludeOldTransactions: false
                ).body
                guard case .transactionReceipt(let answer) = await test.store.verifyReceipt(body) else {
                    Issue.record("not verified")
                    continue
                }
                #expect(answer.receipt.transactionID == id.description)
                #expect(answer.receipt.originalTransactionID == source.transactionID.description)
                #expect(answer.receipt.purchaseDate.milliseconds == transaction.purchaseDate)
                #expect(answer.receipt.originalPurchaseDate.milliseconds == source.purchaseDate)
                #expect((answer.subscription != nil) == (source.expiresDate != nil))
            }
            let other = try await test.account("other@example.com")
            let id = try #require(restored.first).transactionID
            #expect(
                try await refusal { try await test.store.transactionReceipt(id, TestStore.receiptRequest, for: other) }
                    == .unknownTransaction)
        }
    }

    @Test(arguments: Backend.available)
    func whatWasFinishedIsForgottenInTime(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            for product: ProductID in ["hats", "news", "gym.monthly"] { try await own(product, test, account) }
            let other = UUID()
            let waiting = try await test.store.restore(request(device: other), for: account).transactions
            var receipts: [[UInt8]] = []
            for _ in 0..<100 {
                let restored = try await test.store.restore(request(), for: account).transactions
                #expect(restored.count == 3)
                for id in restored.map(\.transactionID) {
                    // While it is not finished, its receipt is to be had.
                    if receipts.isEmpty {
                        receipts.append(
                            try await test.store.transactionReceipt(id, TestStore.receiptRequest, for: account))
                    }
                    try await test.store.finish(id, of: account)
                }
            }
            #expect(try await test.count("restored_transactions") == 6)
            // Another device's stand as they are, and a receipt whose id was forgotten verifies as the original's.
            #expect(try await test.store.restore(request(device: other), for: account).transactions == waiting)
            for id in waiting.map(\.transactionID) {
                #expect(
                    try await !test.store.transactionReceipt(id, TestStore.receiptRequest, for: account).isEmpty)
            }
            #expect(try await test.verify(try #require(receipts.first)).status == 0)
            // So many devices are remembered and no more; those that restored last.
            for _ in 0..<RestoredTransactions.devices + 5 {
                _ = try await test.store.restore(request(device: UUID()), for: account)
            }
            #expect(try await test.count("restored_transactions") == RestoredTransactions.devices * 3)
            #expect(
                try await refusal { try await test.store.finish(waiting[0].transactionID, of: account) }
                    == .unknownTransaction)
        }
    }

    /// All of an account's devices are looked at when one comes that was not there, and not with every page of every
    /// restore.
    @Test(arguments: Backend.available)
    func aKnownDeviceLooksAtNoOther(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let hats = try await own("hats", test, account)
            for restored in try await test.store.restore(request(), for: account).transactions {
                try await test.store.finish(restored.transactionID, of: account)
            }
            let more = RestoredTransactions.devices + 7
            try await test.database.write { connection in
                for number in 1...more {
                    try connection.execute(
                        """
                        INSERT INTO restored_transactions
                            (account_id, transaction_id, source_transaction_id, restore_key, device_id, restored_at)
                        VALUES ($1, $2, $3, $4, $5, 0)
                        """,
                        [
                            account.accountID.rawValue, Int64(number), hats.transactionID.rawValue,
                            UUID().uuidString, UUID().uuidString,
                        ])
                }
            }
            _ = try await test.store.restore(request(), for: account)
            #expect(try await test.count("restored_transactions") == more + 1)
            _ = try await test.store.restore(request(device: UUID()), for: account)
            #expect(try await test.count("restored_transactions") == RestoredTransactions.devices)
        }
    }

    @Test(arguments: Backend.available)
    func idsGoOnAboveThoseOfRestoresAfterARestart(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let test = try await TestStore.open(database, apps: apps, clock: clock)
            let account = try await test.account()
            try await own("hats", test, account)
            let id = try #require(try await test.store.restore(request(), for: account).transactions.first)
                .transactionID
            // The machine's clock was put back.
            clock.milliseconds -= 3_600_000
            let after = try await TestStore.open(database, apps: apps, clock: clock)
            #expect(try await after.buy("credits5", by: account).transactionID > id)
        }
    }

    @Test(arguments: Backend.available)
    func anImpossibleRequestIsRefused(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            var request = request(username: String(repeating: "x", count: StoreLimits.applicationUsername + 1))
            #expect(try await refusal { try await test.store.restore(request, for: account) } == .invalidRequest)
            request = self.request()
            request.bundleID = "com.example.nothing"
            #expect(try await refusal { try await test.store.restore(request, for: account) } == .unknownApp)
        }
    }

    @Test(arguments: Backend.available)
    func restoresAtTheSameTimeGiveOneIdEach(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            for product: ProductID in ["hats", "news"] { try await own(product, test, account) }
            let key = UUID()
            let responses = try await withThrowingTaskGroup(of: RestoreResponse.self) { group in
                for number in 0..<12 {
                    let request = request(number % 2 == 0 ? key : UUID())
                    group.addTask { try await test.store.restore(request, for: account) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(responses.map { $0.transactions.map(\.transactionID) }).count == 1)
            #expect(try await test.count("restored_transactions") == 2)
        }
    }
}

/// The receipts that a test may ask the sandbox for.
@Suite(.timeLimit(.minutes(1))) struct ReceiptPretenceTests {
    private func receipt(_ pretence: ReceiptPretence?, _ test: TestStore, _ account: Account) async throws -> AppReceipt
    {
        var request = TestStore.receiptRequest
        request.pretence = pretence
        return try await TestStore.verified(try await test.store.appReceipt(request, for: account))
    }

    @Test func theSandboxSimulatesRequestedConditions() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("hats", by: account)
            let plain = try await receipt(nil, test, account)
            #expect(plain.receiptType == "ProductionSandbox" && plain.expirationDate == nil)
            let expired = try await receipt(
                ReceiptPretence(isExpired: true, isRevoked: false, isVolumePurchase: false), test, account)
            #expect(expired.receiptType == "ProductionSandbox")
            #expect(try #require(expired.expirationDate) < expired.creationDate)
            let revoked = try await receipt(
                ReceiptPretence(isExpired: false, isRevoked: true, isVolumePurchase: false), test, account)
            #expect(revoked.receiptType == "ProductionVPPSandbox" && revoked.expirationDate == revoked.creationDate)
            let volume = try await receipt(
                ReceiptPretence(isExpired: false, isRevoked: false, isVolumePurchase: true), test, account)
            #expect(volume.receiptType == "ProductionVPPSandbox" && volume.expirationDate == nil)
            for receipt in [expired, revoked, volume] { #expect(receipt.inApp.map(\.productID) == ["hats"]) }
            // Without it the receipt is as it was.
            #expect(try await receipt(nil, test, account) == plain)
        }
    }

    @Test func productionSimulatesNothing() async throws {
        try await Backend.sqlite.withStore(.production) { test async throws in
            let account = try await test.account()
            let receipt = try await receipt(
                ReceiptPretence(isExpired: true, isRevoked: true, isVolumePurchase: true), test, account)
            #expect(receipt.receiptType == "Production" && receipt.expirationDate == nil)
        }
    }

    @Test(arguments: Backend.available)
    func aUserNameThatIsAUUIDIsTheAccountTokenOfEveryPurchase(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let name = "5F1D2C3B-0A99-4E88-9D77-665544332211"
            try await test.buy("credits5", by: account, username: name)
            try await test.buy("hats", by: account, username: "ape 7")
            let bytes = try await test.appReceipt(account)
            let body = VerifyReceiptRequest(receiptData: bytes, password: nil, excludeOldTransactions: false).body
            guard case .appReceipt(let answer) = await test.store.verifyReceipt(body) else {
                Issue.record("not verified")
                return
            }
            let tokens = Dictionary(
                uniqueKeysWithValues: answer.receipt.inApp.map { ($0.productID, $0.appAccountToken) })
            #expect(tokens == ["credits5": name.lowercased(), "hats": nil])
        }
    }
}
