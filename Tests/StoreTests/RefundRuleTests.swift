import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("The rule for requests for refunds", .timeLimit(.minutes(1))) struct RefundRuleTests {
    private typealias Scene = APIScene

    private static let minute: Int64 = 60_000

    // MARK: Deadlines

    /// Apple's sandbox approves requests by itself.
    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func withoutARuleOnlyTheSandboxApproves(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let (scene, isSandbox) = (try await Scene(test), environment == .sandbox)
            #expect(try await scene.store.refundRule() == (isSandbox ? .approve : .ask))
            let id = try await test.buy("credits5", by: test.account()).transactionID
            let made = try await scene.store.requestRefund(of: id, reason: .other)
            try await scene.advance(by: made.deadline - scene.store.clock.milliseconds - 1)
            #expect(try await scene.store.refundRequest(made.requestID).state == .waiting)
            try await scene.advance(by: 1)
            #expect(try await scene.store.refundRequest(made.requestID).state == (isSandbox ? .approved : .waiting))
            #expect(try await scene.transaction(id).revokedAt == (isSandbox ? made.deadline : nil))
            try await scene.store.setRefundRule(.ask)
            #expect(try await scene.store.refundRule() == .ask)
        }
    }

    @Test(arguments: Backend.available) func theRuleDecidesAtTheDeadline(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withRefunds(processor: processor) { scene async throws in
            let account = try await scene.test.account()
            let cases: [(rule: RefundRule, answer: [String: String?]?, state: RefundRequest.State, amount: Int64)] = [
                (.ask, ["refundPreference": "\"GRANT_FULL\""], .waiting, 0),
                (.approve, nil, .approved, 990), (.approve, ["refundPreference": "\"DECLINE\""], .approved, 990),
                (.decline, nil, .declined, 0), (.decline, ["refundPreference": "\"GRANT_FULL\""], .declined, 0),
                (.preference, nil, .approved, 990), (.preference, [:], .approved, 990),
                (.preference, ["refundPreference": "\"GRANT_FULL\""], .approved, 990),
                (.preference, ["refundPreference": "\"DECLINE\""], .declined, 0),
                (.preference, ["refundPreference": "\"GRANT_PRORATED\""], .approved, 490),
                (
                    .preference,
                    ["refundPreference": "\"GRANT_PRORATED\"", "consumptionPercentage": "40000"], .approved, 590
                ),
                // Nothing would be given back.
                (
                    .preference,
                    ["refundPreference": "\"GRANT_PRORATED\"", "consumptionPercentage": "100000"], .declined, 0
                ),
            ]
            for (rule, answer, state, amount) in cases {
                try await scene.store.setRefundRule(rule)
                #expect(try await scene.store.refundRule() == rule)
                let id = try await scene.test.buy("credits5", by: account).transactionID
                let made = try await scene.store.requestRefund(of: id, reason: .other)
                if let answer { try await scene.answer(id, answer) }
                try await scene.advance(by: 5 * Self.minute - 1)
                #expect(try await scene.store.refundRequest(made.requestID).state == .waiting)
                try await scene.advance(by: 1)
                let decided = try await scene.store.refundRequest(made.requestID)
                #expect(decided.state == state, "\(rule) \(String(describing: answer))")
                #expect(decided.decidedAt == (state == .waiting ? nil : made.deadline))
                let transaction = try await scene.transaction(id)
                #expect(transaction.refunded == amount, "\(rule) \(String(describing: answer))")
                #expect(transaction.revokedAt == (state == .approved ? made.deadline : nil))
                let told: [RefundRequest.State: String] = [
                    .waiting: "CONSUMPTION_REQUEST", .approved: "REFUND", .declined: "REFUND_DECLINED",
                ]
                #expect(try await scene.notifications(id).last == told[state])
                if state == .waiting { _ = try await scene.store.decideRefund(made.requestID, .decline) }
            }
            // Each payment was given back once, with the amount of the ledger.
            #expect(processor.refunds.map(\.amount.milliunits) == [990, 990, 990, 990, 990, 490, 590])
        }
    }

    @Test(arguments: Backend.available) func theAnswersOfVersion1Count(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            try await scene.store.setRefundRule(.preference)
            for (preference, state) in [
                ("0", .approved), ("1", .approved), ("2", .declined), ("3", .approved),
            ] as [(String, RefundRequest.State)] {
                let id = try await scene.test.buy("credits5", by: account).transactionID
                let made = try await scene.store.requestRefund(of: id, reason: .other)
                try await scene.answer(id, ["refundPreference": preference], version: 1)
                try await scene.pass(made)
                #expect(try await scene.store.refundRequest(made.requestID).state == state, "\(preference)")
            }
        }
    }

    /// Everything happens as of the deadline, before what becomes due later.
    @Test(arguments: Backend.available) func aClockThatJumpsDecidesAsOfTheDeadline(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            try await scene.store.setRefundRule(.preference)
            let gym = try await scene.test.buy("gym.monthly", by: scene.test.account()).transactionID
            let other = try await scene.test.buy("gym.monthly", by: scene.test.account("bob@example.com"))
            let period = try await scene.transaction(gym)
            let made = try await scene.store.requestRefund(of: gym, reason: .other)
            try await scene.answer(gym, ["refundPreference": "\"GRANT_PRORATED\""])
            try await scene.store.changeClock { try $0.advance(months: 3) }
            let refunded = try await scene.transaction(gym)
            #expect(refunded.revokedAt == made.deadline)
            #expect(refunded.refunded == period.unusedShare(at: made.requestedAt).milliunits)
            #expect(
                try await scene.news(gym) == [
                    "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "CONSUMPTION_REQUEST",
                    "REFUND",
                ])
            #expect(try await scene.store.subscription(gym).state == .revoked)
            // The feed has everything in the order of its dates.
            let dates = try await scene.store.newsFeed().map(\.news.date)
            let renewals = try await scene.news(other.transactionID).filter { $0 == "DID_RENEW" }.count
            #expect(renewals >= 2 && dates == dates.sorted() && dates.count == 5 + renewals)
        }
    }

    /// A customer's request first carries the decision out, so that a period after it is not sold.
    @Test(arguments: Backend.available) func aCustomersRequestDoesNotOvertakeADecision(
        _ backend: Backend
    ) async throws {
        try await backend.withRefunds { scene async throws in
            try await scene.store.setRefundRule(.approve)
            let account = try await scene.test.account()
            let gym = try await scene.test.buy("gym.monthly", by: account).transactionID
            let made = try await scene.store.requestRefund(of: gym, reason: .other)
            _ = try await scene.store.setAutoRenew(true, of: gym)
            scene.test.clock.milliseconds += 62 * 86_400_000
            #expect(try await scene.store.subscriptions(of: account).map(\.state) == [.revoked])
            #expect(try await scene.test.ledger().map(\.revokedAt) == [made.deadline])
            let news = try await scene.news(gym)
            #expect(news.contains("REFUND") && !news.contains("DID_RENEW"))
            try await scene.store.settleSubscriptions()
            #expect(try await scene.news(gym) == news)
        }
    }

    @Test(arguments: Backend.available) func aRuleDecidesWhatWaitedTooLong(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            var made: [RefundRequest] = []
            for _ in 0..<3 {
                let id = try await scene.test.buy("credits5", by: account).transactionID
                made.append(try await scene.store.requestRefund(of: id, reason: .other))
                try await scene.advance(by: Self.minute)
            }
            // The third deadline is not over.
            try await scene.pass(made[1])
            #expect(try await scene.store.refundRequests(RefundRequestFilter(state: .waiting)).rows.count == 3)
            try await scene.store.setRefundRule(.approve)
            let now = scene.store.clock.milliseconds
            var states = try await scene.store.refundRequests(RefundRequestFilter()).rows.reversed().map(\.decidedAt)
            #expect(states == [now, now, nil])
            try await scene.pass(made[2])
            states = try await scene.store.refundRequests(RefundRequestFilter()).rows.reversed().map(\.decidedAt)
            #expect(states == [now, now, made[2].deadline])
        }
    }

    @Test(arguments: Backend.available) func theClockCanBeSetBack(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            let id = try await scene.test.buy("credits5", by: account).transactionID
            let year: Int64 = 365 * 86_400_000
            // A rule of a later date counts as well.
            try await scene.advance(by: 2 * year)
            try await scene.store.setRefundRule(.approve)
            try await scene.advance(by: -2 * year)
            let made = try await scene.store.requestRefund(of: id, reason: .other)
            try await scene.advance(by: -year)
            try await scene.answer(id)
            var request = try await scene.store.refundRequest(made.requestID)
            #expect(request.state == .waiting && request.consumption != nil)
            try await scene.advance(by: year)
            #expect(try await scene.store.refundRequest(made.requestID).state == .waiting)
            try await scene.pass(made)
            request = try await scene.store.refundRequest(made.requestID)
            #expect(request.state == .approved && request.decidedAt == made.deadline)
            // Once, whatever the clock does.
            for step in [-year, 2 * year, -year] { try await scene.advance(by: step) }
            #expect(try await scene.store.refundRequest(made.requestID) == request)
            #expect(try await scene.test.count("refunds") == 1)
            #expect(try await scene.notifications(id).filter { $0 == "REFUND" }.count == 1)
        }
    }

    // MARK: Crashes

    @Test(arguments: Backend.available) func aKillLeavesARequestWhole(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            for (product, decision) in [
                ("gym.monthly", .approve(.whole)), ("club.weekly", .decline),
            ] as [(ProductID, RefundDecision)] {
                let id = try await scene.test.buy(product, by: account).transactionID
                // Before the commit of a request, and of a decision.
                try await scene.test.database.write { try $0.execute("ALTER TABLE subscription_news RENAME TO away") }
                await #expect(throws: (any Error).self) {
                    try await scene.store.requestRefund(of: id, reason: .other)
                }
                try await scene.test.database.write { try $0.execute("ALTER TABLE away RENAME TO subscription_news") }
                #expect(try await scene.store.refundRequests(RefundRequestFilter(state: .waiting)).rows.isEmpty)
                #expect(try await scene.store.subscription(id).willRenew)
                let made = try await scene.store.requestRefund(of: id, reason: .other)
                let before = try await scene.transaction(id)
                try await scene.test.database.write { try $0.execute("ALTER TABLE subscription_news RENAME TO away") }
                await #expect(throws: (any Error).self) {
                    try await scene.store.decideRefund(made.requestID, decision)
                }
                try await scene.test.database.write { try $0.execute("ALTER TABLE away RENAME TO subscription_news") }
                #expect(try await scene.store.refundRequest(made.requestID) == made)
                #expect(try await scene.transaction(id) == before)
                // After the commit, the call is repeated.
                for _ in 0..<2 {
                    let decided = try await scene.store.decideRefund(made.requestID, decision)
                    #expect(decided.state == decision.state)
                }
                #expect(try await scene.news(id).filter { $0.hasPrefix("REFUND") }.count == 1)
            }
            #expect(try await scene.test.count("refunds") == 1)
        }
    }

    @Test(arguments: Backend.available) func thePaymentProcessorIsToldLater(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withRefunds(processor: processor) { scene async throws in
            let account = try await scene.test.account()
            var ids: [TransactionID] = []
            for _ in 0..<2 { ids.append(try await scene.test.buy("credits5", by: account).transactionID) }
            let first = try await scene.store.requestRefund(of: ids[0], reason: .other)
            processor.failRefunds(1)
            // The ledger has the refund, so the request is decided.
            #expect(try await scene.store.decideRefund(first.requestID, .approve(.whole)).state == .approved)
            #expect(processor.refunds.isEmpty)
            try await scene.store.setRefundRule(.approve)
            let second = try await scene.store.requestRefund(of: ids[1], reason: .other)
            processor.failRefunds(1)
            try await scene.pass(second)
            #expect(try await scene.store.refundRequest(second.requestID).state == .approved)
            #expect(processor.refunds.isEmpty)
            // A refund that fails holds up no other.
            processor.failRefunds(1)
            await scene.store.tellRefunds()
            #expect(processor.refunds.map(\.transactionID) == [ids[1]])
            await scene.store.tellRefunds()
            #expect(processor.refunds.map(\.transactionID) == [ids[1], ids[0]])
        }
    }

    @Test(arguments: Backend.available) func refundsThatFailEachTimeHoldUpNoLaterOnes(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            var ids: [TransactionID] = []
            for _ in 0..<4 {
                let id = try await test.buy("credits5", by: account).transactionID
                ids.append(id)
                processor.failRefunds(1)
                #expect(try await refusal { try await test.store.refund(id, reason: .app) } == .unavailable)
            }
            processor.failRefunds(2)
            await test.store.tellRefunds(mostFailures: 2)
            #expect(processor.refunds.isEmpty)
            await test.store.tellRefunds(mostFailures: 2)
            #expect(processor.refunds.map(\.transactionID) == Array(ids[2...]))
            await test.store.tellRefunds(mostFailures: 2)
            #expect(processor.refunds.map(\.transactionID) == Array(ids[2...] + ids[..<2]))
        }
    }

    @Test(arguments: Backend.available) func theNextStartDecidesWhatIsDue(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let scene = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            try await scene.store.setRefundRule(.approve)
            let account = try await scene.test.account()
            let id = try await scene.test.buy("gym.monthly", by: account).transactionID
            let made = try await scene.store.requestRefund(of: id, reason: .other)
            // The store is down at the deadline.
            clock.milliseconds += 86_400_000
            let again = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            try await again.store.settleSubscriptions()
            #expect(try await again.store.refundRequest(made.requestID).decidedAt == made.deadline)
            // Two processes do it once.
            let next = try await again.store.requestRefund(
                of: again.test.buy("credits5", by: account).transactionID, reason: .other)
            clock.milliseconds += 86_400_000
            let stores = [scene.store, again.store]
            for store in stores { store.schedule.add(0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores { group.addTask { try await store.settleSubscriptions() } }
                try await group.waitForAll()
            }
            #expect(try await again.store.refundRequest(next.requestID).state == .approved)
            #expect(try await again.test.count("refunds") == 2)
            // New requests have higher identifiers, also when the machine's clock has gone back.
            clock.milliseconds -= 7 * 86_400_000
            let last = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            let credits = try await last.test.buy("credits5", by: account).transactionID
            let request = try await last.store.requestRefund(of: credits, reason: .other)
            #expect(request.requestID > next.requestID)
        }
    }
}
