import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// What happens to subscriptions when the clock, the catalog or the customer does what nobody expects. Nothing is
/// doubled and nothing is lost.
@Suite(.timeLimit(.minutes(1))) struct SubscriptionBadInputTests {
    private static let day: Int64 = 86_400_000

    private func only(_ test: TestStore, _ account: Account) async throws -> Subscription {
        try #require(try await test.store.subscriptions(of: account).first)
    }

    private func lastNews(_ test: TestStore, _ account: Account) async throws -> String {
        let news = try await test.store.news(
            of: try await only(test, account).originalTransactionID, limit: 1
        ).first
        return [news?.type.rawValue, news?.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
    }

    /// Checks that each period was paid once, and that none begins before the one before it is over.
    private func expectNoGapAndNoDouble(_ ledger: [Transaction], _ processor: ScriptedProcessor) {
        for (period, next) in zip(ledger, ledger.dropFirst()) {
            #expect(period.expiresDate == next.purchaseDate, "\(period.transactionID)")
        }
        #expect(Set(ledger.map(\.webOrderLineItemID)).count == ledger.count)
        #expect(processor.held.count == ledger.count)
        #expect(processor.held.values.reduce(0, +) == ledger.map(\.price.milliunits).reduce(0, +))
    }

    // MARK: The clock

    @Test(arguments: Backend.available) func aClockThatIsSetBackRenewsNothingTwice(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            let end = try #require(first.expiresDate)
            try await test.store.changeClock { try $0.set(to: end + Self.day) }
            #expect(try await test.ledger().count == 2)
            for _ in 0..<3 {
                try await test.store.changeClock { try $0.set(to: TestClock.start + Self.day) }
                let receipt = try await test.appReceipt(account)
                let answer = try await test.verify(receipt, password: test.sharedSecret)
                #expect(answer.status == 0 && answer.latest.count == 2)
                #expect(try await only(test, account).state == .active)
                try await test.store.changeClock { try $0.set(to: end + Self.day) }
            }
            #expect(try await test.ledger().count == 2)
            try await test.store.changeClock { try $0.advance(months: 1) }
            let ledger = try await test.ledger()
            #expect(ledger.count == 3)
            expectNoGapAndNoDouble(ledger, processor)
        }
    }

    @Test(arguments: Backend.available) func nearlyACenturyPassesInOneStep(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(.production, processor: processor) { test async throws in
            try await test.store.changeClock { try $0.set(to: 978_400_000_000) }  // 2001-01-02
            let account = try await test.account()
            try await test.buy("club.yearly", by: account)
            // Beyond the clock's range nothing happens.
            await #expect(throws: StoreError.self) {
                try await test.store.changeClock { try $0.advance(months: 1_200) }
            }
            #expect(try await test.ledger().count == 1)
            try await test.store.changeClock { try $0.set(to: 4_102_358_400_000) }  // 2099-12-31
            let ledger = try await test.ledger()
            // Three months of an offer, and a year each until January 2100 is reached; the last is charged a day early.
            #expect(ledger.count >= 101 && ledger.prefix(4).map(\.price.milliunits) == [990, 990, 990, 49_990])
            expectNoGapAndNoDouble(ledger, processor)
            #expect(try await only(test, account).isActive(at: test.store.clock.milliseconds))
        }
    }

    @Test(arguments: Backend.available) func aYearInTheSandboxEndsAfterTwelveRenewals(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            try await test.buy("gym.monthly", by: account)
            try await test.store.changeClock { try $0.advance(months: 600) }
            let ledger = try await test.ledger()
            #expect(ledger.count == 13)
            expectNoGapAndNoDouble(ledger, processor)
            #expect(try await lastNews(test, account) == "EXPIRED/VOLUNTARY")
        }
    }

    @Test(arguments: Backend.available) func aChangeInTheSecondOfTheRenewalFollowsIt(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.weekly", by: account)
            // Nobody has settled what is due at this moment.
            test.clock.milliseconds = try #require(first.expiresDate)
            try await test.buy("club.monthly", by: account)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.productID) == ["club.weekly", "club.weekly", "club.monthly"])
            // The renewed week has just begun: it is given back whole.
            #expect(ledger.map(\.isUpgraded) == [false, true, false])
            #expect(ledger[1].refunded == ledger[1].price.milliunits && ledger[0].refunded == 0)
            #expect(try await only(test, account).productID == "club.monthly")
        }
    }

    // MARK: The customer

    @Test(arguments: Backend.available) func manyChangesAtOnceLeaveOnePlan(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.weekly", by: account)
            test.clock.milliseconds = try #require(first.expiresDate) - 1
            let original = first.transactionID
            let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
                for product in ["club.monthly", "club.yearly", "club.weekly", "club.monthly"] as [ProductID] {
                    let request = test.request(product)
                    group.addTask {
                        // A device repeats what found too much change. Until then its payment stays authorized.
                        for _ in 0..<20 {
                            do {
                                let answer = try await test.store.purchase(request, by: account)
                                return answer.state == .purchased ? "purchased" : "failed"
                            } catch let error as StoreError where error.code == .unavailable {
                                continue
                            }
                        }
                        return "unavailable"
                    }
                }
                group.addTask {
                    let code = try await refusal { try await test.store.setAutoRenew(false, of: original) }
                    return code.map { "\($0)" } ?? "off"
                }
                group.addTask {
                    try await test.store.changeClock { try $0.advance(by: 1) }
                    return "moved"
                }
                group.addTask {
                    // A free or replaced period is not extended.
                    let code = try await refusal { try await test.store.extend(original, days: 2) }
                    return code.map { "\($0)" } ?? "extended"
                }
                var all: [String] = []
                for try await outcome in group { all.append(outcome) }
                return all
            }
            // The yearly plan is above the others, so that its purchase always makes a period.
            #expect(Set(outcomes).isSuperset(of: ["purchased", "off", "moved"]), "\(outcomes)")
            let now = test.store.clock.milliseconds
            let ledger = try await test.ledger()
            // One period is paid for this moment, whatever came first.
            let current = ledger.filter {
                $0.purchaseDate <= now && ($0.expiresDate ?? 0) > now && !$0.isUpgraded && $0.revokedAt == nil
            }
            #expect(current.count <= 1 && ledger.count > 1)
            let subscription = try await only(test, account)
            #expect(current.isEmpty || current.first?.transactionID == subscription.transactionID)
            #expect(Set(ledger.map(\.originalTransactionID)) == [original])
            // What is held is what the ledger has, and what was given back is what the ledger gave back.
            #expect(processor.held.values.reduce(0, +) == ledger.map(\.price.milliunits).reduce(0, +))
            #expect(
                processor.refunds.map(\.amount.milliunits).reduce(0, +) == ledger.map(\.refunded).reduce(0, +))
        }
    }

    // MARK: The catalog

    @Test(arguments: Backend.available) func aChangedLevelCountsForTheNextChange(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            // The weekly plan was the lowest and becomes the highest.
            test.store.catalog.replace(
                with: try TestStore.catalog {
                    $0.replacing(
                        "productID: club.monthly\n            groupNumber: 2",
                        with: "productID: club.monthly\n            groupNumber: 4")
                })
            try await test.buy("club.weekly", by: account)
            #expect(try await lastNews(test, account) == "DID_CHANGE_RENEWAL_PREF/UPGRADE")
            let ledger = try await test.ledger()
            #expect(ledger.map(\.isUpgraded) == [true, false])
            #expect(ledger.last?.originalTransactionID == first.transactionID)
        }
    }

    @Test(arguments: Backend.available) func aPlanThatMovesToAnotherGroupEnds(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("id: \"21000002\"", with: "id: \"21000009\"") })
            try await test.store.changeClock { try $0.set(to: first.expiresDate ?? 0) }
            #expect(try await lastNews(test, account) == "EXPIRED/PRODUCT_NOT_FOR_SALE")
            // Bought again, it is a subscription of the other group.
            let again = try await test.buy("gym.monthly", by: account)
            #expect(again.originalTransactionID == again.transactionID)
            #expect(try await test.store.subscriptions(of: account).count == 2)
            let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
            #expect(answer.status == 0 && answer.pending.count == 2)
        }
    }

    /// A whole group leaves the catalog. One of its subscriptions renews, one is cancelled, and one is overdue.
    @Test(arguments: Backend.available) func aGroupThatLeavesTheCatalogRunsOut(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            var subscribers: [(account: Account, id: TransactionID)] = []
            for name in ["renewing", "cancelled", "overdue"] {
                let account = try await test.account("\(name)@example.com")
                subscribers.append((account, try await test.buy("gym.monthly", by: account).transactionID))
            }
            _ = try await test.store.setAutoRenew(false, of: subscribers[1].id)
            #expect(try await test.store.failRenewal(subscribers[2].id).state == .billingRetry)
            test.store.catalog.replace(
                with: try TestStore.catalog { text in
                    guard let group = text.range(of: "      - id: \"21000002\""),
                        let next = text.range(of: "      - id: \"21000003\"")
                    else { return text }
                    return text.replacingCharacters(in: group.lowerBound..<next.lowerBound, with: "")
                })
            // What was paid lasts.
            for (subscriber, status) in zip(subscribers, [1, 1, 3]) {
                #expect(try await api.statuses(subscriber.id).map(\.status) == [status])
            }
            try await test.store.changeClock { try $0.advance(by: 40 * Self.day) }
            let intents: [Subscription.Intent] = [.productUnavailable, .cancelled, .productUnavailable]
            for (subscriber, intent) in zip(subscribers, intents) {
                let account = subscriber.account
                let subscription = try await only(test, account)
                #expect(subscription.state == .expired && subscription.expirationIntent == intent)
                #expect(try await api.statuses(subscriber.id).map(\.status) == [2])
                #expect(try await api.history(subscriber.id.description) == [subscriber.id.description])
                let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
                #expect(answer.status == 0 && answer.latest.count == 1 && answer.pending.count == 1)
                #expect(try await test.store.managedSubscriptions(of: account).subscriptions.count <= 1)
                let refused = try await test.store.purchase(test.request("gym.monthly"), by: account)
                #expect(refused.failure?.code == .productNotAvailable)
            }
            // The group comes back, and the subscription goes on.
            test.store.catalog.replace(with: try TestStore.catalog())
            let again = try await test.buy("gym.monthly", by: subscribers[0].account)
            #expect(again.originalTransactionID == subscribers[0].id)
        }
    }

    @Test(arguments: Backend.available) func withoutAPriceInTheCustomersStorefrontItEnds(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            test.store.catalog.replace(
                with: try TestStore.catalog {
                    $0.replacing(
                        "productID: gym.monthly\n",
                        with: "productID: gym.monthly\n            availability: { except: [USA] }\n")
                })
            try await test.store.changeClock { try $0.set(to: first.expiresDate ?? 0) }
            #expect(try await lastNews(test, account) == "EXPIRED/PRODUCT_NOT_FOR_SALE")
            #expect(processor.held.count == 1)
            // The customer can subscribe again when it is sold again.
            test.store.catalog.replace(with: try TestStore.catalog())
            let again = try await test.buy("gym.monthly", by: account)
            #expect(again.originalTransactionID == first.transactionID)
            #expect(try await lastNews(test, account) == "SUBSCRIBED/RESUBSCRIBE")
        }
    }

    @Test(arguments: Backend.available) func aCustomerWhoMovesPaysTheNewStorefrontsPrice(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.yearly", by: account)
            var change = AccountChange()
            change.storefront = "DEU"
            _ = try await test.store.accounts.change(account.accountID, change)
            try await test.store.changeClock { try $0.set(to: first.expiresDate ?? 0) }
            let ledger = try await test.ledger()
            // The offer was agreed in dollars. The renewal costs the catalog's price in euros.
            #expect(ledger.map(\.price.currency) == ["USD", "EUR"] && ledger[1].price.milliunits > 0)
            #expect(ledger[1].storefront == "DEU" && ledger[1].offer == nil)
            expectNoGapAndNoDouble(ledger, processor)
        }
    }
}
