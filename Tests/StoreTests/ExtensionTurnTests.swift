import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Extensions of all subscriptions of a product beside the other work that is due.
@Suite("Extensions and other due work", .timeLimit(.minutes(1))) struct ExtensionTurnTests {
    private typealias Scene = APIScene

    /// A turn extends some subscriptions and renews others. A kill between two turns changes nothing.
    @Test(arguments: Backend.available) func extensionsAndRenewalsTakeTurns(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let scene = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            var bought: [TransactionDescription] = []
            for number in 0..<3 {
                let account = try await scene.test.account("ape\(number)@example.com")
                bought.append(try await scene.test.buy("gym.monthly", by: account))
            }
            let weekly = try await scene.test.buy("club.weekly", by: scene.test.account("weekly@example.com"))
            _ = try await scene.extendAll()
            clock.milliseconds += 8 * 86_400_000
            #expect(try await scene.store.settleOneTurn(limit: 1))
            #expect(try await scene.news(weekly.transactionID).last == "DID_RENEW")
            var extended: [Int] = []
            for period in bought { extended.append(try await scene.extensions(period.transactionID)) }
            #expect(extended == [1, 0, 0])

            // The other two renew before the request comes to them, and are extended first all the same.
            clock.milliseconds += 60 * 86_400_000
            let again = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            try await again.store.settle(nil)
            #expect(try await again.status()["complete"] as? Bool == false)
            #expect(try await again.test.count("early_extensions") == 2)
            try await again.store.settleSubscriptions()
            #expect(try await again.status()["succeededCount"] as? Int == 3)
            #expect(try await again.status()["failedCount"] as? Int == 0)
            for description in bought {
                let news = try await again.news(description.transactionID)
                #expect(news.prefix(3) == ["SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "DID_RENEW"])
                #expect(news.count { $0 == "RENEWAL_EXTENDED" } == 1)
                let end = try #require(description.expiresDate)
                let period = try await database.read { try Transactions.find(description.transactionID, $0) }
                #expect(period?.expiresDate == Scene.date(10, after: end))
            }
            #expect(try await again.test.count("early_extensions") == 0)
            #expect(try await again.summaries().count == 1)
        }
    }

    /// A customer's request makes the extensions that were accepted, before a renewal, and each once.
    @Test(arguments: Backend.available) func aCustomersRequestDoesNotOvertakeAnExtension(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let account = try await test.account()
            let bought = try await test.buy("gym.monthly", by: account)
            for id in ["first", "second", "third"] { _ = try await scene.extendAll(Scene.mass(id: "\"\(id)\"")) }
            // Who buys later is not concerned.
            test.clock.milliseconds += 86_400_000
            let late = try await test.buy("gym.monthly", by: test.account("late@example.com"))
            test.clock.milliseconds += 62 * 86_400_000
            _ = try await test.store.subscriptions(of: account)
            let ledger = try await test.ledger().filter { $0.accountID == account.accountID }
            let moved = Scene.date(10, after: Scene.date(10, after: try #require(bought.expiresDate)))
            #expect(ledger.first?.expiresDate == moved && ledger.dropFirst().first?.purchaseDate == moved)
            let news = try await scene.news(bought.transactionID)
            #expect(
                news.prefix(5) == [
                    "SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE",
                    "DID_RENEW",
                ])
            try await test.store.settleSubscriptions()
            for (id, succeeded) in [("first", 1), ("second", 1), ("third", 0)] {
                #expect(try await scene.status(id)["succeededCount"] as? Int == succeeded)
                #expect(try await scene.status(id)["failedCount"] as? Int == 1 - succeeded)
            }
            #expect(try await scene.news(bought.transactionID) == news)
            #expect(try await scene.extensions(late.transactionID) == 0)
            #expect(try await test.count("early_extensions") == 0)
        }
    }
}
