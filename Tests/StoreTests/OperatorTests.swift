import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("What operators see and do", .timeLimit(.minutes(1))) struct OperatorTests {
    // MARK: Accounts

    @Test(arguments: Backend.available) func accountsAreFoundByStartAndProperty(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let emails = ["anna@example.com", "annabel@example.com", "ann_a@example.com", "bob@example.com"]
            var accounts: [Account] = []
            for email in emails { accounts.append(try await test.account(email)) }
            func list(_ query: AccountQuery) async throws -> [String] {
                let page = try await test.store.accounts.list(query)
                #expect(page.next == nil)
                return page.rows.map(\.account.email)
            }
            #expect(try await list(AccountQuery(start: "ANNA")) == ["anna@example.com", "annabel@example.com"])
            #expect(try await list(AccountQuery(start: "ann_")) == ["ann_a@example.com"])
            #expect(try await list(AccountQuery(start: "%")).isEmpty)
            let first = try await test.store.accounts.list(AccountQuery(start: "ann", limit: 2))
            #expect(first.rows.count == 2 && first.next == first.rows.last?.account.email)
            #expect(try await list(AccountQuery(after: first.next, start: "ann", limit: 2)).count == 1)

            _ = try await test.store.accounts.change(accounts[3].accountID, AccountChange(isLocked: true))
            _ = try await test.store.accounts.change(
                accounts[0].accountID,
                AccountChange(paymentsAllowed: false, asksToBuy: true, interruptsPurchases: true))
            #expect(try await list(AccountQuery(flag: .locked)) == ["bob@example.com"])
            #expect(try await list(AccountQuery(flag: .asksToBuy)) == ["anna@example.com"])
            #expect(try await list(AccountQuery(flag: .interruptsPurchases)) == ["anna@example.com"])
            #expect(try await list(AccountQuery(flag: .paymentsForbidden)) == ["anna@example.com"])
            #expect(try await list(AccountQuery(start: "b", flag: .asksToBuy)).isEmpty)

            let old = try await test.buy("credits5", by: accounts[1]).transactionID
            test.clock.milliseconds += 1000
            try await test.buy("hats", by: accounts[1])
            try await test.store.finish(old, of: accounts[1])
            let active = try await test.store.accounts.list(AccountQuery(start: "annabel"))
            #expect(active.rows.map(\.lastPurchase) == [TestClock.start + 1000])
            #expect(
                try await Set(list(AccountQuery(flag: .inactive(since: TestClock.start + 1000))))
                    == Set(emails).subtracting(["annabel@example.com"]))
            #expect(try await list(AccountQuery(flag: .inactive(since: TestClock.start + 1001))).count == 4)
        }
    }

    @Test(arguments: Backend.available) func aSignedOutDeviceMustSignInAgain(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = test.store.accounts
            let ape = try await accounts.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
            let (phone, pad) = (UUID(), UUID())
            var tokens: [String] = []
            for (index, device) in [phone, pad, phone].enumerated() {
                let request = SignInRequest(email: ape.email, password: "banana", deviceID: device)
                tokens.append(try await accounts.signIn(request, at: Int64(index + 1)).token)
            }
            for token in tokens { _ = try await accounts.account(token: token) }
            #expect(
                try await accounts.devices(of: ape) == [
                    SignedInDevice(deviceID: phone.uuidString, signedInAt: 3),
                    SignedInDevice(deviceID: pad.uuidString, signedInAt: 2),
                ])
            #expect(try await accounts.signOut(ape, deviceID: phone.uuidString) == 2)
            #expect(try await refusal { try await accounts.account(token: tokens[0]) } == .notSignedIn)
            #expect(try await accounts.account(token: tokens[1]) == ape)
            #expect(try await accounts.signOut(ape, deviceID: nil) == 1)
            #expect(try await refusal { try await accounts.account(token: tokens[1]) } == .notSignedIn)
            #expect(try await accounts.devices(of: ape).isEmpty)
        }
    }

    // MARK: Clearing a history

    @Test(arguments: Backend.available) func aClearedTesterBuysAsForTheFirstTime(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            for account in [ape, bob] {
                try await test.buy("hats", by: account)
                try await test.buy("credits5", by: account)
                let waiting = test.request("club.monthly", asksToBuy: true)
                #expect(try await test.store.purchase(waiting, by: account).state == .deferred)
            }
            // An attempt that was approved since has paid; only the waiting one's authorization is given back.
            let approved = test.request("credits5", asksToBuy: true)
            #expect(try await test.store.purchase(approved, by: ape).state == .deferred)
            #expect(try await test.store.approve(approved.idempotencyKey).state == .purchased)
            // A lower plan is a purchase with the transaction of the current one.
            try await test.buy("club.yearly", by: ape)
            try await test.buy("club.weekly", by: ape)
            #expect(try await test.count("purchases") == 9)
            let voids = processor.voids.count

            let cleared = try await test.store.clearHistory(of: ape)
            #expect(cleared == ClearedHistory(transactions: 4, items: 0, attempts: 2))
            #expect(processor.voids.count == voids + 1 && processor.voids.last != approved.idempotencyKey)
            var query = LedgerQuery()
            query.accountID = ape.accountID
            #expect(try await test.store.ledger(query).rows.isEmpty)
            #expect(try await test.store.attempts(AttemptQuery(accountID: ape.accountID)).rows.isEmpty)
            #expect(try await test.store.ownerships(of: ape).isEmpty)
            #expect(try await test.store.pendingPurchases().map(\.accountID) == [bob.accountID])
            // Bob has all of his.
            query.accountID = bob.accountID
            #expect(try await test.store.ledger(query).rows.count == 2)
            #expect(try await test.count("purchases") == 3)
            // The product costs its price again.
            let again = try await test.buy("hats", by: ape)
            #expect(again.originalTransactionID == again.transactionID)
            #expect(try await test.ledger().last?.price.milliunits == 2990)
            #expect(try await test.store.clearHistory(of: ape).transactions == 1)
            for environment in StoreEnvironment.allCases {
                #expect(try await key(withoutTransactionIn: environment, test) == nil)
            }
            // Earlier versions left free purchases without their transactions, and no paid ones.
            try await test.database.write { try $0.execute("DELETE FROM transactions") }
            #expect(try await key(withoutTransactionIn: .sandbox, test) != nil)
            try await test.database.write { try $0.execute("UPDATE purchases SET amount = 0") }
            #expect(try await key(withoutTransactionIn: .sandbox, test) == nil)
            #expect(try await key(withoutTransactionIn: .production, test) != nil)
        }
    }

    private func key(withoutTransactionIn environment: StoreEnvironment, _ test: TestStore) async throws -> String? {
        try await test.database.read { try Purchase.keyWithoutTransaction(in: environment, $0) }
    }

    @Test(arguments: Backend.available) func productionKeepsItsHistory(_ backend: Backend) async throws {
        try await backend.withStore(.production) { test async throws in
            let ape = try await test.account()
            try await test.buy("hats", by: ape)
            #expect(try await refusal { try await test.store.clearHistory(of: ape) } == .forbidden)
            #expect(try await test.ledger().count == 1)
        }
    }

    // MARK: The search

    @Test(arguments: Backend.available) func theSearchFindsIdentifiersFirst(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account(id: "00aa11bb22cc33dd")
            let bought = try await test.buy("credits5", by: ape, username: "ape@exam").transactionID
            func words(_ text: String) async throws -> [String] {
                try await test.store.search(text).map { hit in
                    switch hit {
                    case .row(let row): "row \(row.transactionID)"
                    case .account(let account): "account \(account.email)"
                    case .product(let product, let app): "product \(product.productID) \(app.bundleID)"
                    case .app(let app): "app \(app.bundleID)"
                    }
                }
            }
            #expect(try await words(bought.description) == ["row \(bought)"])
            #expect(try await words("00aa11bb22cc33dd") == ["account ape@example.com"])
            #expect(try await words("hats") == ["product hats com.example.monkeys"])
            #expect(try await words("com.example.other") == ["app com.example.other"])
            let number = try #require(test.store.apps["com.example.other"]?.appID)
            #expect(try await words("\(number)") == ["app com.example.other"])
            #expect(try await words("ape@exam") == ["account ape@example.com", "row \(bought)"])
            #expect(try await words("nothing").isEmpty)
            for text in ["", String(repeating: "a", count: 255), "a\0b"] {
                #expect(try await refusal { try await test.store.search(text) } == .invalidRequest)
            }
        }
    }

    // MARK: Offers

    @Test(arguments: Backend.available) func promotionsAndCodesCanBeWithdrawn(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            let promotion = try await test.store.promote("hats", in: TestStore.bundleID, to: ape)
            #expect(try await test.store.promotions(of: ape).map(\.promotionID) == [promotion])
            try await test.store.takePromotion(promotion, of: ape)
            #expect(try await test.store.promotions(of: ape).isEmpty)
            let (kept, withdrawn) = (
                try await test.store.addCode(for: "hats", in: TestStore.bundleID),
                try await test.store.addCode(for: "hats", in: TestStore.bundleID)
            )
            try await test.store.withdrawCode(withdrawn.code.lowercased())
            let request = CodeRedemptionRequest(bundleID: TestStore.bundleID, code: withdrawn.code)
            #expect(try await refusal { try await test.store.redeem(request, by: ape) } == .unknownCode)
            _ = try await test.store.redeem(
                CodeRedemptionRequest(bundleID: TestStore.bundleID, code: kept.code), by: ape)
            #expect(try await test.store.codes(of: ape).map(\.code) == [kept.code])
            #expect(try await refusal { try await test.store.withdrawCode(kept.code) } == .codeUsed)
            #expect(try await refusal { try await test.store.withdrawCode(withdrawn.code) } == .unknownCode)
        }
    }

    @Test(arguments: Backend.available) func oneRuleCanBeRemoved(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let payments = test.store.payments
            for name in ["a", "b"] {
                try await payments.setRule(
                    DeclineRule(ruleID: name, accountID: nil, productID: nil, minimumAmount: nil, remaining: nil))
            }
            #expect(try await payments.removeRule("a"))
            #expect(try await !payments.removeRule("a"))
            #expect(try await payments.declineRules.map(\.ruleID) == ["b"])
            #expect(try await SandboxPaymentProcessor.open(test.database).declineRules.map(\.ruleID) == ["b"])
        }
    }

    // MARK: Changes and the audit list

    @Test(arguments: Backend.available) func eachChangeIsCountedUnderItsTopic(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let store = test.store
            func changed(_ body: () async throws -> Void) async throws -> Set<String> {
                let before = store.changes.snapshot
                try await body()
                return Set(store.changes.snapshot.changed(since: before).map(\.name))
            }
            let ape = try await test.account()
            #expect(try await changed {} == [])
            #expect(try await changed { try await test.buy("hats", by: ape) } == ["sandbox.transactions"])
            let asked = test.request("credits5", asksToBuy: true)
            #expect(try await changed { _ = try await store.purchase(asked, by: ape) } == ["sandbox.attempts"])
            #expect(
                try await changed { _ = try await store.approve(asked.idempotencyKey) }
                    == ["sandbox.attempts", "sandbox.transactions"])
            let id = try #require(try await test.ledger().first).transactionID
            #expect(try await changed { try await store.finish(id, of: ape) } == ["sandbox.transactions"])
            #expect(
                try await changed { _ = try await store.refund(id, reason: .other) } == ["sandbox.transactions"])
            #expect(
                try await changed { _ = try await store.accounts.change(ape.accountID, AccountChange(isLocked: true)) }
                    == ["sandbox.accounts"])
            #expect(try await changed { try await store.changeClock { $0.freeze() } } == ["sandbox.clock"])
            #expect(
                try await changed {
                    try await store.faults.order(Faults.Fault(operation: .finish, status: 500, remaining: 1))
                } == ["sandbox.faults"])
            #expect(try await changed { _ = try await store.faults.next(.finish) } == ["sandbox.faults"])
            #expect(
                try await changed { _ = try await store.addCode(for: "hats", in: TestStore.bundleID) }
                    == ["sandbox.offers"])
            // A prepared purchase, which the server answers without its router, counts too.
            let other = try await store.accounts.create(
                NewAccount(email: "bob@example.com", password: "banana", storefront: "USA"), at: 1)
            let token = try await store.accounts.signIn(
                SignInRequest(email: other.email, password: "banana", deviceID: UUID()), at: 1
            ).token
            _ = try await store.accounts.account(token: token)
            let prepared = try #require(store.preparePurchase(test.request("credits5"), token: Substring(token)))
            #expect(
                try await changed {
                    await withCheckedContinuation { done in store.record(prepared) { _ in done.resume() } }
                } == ["sandbox.transactions"])
        }
    }

    @Test func aReaderThatWaitsLearnsOfAChange() async throws {
        let changes = Changes()
        let before = changes.snapshot
        changes.record(ChangeTopic(.catalog, nil))
        // It happened before the reader began to wait, and is not lost.
        let now = try await changes.wait(since: before, upTo: .seconds(30))
        #expect(now.changed(since: before).map(\.name) == ["catalog"])
        #expect(try await changes.wait(since: now, upTo: .zero) == now)
        let waiting = Task { try await changes.wait(since: now, upTo: .seconds(3600)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(Set(ChangeTopic.all.map(\.name)).count == ChangeTopic.all.count)
    }

    @Test(arguments: Backend.available) func theAuditListIsBounded(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let log = AuditLog(StoreDatabases(apps: apps, sandbox: database, production: database))
            func entry(_ subject: String) -> AuditEntry {
                AuditEntry(
                    operatorName: "Kim", environment: "sandbox", operation: "PUT /clock", subject: subject,
                    before: nil, after: String(repeating: "x", count: 2000))
            }
            let day: Int64 = 24 * 3600 * 1000
            try await log.record(entry("old"), at: 0)
            try await log.record(entry("newer"), at: 6 * day)
            #expect(try await log.list(before: nil, limit: 10).map(\.entry.subject) == ["newer", "old"])
            try await log.record(entry("new"), at: 8 * day)
            let kept = try await log.list(before: nil, limit: 10)
            #expect(kept.map(\.entry.subject) == ["new", "newer"] && kept[0].entry.after?.count == 1000)
            #expect(try await log.list(before: kept[0].number, limit: 10).map(\.entry.subject) == ["newer"])
            // As many entries as are kept, then one more.
            try await apps.write { connection in
                try connection.execute(
                    "UPDATE operator_changes SET number = number + $1 WHERE subject = 'new'", [AuditLog.most - 2])
            }
            try await log.record(entry("last"), at: 8 * day)
            #expect(try await log.list(before: nil, limit: 10).map(\.entry.subject) == ["last", "new"])
        }
    }

    @Test(arguments: Backend.available) func faultsCountTheRequestsThatMeetThem(_ backend: Backend) async throws {
        try await backend.withFaults(now: 7) { faults async throws in
            try await faults.order(Faults.Fault(operation: .purchases, status: 503, remaining: 2))
            #expect(try await faults.next(.purchases, account: "ape@example.com")?.remaining == 1)
            #expect(try await faults.counts == [.purchases: 1])
            func unneeded() -> String? {
                Issue.record("The account is looked up only when a fault is ordered.")
                return nil
            }
            #expect(try await faults.next(.finish, account: unneeded()) == nil)
            _ = try await faults.next(.purchases)
            #expect(try await faults.ordered.isEmpty)
            let hits = try await faults.hits
            #expect(hits.map(\.account) == [nil, "ape@example.com"] && hits.allSatisfy { $0.date == 7 })
            #expect(hits.map(\.fault.remaining) == [0, 1])
            try await faults.order(Faults.Fault(operation: .purchases, status: 503, remaining: 200))
            try await faults.order(Faults.Fault(operation: .finish, status: 503, remaining: 1))
            #expect(try await faults.counts == [.purchases: 0, .finish: 0])
            for _ in 0..<150 { _ = try await faults.next(.purchases) }
            #expect(try await faults.hits.count == Faults.mostHits)
            #expect(try await faults.remove(.purchases))
            #expect(try await !faults.remove(.purchases))
            #expect(try await faults.ordered.map(\.operation) == [.finish])
        }
    }
}
