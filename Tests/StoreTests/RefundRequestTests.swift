import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Requests for refunds", .timeLimit(.minutes(1))) struct RefundRequestTests {
    private typealias Scene = APIScene

    private static let minute: Int64 = 60_000

    // MARK: Requests

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aRequestAsksTheAppsServer(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withRefunds(environment) { scene async throws in
            let bought = try await scene.test.buy("credits5", by: scene.test.account())
            let made = try await scene.store.requestRefund(of: bought.transactionID, reason: .fulfillmentIssue)
            let now = scene.store.clock.milliseconds
            #expect(made.requestedAt == now && made.state == .waiting && made.decidedAt == nil)
            #expect(made.deadline == now + (environment == .production ? 720 : 5) * Self.minute)
            #expect(made.transactionID == bought.transactionID && made.productID == "credits5")
            #expect(made.bundleID == TestStore.bundleID && made.consumption == nil)
            // Again it changes nothing.
            #expect(
                try await scene.store.requestRefund(of: bought.transactionID, reason: .fulfillmentIssue) == made)
            #expect(
                try await refusal {
                    try await scene.store.requestRefund(of: bought.transactionID, reason: .legal)
                } == .wrongState)
            #expect(
                try await scene.notifications(bought.transactionID) == ["ONE_TIME_CHARGE", "CONSUMPTION_REQUEST"])
            let data = try #require(try await scene.data("CONSUMPTION_REQUEST").first)
            #expect(data["consumptionRequestReason"] as? String == "FULFILLMENT_ISSUE")
            #expect(data["signedTransactionInfo"] is String && data["signedRenewalInfo"] == nil)
            #expect(try await scene.transaction(bought.transactionID).revokedAt == nil)
        }
    }

    @Test(arguments: Backend.available) func autoRenewIsOffAfterARequest(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let scene = try await Scene(home.test)
            try await scene.store.setRefundRule(.ask)
            let bought = try await home.test.buy("gym.monthly", by: home.anna)
            let id = bought.transactionID
            let made = try await scene.store.requestRefund(of: id, reason: .unsatisfied)
            #expect(try await scene.store.requestRefund(of: id, reason: .unsatisfied) == made)
            let expected = [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "CONSUMPTION_REQUEST",
            ]
            #expect(try await scene.news(id) == expected)
            #expect(try await scene.notifications(id) == expected)
            #expect(try await scene.store.subscription(id).willRenew == false)
            let item = try #require(try await scene.store.newsFeed().first { $0.news.type == .consumptionRequest })
            #expect(item.news.consumptionReason == .unsatisfied && item.news.transactionID == id)
            let snapshot = try scene.object(Array(try #require(item.snapshot).utf8))
            #expect(snapshot["consumptionRequestReason"] as? String == "UNSATISFIED_WITH_PURCHASE")
            let data = try #require(try await scene.data("CONSUMPTION_REQUEST").first)
            #expect(data["consumptionRequestReason"] as? String == "UNSATISFIED_WITH_PURCHASE")
            let renewal = try scene.object(
                try SignedPayload.parse(Array(try #require(data["signedRenewalInfo"] as? String).utf8)).payload)
            #expect(renewal["autoRenewStatus"] as? Int == 0)
            // Members learn of auto-renew alone.
            let share = try await home.shared(home.ben)
            #expect(try await scene.news(share.originalTransactionID).last?.hasSuffix("AUTO_RENEW_DISABLED") == true)

            // The customer can turn it on again. The request of an earlier period turns it off.
            try await scene.advance(by: 40 * 86_400_000)
            #expect(try await scene.store.subscription(id).state == .expired)
            let again = try await home.test.buy("gym.monthly", by: home.anna)
            _ = try await scene.store.decideRefund(made.requestID, .decline)
            let second = try await scene.store.requestRefund(of: id, reason: .other)
            #expect(second.requestID != made.requestID && second.transactionID == id)
            #expect(try await scene.store.subscription(id).willRenew == false)
            #expect(try await scene.store.subscription(id).transactionID == again.transactionID)
        }
    }

    @Test(arguments: Backend.available) func otherProductsAreNotAskedAbout(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            for product: ProductID in ["hats", "season"] {
                let bought = try await scene.test.buy(product, by: account)
                let made = try await scene.store.requestRefund(of: bought.transactionID, reason: .legal)
                #expect(made.state == .waiting)
                #expect(try await scene.notifications(bought.transactionID) == ["ONE_TIME_CHARGE"])
            }
        }
    }

    @Test(arguments: Backend.available) func someTransactionsCannotBeRequested(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let scene = try await Scene(home.test)
            #expect(
                try await refusal {
                    try await scene.store.requestRefund(
                        of: TransactionID(rawValue: 2_000_000_000_000_001), reason: .other)
                } == .unknownTransaction)
            let credits = try await home.test.buy("credits5", by: home.anna)
            _ = try await scene.store.refund(credits.transactionID, reason: .other)
            try await home.test.buy("gym.monthly", by: home.anna)
            try await home.test.buy("hats", by: home.anna)
            let shares = try await home.ledger(home.ben).map(\.transactionID)
            #expect(shares.count == 2)
            for id in shares + [credits.transactionID] {
                #expect(
                    try await refusal {
                        try await scene.store.requestRefund(of: id, reason: .other)
                    } == .wrongState)
            }
            #expect(try await home.test.count("refund_requests") == 0)
            #expect(
                try await refusal {
                    try await scene.store.decideRefund(TransactionID(rawValue: 7), .decline)
                } == .notFound)
        }
    }

    @Test(arguments: Backend.available) func manyRequestsAtOnceAreOne(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            for product: ProductID in ["credits5", "gym.monthly"] {
                let (store, id) = (scene.store, try await scene.test.buy(product, by: account).transactionID)
                let made = await withTaskGroup(of: TransactionID?.self) { group in
                    for _ in 0..<6 {
                        group.addTask { try? await store.requestRefund(of: id, reason: .other).requestID }
                    }
                    return await group.reduce(into: Set<TransactionID>()) { if let id = $1 { $0.insert(id) } }
                }
                #expect(made.count == 1)
                #expect(try await scene.notifications(id).filter { $0 == "CONSUMPTION_REQUEST" }.count == 1)
            }
            #expect(try await scene.test.count("refund_requests") == 2)
        }
    }

    // MARK: Decisions of the operator

    @Test(arguments: Backend.available) func theOperatorDecidesOnce(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withRefunds(processor: processor) { scene async throws in
            let account = try await scene.test.account()
            let gym = try await scene.test.buy("gym.monthly", by: account).transactionID
            let credits = try await scene.test.buy("credits5", by: account).transactionID
            let hats = try await scene.test.buy("hats", by: account).transactionID
            let first = try await scene.store.requestRefund(of: gym, reason: .fulfillmentIssue)
            let second = try await scene.store.requestRefund(of: credits, reason: .unintendedPurchase)
            let third = try await scene.store.requestRefund(of: hats, reason: .other)
            scene.test.clock.milliseconds += Self.minute
            for _ in 0..<2 {
                var decided = try await scene.store.decideRefund(first.requestID, .approve(.whole))
                #expect(decided.state == .approved && decided.decidedAt == first.requestedAt + Self.minute)
                decided = try await scene.store.decideRefund(second.requestID, .approve(.whole))
                #expect(decided.state == .approved)
                decided = try await scene.store.decideRefund(third.requestID, .decline)
                #expect(decided.state == .declined)
                scene.test.clock.milliseconds += Self.minute
            }
            for (request, decision) in [
                (first, .decline), (second, .decline), (third, .approve(.whole)),
            ] as [(RefundRequest, RefundDecision)] {
                #expect(
                    try await refusal {
                        try await scene.store.decideRefund(request.requestID, decision)
                    } == .wrongState)
            }
            #expect(processor.refunds.map(\.transactionID) == [gym, credits])
            // Apple's reason 1 is an issue with the app.
            #expect(try await scene.transaction(gym).revocationReason == 1)
            #expect(try await scene.transaction(credits).revocationReason == 0)
            #expect(try await scene.transaction(hats).revokedAt == nil)
            #expect(try await scene.news(gym).last == "REFUND")
            #expect(
                try await scene.notifications(credits) == ["ONE_TIME_CHARGE", "CONSUMPTION_REQUEST", "REFUND"])
            #expect(try await scene.notifications(hats) == ["ONE_TIME_CHARGE", "REFUND_DECLINED"])
            // After the decision the customer can ask again.
            let again = try await scene.store.requestRefund(of: hats, reason: .legal)
            #expect(again.requestID > third.requestID && again.state == .waiting)
        }
    }

    @Test(arguments: Backend.available) func aProratedRefundGivesTheUnusedPartBack(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            let gym = try await scene.test.buy("gym.monthly", by: account).transactionID
            let period = try await scene.transaction(gym)
            let first = try await scene.store.requestRefund(of: gym, reason: .other)
            try await scene.advance(by: 7 * 86_400_000)
            let unused = period.unusedShare(at: scene.store.clock.milliseconds)
            _ = try await scene.store.decideRefund(first.requestID, .approve(.prorated))
            let refunded = try await scene.transaction(gym)
            #expect(refunded.refunded == unused.milliunits && (1..<9990).contains(refunded.refunded))

            for (consumed, amount) in [
                (nil, 990), ("0", 1980), ("25000", 1480),
            ] as [(String?, Int64)] {
                let credits = try await scene.test.buy("credits5", by: account, quantity: 2).transactionID
                let made = try await scene.store.requestRefund(of: credits, reason: .other)
                if let consumed { try await scene.answer(credits, ["consumptionPercentage": consumed]) }
                _ = try await scene.store.decideRefund(made.requestID, .approve(.prorated))
                let transaction = try await scene.transaction(credits)
                #expect(transaction.refunded == amount && transaction.revokedAt != nil, "\(consumed ?? "no answer")")
            }
            // Nothing is taken when nothing would be given back.
            let credits = try await scene.test.buy("credits5", by: account).transactionID
            let made = try await scene.store.requestRefund(of: credits, reason: .other)
            try await scene.answer(credits, ["consumptionPercentage": "100000"])
            await #expect(throws: Store.nothingUnused) {
                try await scene.store.decideRefund(made.requestID, .approve(.prorated))
            }
            #expect(try await scene.transaction(credits).revokedAt == nil)
            #expect(try await scene.store.refundRequest(made.requestID).state == .waiting)
        }
    }

    @Test(arguments: Backend.available) func onlyOneOfManyDecisionsCounts(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            for product: ProductID in ["credits5", "gym.monthly", "hats"] {
                let (store, id) = (scene.store, try await scene.test.buy(product, by: account).transactionID)
                let made = try await store.requestRefund(of: id, reason: .other).requestID
                await withTaskGroup { group in
                    for number in 0..<6 {
                        group.addTask {
                            _ = try? await store.decideRefund(
                                made, number.isMultiple(of: 2) ? .approve(.whole) : .decline)
                        }
                    }
                }
                let isRefunded = try await scene.transaction(id).revokedAt != nil
                #expect(try await store.refundRequest(made).state == (isRefunded ? .approved : .declined))
                let told = try await scene.notifications(id).filter { $0.hasPrefix("REFUND") }
                #expect(told == [isRefunded ? "REFUND" : "REFUND_DECLINED"])
            }
        }
    }

    // MARK: Other ways

    @Test(arguments: Backend.available) func aRefundByOtherMeansApprovesTheRequest(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            try await scene.store.setRefundRule(.decline)
            let first = try await scene.test.buy("hats", by: account).transactionID
            let again = try await scene.test.buy("hats", by: account).transactionID
            let gym = try await scene.test.buy("gym.monthly", by: account).transactionID
            let season = try await scene.test.buy("season", by: account).transactionID
            var made: [RefundRequest] = []
            for id in [first, again, gym, season] {
                made.append(try await scene.store.requestRefund(of: id, reason: .other))
            }
            try await scene.advance(by: Self.minute)
            let now = scene.store.clock.milliseconds
            // A refund of one delivery is one of all deliveries.
            _ = try await scene.store.refund(first, reason: .other)
            _ = try await scene.store.refund(gym, reason: .app, share: .prorated)
            try await scene.store.declineRefund(season)
            try await scene.pass(made[3])
            let states = try await scene.store.refundRequests(RefundRequestFilter()).rows.reversed()
            #expect(states.map(\.state) == [.approved, .approved, .approved, .declined])
            #expect(states.allSatisfy { $0.decidedAt == now })
            #expect(try await scene.notifications(first).last == "REFUND")
            #expect(try await scene.notifications(season) == ["ONE_TIME_CHARGE", "REFUND_DECLINED"])
            #expect(try await scene.news(gym).filter { $0 == "REFUND" }.count == 1)
            // A refund that is taken back leaves the decision.
            _ = try await scene.store.reverseRefund(gym)
            #expect(try await scene.store.refundRequest(made[2].requestID).state == .approved)
            #expect(try await scene.store.requestRefund(of: gym, reason: .other).state == .waiting)
        }
    }

    @Test(arguments: Backend.available) func aClearedHistoryHasNoRequests(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let (ape, bob) = (try await scene.test.account(), try await scene.test.account("bob@example.com"))
            try await scene.store.setRefundRule(.approve)
            for account in [ape, bob] {
                let id = try await scene.test.buy("credits5", by: account).transactionID
                _ = try await scene.store.requestRefund(of: id, reason: .other)
            }
            _ = try await scene.store.clearHistory(of: ape)
            let left = try await scene.store.refundRequests(RefundRequestFilter()).rows
            #expect(left.map(\.accountID) == [bob.accountID])
            try await scene.pass(left[0])
            #expect(try await scene.test.count("refunds") == 1)
        }
    }

    /// What can never be carried out must not keep everything else from being done.
    @Test(arguments: Backend.available) func aRequestForNothingIsDeclined(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            try await scene.store.setRefundRule(.approve)
            let gone = try await scene.test.buy("credits5", by: account).transactionID
            let made = try await scene.store.requestRefund(of: gone, reason: .other)
            let gym = try await scene.test.buy("gym.monthly", by: account).transactionID
            try await scene.test.database.write {
                try $0.execute("DELETE FROM transactions WHERE transaction_id = $1", [gone.rawValue])
            }
            try await scene.advance(by: 40 * 86_400_000)
            #expect(try await scene.store.refundRequest(made.requestID).state == .declined)
            #expect(try await scene.news(gym).last == "DID_RENEW")
        }
    }

    @Test(arguments: Backend.available) func requestsAreListedInPages(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            var ids: [TransactionID] = []
            for number in 0..<7 {
                let id = try await scene.test.buy("credits5", by: account).transactionID
                let made = try await scene.store.requestRefund(of: id, reason: .other)
                ids.insert(made.requestID, at: 0)
                if number < 2 { _ = try await scene.store.decideRefund(made.requestID, .decline) }
            }
            func list(_ filter: RefundRequestFilter) async throws -> [TransactionID] {
                try await scene.store.refundRequests(filter).rows.map(\.requestID)
            }
            #expect(try await list(RefundRequestFilter()) == ids)
            let page = try await scene.store.refundRequests(RefundRequestFilter(limit: 3))
            #expect(page.rows.map(\.requestID) == Array(ids.prefix(3)) && page.next == ids[2])
            #expect(try await list(RefundRequestFilter(before: page.next)) == Array(ids.dropFirst(3)))
            #expect(try await list(RefundRequestFilter(state: .declined)) == Array(ids.suffix(2)))
            #expect(try await list(RefundRequestFilter(state: .approved)).isEmpty)
            #expect(try await list(RefundRequestFilter(bundleID: TestStore.bundleID)) == ids)
            #expect(try await list(RefundRequestFilter(bundleID: "com.example.other")).isEmpty)
        }
    }
}
