import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Three accounts of a store. Its catalog lets families share hats and the plans of two groups, but not the weekly one.
struct Household {
    let test: TestStore
    let anna: Account
    let ben: Account
    let cleo: Account

    var store: Store { test.store }

    /// Makes the accounts, and the family of Anna and Ben.
    init(_ test: TestStore) async throws {
        self.test = test
        test.store.catalog.replace(with: try TestStore.catalog(Self.sharing))
        (anna, ben, cleo) = (
            try await test.account("anna@example.com", id: "a"), try await test.account("ben@example.com", id: "b"),
            try await test.account("cleo@example.com", id: "c")
        )
        _ = try await store.createFamily(of: anna)
        _ = try await store.addToFamily(of: anna, ben)
    }

    private static func sharing(_ text: String) -> String {
        ["hats", "club.monthly", "club.yearly", "gym.monthly"].reduce(text) { text, product in
            let keys = product == "hats" ? "        " : "            "
            let line = "productID: \(product)\n"
            return text.replacing(line, with: line + keys + "familyShareable: true\n")
        }
    }

    /// An account's transactions, oldest first.
    func ledger(_ account: Account) async throws -> [Transaction] {
        try await test.ledger().filter { $0.accountID == account.accountID }
    }

    /// The only subscription that is shared with an account.
    func shared(_ account: Account) async throws -> Subscription {
        let all = try await store.sharedSubscriptions(of: account)
        #expect(all.count == 1)
        return try #require(all.first)
    }

    /// The news of a subscription, the oldest first.
    func news(_ original: TransactionID) async throws -> [String] {
        try await store.news(of: original).reversed().map {
            [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        }
    }

    /// The answer of `verifyReceipt` for an account's fresh receipt.
    func verified(_ account: Account) async throws -> Answer {
        try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
    }

    func advance(days: Int) async throws {
        try await store.changeClock { try $0.advance(by: Int64(days) * 86_400_000) }
    }
}

extension Backend {
    /// Runs a test with a family in a store of its own.
    func withHousehold(
        _ environment: StoreEnvironment = .sandbox, processor: (any PaymentProcessor)? = nil,
        _ body: (Household) async throws -> Void
    ) async throws {
        try await withStore(environment, processor: processor) { try await body(try await Household($0)) }
    }
}

/// What members of a family get and lose.
@Suite("Family Sharing", .timeLimit(.minutes(1))) struct FamilySharingTests {
    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aMemberHasOwnTransactionsOfAPurchaseAndItsRenewals(
        _ backend: Backend, _ environment: StoreEnvironment
    ) async throws {
        let processor = ScriptedProcessor()
        try await backend.withHousehold(environment, processor: processor) { home async throws in
            let bought = try await home.test.buy("gym.monthly", by: home.anna, username: "Ape-7")
            let paid = try #require(try await home.ledger(home.anna).first)
            var shares = try await home.ledger(home.ben)
            let share = try #require(shares.first)
            #expect(shares.count == 1 && share.originalTransactionID == share.transactionID)
            #expect(share.transactionID != bought.transactionID && share.sharedFrom == bought.transactionID)
            #expect(share.price.milliunits == 0 && share.price.currency == "USD" && paid.price.milliunits == 9990)
            #expect(share.purchaseDate == paid.purchaseDate && share.expiresDate == paid.expiresDate)
            #expect(share.webOrderLineItemID != nil && share.webOrderLineItemID != paid.webOrderLineItemID)
            #expect(share.applicationUsername == nil && share.idempotencyKey == nil)
            #expect(try await home.ledger(home.cleo).isEmpty)
            // The device gets it as bought.
            let unfinished = try await home.store.unfinishedTransactions(
                of: home.ben, in: TestStore.bundleID, after: nil)
            #expect(unfinished.transactions.map(\.transactionID) == [share.transactionID])

            try await home.advance(days: 40)
            shares = try await home.ledger(home.ben)
            let periods = try await home.ledger(home.anna)
            #expect(shares.count == 2 && shares.map(\.sharedFrom) == periods.map(\.transactionID))
            #expect(shares.map(\.purchaseDate) == periods.map(\.purchaseDate))
            #expect(shares.map(\.expiresDate) == periods.map(\.expiresDate))
            #expect(Set(shares.map(\.originalTransactionID)) == [share.transactionID])
            #expect(Set((shares + periods).map(\.webOrderLineItemID)).count == 4)
            // Only the purchaser pays.
            #expect(processor.held.count == 2 && Set(processor.held.values) == [9990])
            #expect(Set(processor.authorizations.map(\.accountID)) == [home.anna.accountID])

            let shown = try await home.shared(home.ben)
            #expect(shown.state == .active && shown.purchaserID == home.anna.accountID && shown.willRenew)
            #expect(shown.originalTransactionID == share.transactionID)
            #expect(shown.transactionID == shares[1].transactionID && shown.expiresDate == shares[1].expiresDate)
            #expect(try await home.news(share.transactionID) == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"])
            #expect(try await home.store.subscriptions(of: home.ben).isEmpty)

            let answer = try await home.verified(home.ben)
            #expect(answer.status == 0 && answer.inApp.count == 2 && answer.latest.count == 2)
            for row in answer.inApp + answer.latest {
                #expect(row["in_app_ownership_type"] as? String == "FAMILY_SHARED")
                #expect(row["original_transaction_id"] as? String == share.transactionID.description)
            }
            #expect(
                answer.pending.map { $0["original_transaction_id"] as? String } == [share.transactionID.description])
            let own = try await home.verified(home.anna)
            #expect((own.inApp + own.latest).allSatisfy { $0["in_app_ownership_type"] as? String == "PURCHASED" })
        }
    }

    @Test(arguments: Backend.available)
    func aRequestOfAMemberFirstRenewsWhatIsSharedWithIt(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let first = try await home.test.buy("gym.monthly", by: home.anna)
            home.test.clock.milliseconds = try #require(first.expiresDate) + 1000
            let found = try await home.store.unfinishedTransactions(of: home.ben, in: TestStore.bundleID, after: nil)
            #expect(found.transactions.count == 2)
        }
    }

    @Test(arguments: Backend.available)
    func aRefundRevokesTheSharesAndItsReversalGivesThemBack(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let gym = try await home.test.buy("gym.monthly", by: home.anna)
            let hats = try await home.test.buy("hats", by: home.anna)
            let share = try await home.shared(home.ben)
            let own = share.originalTransactionID
            for shared in try await home.ledger(home.ben) {
                #expect(
                    try await refusal { try await home.store.refund(shared.transactionID, reason: .app) } == .wrongState
                )
            }
            home.test.clock.milliseconds += 60_000
            let now = home.store.clock.milliseconds
            _ = try await home.store.refund(gym.transactionID, reason: .app)
            _ = try await home.store.refund(hats.transactionID, reason: .app)
            #expect(try await home.ledger(home.ben).map(\.revokedAt) == [now, now])
            #expect(try await home.ledger(home.ben).map(\.refunded) == [0, 0])
            #expect(try await home.shared(home.ben).state == .revoked)
            #expect(
                try await home.news(own) == [
                    "SUBSCRIBED/INITIAL_BUY", "REVOKE", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                ])
            let lost = try await home.store.notices(
                for: home.ben, in: TestStore.bundleID, after: nil, languages: [])
            #expect(Set(lost.revokedProductIDs) == ["gym.monthly", "hats"])
            let answer = try await home.verified(home.ben)
            #expect(answer.latest.count == 2 && answer.latest.allSatisfy { $0["cancellation_date"] != nil })

            _ = try await home.store.reverseRefund(gym.transactionID)
            _ = try await home.store.reverseRefund(hats.transactionID)
            #expect(try await home.ledger(home.ben).map(\.revokedAt) == [nil, nil])
            #expect(try await home.shared(home.ben).state == .active)
            #expect(try await home.news(own).last == "REFUND_REVERSED")
            // A refund of an earlier period revokes that period alone.
            _ = try await home.store.setAutoRenew(true, of: gym.transactionID)
            try await home.advance(days: 40)
            _ = try await home.store.refund(gym.transactionID, reason: .other)
            let periods = try await home.ledger(home.ben).filter { $0.originalTransactionID == own }
            #expect(periods.map { $0.revokedAt == nil } == [false, true])
            #expect(try await home.shared(home.ben).state == .active)
        }
    }

    /// A member's transaction was never paid, so its revocation cannot be taken back like a refund.
    @Test(arguments: Backend.available)
    func aRevokedShareCannotBeReversed(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            try await home.test.buy("hats", by: home.anna)
            try await home.test.buy("gym.monthly", by: home.anna)
            _ = try await home.store.removeFromFamily(home.ben)
            let revoked = try await home.ledger(home.ben)
            #expect(revoked.count == 2 && revoked.allSatisfy { $0.revokedAt != nil })
            for share in revoked {
                await #expect(throws: StoreError.self) { try await home.store.reverseRefund(share.transactionID) }
            }
            #expect(try await home.ledger(home.ben) == revoked)
            // Nor does the product come back at no price.
            let bought = try await home.test.buy("hats", by: home.ben)
            let paid = try #require(try await home.ledger(home.ben).last)
            #expect(paid.transactionID == bought.transactionID && paid.price.milliunits == 2990)
        }
    }

    /// An upgrade to a plan that is not shared ends the share. The member's period was not replaced by another one.
    @Test(arguments: Backend.available)
    func anUpgradeToAPlanThatIsNotSharedRevokesTheShare(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            home.store.catalog.replace(
                with: try TestStore.catalog {
                    $0.replacing(
                        "productID: club.monthly\n",
                        with: "productID: club.monthly\n            familyShareable: true\n")
                })
            try await home.test.buy("club.monthly", by: home.anna)
            #expect(try await home.ledger(home.ben).count == 1)
            try await home.test.buy("club.yearly", by: home.anna)
            let share = try #require(try await home.ledger(home.ben).first)
            #expect(try await home.ledger(home.ben).count == 1)
            #expect(share.revokedAt != nil && !share.isUpgraded)
            #expect(try await home.ledger(home.anna).map(\.isUpgraded) == [true, false])
            #expect(try await home.shared(home.ben).state == .revoked)
            // The reversal of its refund does not bring the replaced period back, although its end is still to come.
            let replaced = try #require(try await home.ledger(home.anna).first)
            _ = try await home.store.refund(replaced.transactionID, reason: .other)
            _ = try await home.store.reverseRefund(replaced.transactionID)
            #expect(try await home.ledger(home.ben) == [share])
            #expect(try await home.shared(home.ben).state == .revoked)
        }
    }

    /// The reversal of an older refund gives nothing to a member who joined later and has a newer period.
    @Test(arguments: Backend.available)
    func aReversalDoesNotReplaceANewerPeriod(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let first = try await home.test.buy("gym.monthly", by: home.anna)
            _ = try await home.store.refund(first.transactionID, reason: .other)
            try await home.test.buy("gym.monthly", by: home.anna)
            _ = try await home.store.addToFamily(of: home.anna, home.cleo)
            let copies = try await home.ledger(home.cleo)
            let copy = try #require(copies.first)
            #expect(copies.count == 1)
            _ = try await home.store.reverseRefund(first.transactionID)
            #expect(try await home.ledger(home.cleo) == copies)
            #expect(try await home.shared(home.cleo).transactionID == copy.transactionID)
        }
    }

    @Test(arguments: Backend.available)
    func aMemberWhoLeavesLosesWhatWasSharedAndGetsItAgainLater(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            try await home.test.buy("gym.monthly", by: home.anna)
            try await home.test.buy("hats", by: home.anna)
            try await home.test.buy("club.monthly", by: home.ben)
            #expect(try await home.ledger(home.ben).count == 3)
            let toAnna = try #require(try await home.ledger(home.anna).last)
            #expect(toAnna.productID == "club.monthly" && toAnna.offer == .trial && toAnna.sharedFrom != nil)
            let own = try await home.shared(home.ben).originalTransactionID

            home.test.clock.milliseconds += 60_000
            let family = try await home.store.removeFromFamily(home.ben)
            #expect(family.members.map(\.accountID) == [home.anna.accountID])
            #expect(try await home.ledger(home.ben).map { $0.revokedAt == nil } == [false, false, true])
            #expect(try await home.ledger(home.anna).map { $0.revokedAt == nil } == [true, true, false])
            #expect(try await home.shared(home.ben).state == .revoked)
            #expect(try await home.news(own) == ["SUBSCRIBED/INITIAL_BUY", "REVOKE"])
            #expect(try await home.store.subscriptions(of: home.ben).map(\.state) == [.active])
            #expect(try await refusal { try await home.store.family(of: home.ben) } == .notFound)
            // Renewals are no longer his.
            try await home.advance(days: 40)
            #expect(try await home.news(own) == ["SUBSCRIBED/INITIAL_BUY", "REVOKE"])

            _ = try await home.store.addToFamily(of: home.anna, home.ben)
            let again = try await home.shared(home.ben)
            #expect(again.state == .active && again.originalTransactionID == own)
            #expect(try await home.news(own).last == "SUBSCRIBED/RESUBSCRIBE")
            let hats = try await home.ledger(home.ben).filter { $0.productID == "hats" }
            #expect(hats.count == 2 && hats[1].revokedAt == nil)
            #expect(hats[1].originalTransactionID == hats[1].transactionID)
            // Deleting the family ends everything.
            try await home.store.deleteFamily(of: home.ben)
            #expect(try await home.shared(home.ben).state == .revoked)
            #expect(try await home.store.families().families.isEmpty)
            let held = try await home.test.ledger().filter { $0.sharedFrom != nil && $0.revokedAt == nil }
            #expect(held.allSatisfy { ($0.expiresDate ?? .max) <= home.store.clock.milliseconds })
        }
    }

    @Test(arguments: Backend.available)
    func aMemberWhoJoinsLaterGetsWhatIsCurrent(_ backend: Backend) async throws {
        try await backend.withHousehold(.production) { home async throws in
            let gym = try await home.test.buy("gym.monthly", by: home.anna)
            _ = try await home.store.setAutoRenew(false, of: gym.originalTransactionID)
            try await home.test.buy("club.weekly", by: home.anna)
            try await home.test.buy("credits5", by: home.anna)
            try await home.test.buy("hats", by: home.anna)
            try await home.test.buy("domestic", by: home.anna)
            try await home.advance(days: 60)
            // The gym is over; the weekly plan and the other products may not be shared.
            _ = try await home.store.addToFamily(of: home.ben, home.cleo)
            #expect(try await home.ledger(home.cleo).map(\.productID) == ["hats"])

            _ = try await home.store.removeFromFamily(home.cleo)
            let period = try await home.test.buy("gym.monthly", by: home.anna)
            // Production charges the next period a day early: both are current.
            let hourBefore = try #require(period.expiresDate) - 3_600_000
            try await home.store.changeClock { try $0.set(to: hourBefore) }
            _ = try await home.store.addToFamily(of: home.anna, home.cleo)
            let gyms = try await home.ledger(home.cleo).filter { $0.productID == "gym.monthly" }
            #expect(gyms.count == 2 && gyms[0].expiresDate == gyms[1].purchaseDate)
            #expect(try await home.shared(home.cleo).transactionID == gyms[1].transactionID)
            #expect(try await home.news(gyms[0].transactionID) == ["SUBSCRIBED/INITIAL_BUY"])
        }
    }

    @Test(arguments: Backend.available)
    func sharingIsTurnedOffAndOn(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            try await home.test.buy("hats", by: home.anna)
            try await home.test.buy("gym.monthly", by: home.ben)
            let family = try await home.store.setSharing(false, of: home.anna)
            #expect(family.members.map(\.shares) == [false, true])
            #expect(try await home.ledger(home.ben).map { $0.revokedAt == nil } == [false, true])
            // Who does not share still gets what the others do.
            #expect(try await home.shared(home.anna).state == .active)
            try await home.test.buy("club.yearly", by: home.anna)
            #expect(try await home.ledger(home.ben).count == 2)
            _ = try await home.store.setSharing(false, of: home.anna)
            _ = try await home.store.setSharing(true, of: home.anna)
            _ = try await home.store.setSharing(true, of: home.anna)
            let after = try await home.ledger(home.ben).filter { $0.revokedAt == nil && $0.sharedFrom != nil }
            #expect(after.map(\.productID).sorted { $0.rawValue < $1.rawValue } == ["club.yearly", "hats"])
            #expect(try await refusal { try await home.store.setSharing(true, of: home.cleo) } == .notFound)
        }
    }

    @Test(arguments: Backend.available)
    func aFamilyHasAtMostSixMembersAndAnAccountOneFamily(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            for number in 3...6 {
                let account = try await home.test.account("m\(number)@example.com", id: "m\(number)")
                _ = try await home.store.addToFamily(of: home.anna, account)
            }
            #expect(try await home.store.family(of: home.ben).members.count == 6)
            #expect(try await refusal { try await home.store.addToFamily(of: home.anna, home.cleo) } == .wrongState)
            _ = try await home.store.createFamily(of: home.cleo)
            #expect(try await refusal { try await home.store.addToFamily(of: home.cleo, home.ben) } == .wrongState)
            #expect(try await refusal { try await home.store.addToFamily(of: home.cleo, home.anna) } == .wrongState)
            #expect(try await refusal { try await home.store.createFamily(of: home.ben) } == .wrongState)
            #expect(try await refusal { try await home.store.removeFromFamily(home.anna) } == .wrongState)
            let page = try await home.store.families(limit: 1)
            #expect(page.families.map(\.organizerID) == ["a"] && page.hasMore)
            let rest = try await home.store.families(after: "a")
            #expect(rest.families.map(\.organizerID) == ["c"] && !rest.hasMore)
            // Each of the other five gets a purchase.
            try await home.test.buy("hats", by: home.anna)
            #expect(try await home.test.ledger().count == 6)
        }
    }

    @Test(arguments: Backend.available)
    func changesOfPlanFailuresExtensionsAndTheEndReachMembers(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let first = try await home.test.buy("club.monthly", by: home.anna)
            let id = first.originalTransactionID
            let own = try await home.shared(home.ben).originalTransactionID
            _ = try await home.store.changePlan(id, to: "club.yearly")
            var shares = try await home.ledger(home.ben)
            #expect(shares.map(\.productID) == ["club.monthly", "club.yearly"])
            #expect(shares.map(\.isUpgraded) == [true, false])
            _ = try await home.store.extend(id, days: 30)
            shares = try await home.ledger(home.ben)
            let periods = try await home.ledger(home.anna)
            #expect(shares[1].expiresDate == periods[1].expiresDate)
            // A member's own subscription cannot be changed.
            #expect(try await refusal { try await home.store.extend(own, days: 1) } == .wrongState)
            #expect(try await refusal { try await home.store.setAutoRenew(false, of: own) } == .wrongState)
            _ = try await home.store.failRenewal(id)
            #expect(try await home.shared(home.ben).state == .billingRetry)
            _ = try await home.store.recover(id)
            #expect(try await home.shared(home.ben).state == .active)
            _ = try await home.store.expireNow(id)
            let ended = try await home.shared(home.ben)
            #expect(ended.state == .expired && ended.expirationIntent == .cancelled)
            _ = try await home.test.buy("club.monthly", by: home.anna)
            #expect(try await home.shared(home.ben).state == .active)
            #expect(
                try await home.news(own) == [
                    "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "RENEWAL_EXTENDED",
                    "DID_FAIL_TO_RENEW", "DID_RENEW/BILLING_RECOVERY",
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE",
                ])
            // A plan that may not be shared ends the share, with the next renewal.
            _ = try await home.store.changePlan(id, to: "club.weekly")
            try await home.advance(days: 35)
            #expect(try await home.store.subscription(id).productID == "club.weekly")
            #expect(try await home.shared(home.ben).state == .revoked)
            #expect(try await home.news(own).suffix(2) == ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "REVOKE"])
        }
    }

    @Test(arguments: Backend.available)
    func aMembersOwnPurchasesStandBesideTheShares(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            try await home.test.buy("club.monthly", by: home.anna)
            try await home.test.buy("hats", by: home.anna)
            // A share uses up no introductory offer, and is no reason for a promotional one.
            let own = try await home.test.buy("club.monthly", by: home.ben)
            let paid = try #require(try await home.ledger(home.ben).last)
            #expect(paid.transactionID == own.transactionID && paid.offer == .trial && paid.sharedFrom == nil)
            try await home.test.buy("hats", by: home.ben)
            // Anna gets Ben's, as he got hers.
            #expect(try await home.ledger(home.anna).count == 4)
            #expect(try await home.ledger(home.ben).count == 4)
            let answer = try await home.verified(home.ben)
            let kinds = answer.latest.map { "\($0["product_id"] ?? "") \($0["in_app_ownership_type"] ?? "")" }
            #expect(
                kinds.sorted() == [
                    "club.monthly FAMILY_SHARED", "club.monthly PURCHASED", "hats FAMILY_SHARED", "hats PURCHASED",
                ])
            #expect(answer.pending.count == 2)
            // Only who pays is asked about a higher price.
            try await home.test.buy("gym.monthly", by: home.anna)
            #expect(
                try await refusal {
                    try await home.store.increasePrice(
                        of: "gym.monthly", in: TestStore.bundleID, to: 20_000, for: home.ben)
                } == .wrongState)
            _ = try await home.store.removeFromFamily(home.ben)
            #expect(try await home.store.subscriptions(of: home.ben).map(\.state) == [.active])
            let owns = try await home.store.ownerships(of: home.ben)
            #expect(owns.map(\.productID) == ["hats"])
        }
    }

    @Test(arguments: Backend.available)
    func aSharedNonConsumableIsRestored(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            try await home.test.buy("hats", by: home.anna)
            let share = try #require(try await home.ledger(home.ben).first)
            let found = try await home.store.unfinishedTransactions(of: home.ben, in: TestStore.bundleID, after: nil)
            #expect(found.transactions.isEmpty)
            let request = RestoreRequest(
                idempotencyKey: UUID(), bundleID: TestStore.bundleID, deviceID: UUID(), applicationUsername: nil,
                after: nil)
            let restored = try await home.store.restore(request, for: home.ben)
            #expect(restored.transactions.map(\.originalTransactionID) == [share.transactionID])
            // The whole answer of a receipt without subscriptions is made from the receipt.
            let answer = try await home.test.verify(try await home.test.appReceipt(home.ben))
            #expect(answer.inApp.map { $0["in_app_ownership_type"] as? String } == ["FAMILY_SHARED"])
            // Getting it again gives the members nothing new.
            try await home.test.buy("hats", by: home.anna)
            #expect(try await home.ledger(home.ben).count == 1)
        }
    }

    @Test(arguments: Backend.available)
    func aClearedHistoryEndsWhatItsAccountShared(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            try await home.test.buy("gym.monthly", by: home.anna)
            try await home.test.buy("hats", by: home.ben)
            _ = try await home.store.clearHistory(of: home.anna)
            #expect(try await home.ledger(home.anna).isEmpty)
            #expect(try await home.ledger(home.ben).map { $0.revokedAt == nil } == [false, true])
            #expect(try await home.store.sharedSubscriptions(of: home.ben).isEmpty)
            #expect(try await home.verified(home.ben).status == 0)
            // She gets Ben's hats again when she joins again.
            _ = try await home.store.clearHistory(of: home.ben)
            #expect(try await home.test.ledger().isEmpty)
        }
    }

    /// A purchase sees the member who joins, or the member sees the purchase.
    @Test(arguments: Backend.available)
    func aMemberWhoJoinsDuringAPurchaseGetsItOnce(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            for product: ProductID in ["hats", "gym.monthly", "club.monthly"] {
                async let bought = home.test.buy(product, by: home.anna)
                async let joined = home.store.addToFamily(of: home.anna, home.cleo)
                _ = try await (bought, joined)
                let shares = try await home.ledger(home.cleo).filter { $0.productID == product && $0.revokedAt == nil }
                #expect(shares.count == 1, "\(product)")
                _ = try await home.store.removeFromFamily(home.cleo)
            }
            let held = try await home.ledger(home.cleo).filter { $0.revokedAt == nil }
            #expect(held.isEmpty)
        }
    }

    @Test(arguments: Backend.available)
    func purchasesThatWaitedAndCodesAreSharedToo(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let request = home.test.request("gym.monthly", asksToBuy: true)
            #expect(try await home.store.purchase(request, by: home.anna).state == .deferred)
            #expect(try await home.ledger(home.ben).isEmpty)
            _ = try await home.store.approve(request.idempotencyKey)
            let code = try await home.store.addCode(for: "hats", in: TestStore.bundleID)
            _ = try await home.store.redeem(
                CodeRedemptionRequest(bundleID: TestStore.bundleID, code: code.code), by: home.anna)
            #expect(try await home.ledger(home.ben).map(\.productID) == ["gym.monthly", "hats"])
        }
    }

    /// The purchase and the shares are one database transaction: when it is not committed, nobody has anything.
    @Test(arguments: Backend.available)
    func aPurchaseThatIsNotCommittedSharesNothing(_ backend: Backend) async throws {
        let fails = Migration(
            StoreSchema.migrations.count + 1, "shares that fail",
            ["CREATE UNIQUE INDEX one_share ON family_shares (bundle_id)"])
        try await backend.withStore(extraMigrations: [fails]) { test async throws in
            let home = try await Household(test)
            try await test.buy("hats", by: home.anna)
            let request = test.request("gym.monthly")
            await #expect(throws: DatabaseError.self) { try await test.store.purchase(request, by: home.anna) }
            #expect(try await test.ledger().count == 2)
            #expect(try await test.count("purchases") == 1)
            try await test.database.write { try $0.execute("DROP INDEX one_share") }
            let answer = try await test.store.purchase(request, by: home.anna)
            #expect(answer.state == .purchased)
            #expect(try await test.store.purchase(request, by: home.anna) == answer)
            #expect(try await test.ledger().count == 4)
        }
    }
}
