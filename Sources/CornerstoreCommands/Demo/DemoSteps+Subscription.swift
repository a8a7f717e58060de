import ControlWire
import Foundation
import MerchantWire
import StoreReceipts
import StoreServer
import StoreWire

extension DemoSteps {
    /// The steps with Magazine, in which the sandbox's clock moves ahead by a year, and then returns.
    func subscribeForAYear() async throws {
        try await DemoMerchant.run(places, addresses, control) { merchant in
            let year = try DemoYear(steps: self, merchant: merchant)
            try await year.subscribe()
            try await year.renew()
            try await year.failInGracePeriod()
            try await year.recover()
            try await year.upgrade()
            try await year.refund()
        }
    }
}

/// A year of a subscription, step by step. Each step checks the store, the receipt on the device, and the merchant.
private struct DemoYear: Sendable {
    let steps: DemoSteps
    let merchant: DemoMerchant
    private let app: DemoApp
    private let account: String

    private static let bundleID = DemoSample.magazine.bundleID
    private static let monthly: ProductID = "com.example.magazine.monthly"
    private static let premium: ProductID = "com.example.magazine.premium"

    private var teller: DemoTeller { steps.teller }
    private var control: ControlClient { steps.control }

    init(steps: DemoSteps, merchant: DemoMerchant) throws {
        self.steps = steps
        self.merchant = merchant
        app = try DemoApp(.magazine, places: steps.places, variables: merchant.variables)
        guard let tester = SandboxTester.read(from: steps.places.data) else {
            throw CommandError(.failed, "\(steps.places.data.path) contains no \(SandboxTester.fileName).")
        }
        account = tester.email
    }

    // MARK: The steps

    func subscribe() async throws {
        teller.begin("A reader subscribes, and the first week is free")
        teller.explain(
            "Magazine sells a subscription with three plans. Its merchant asks the store's verifyReceipt, and runs by the store's clock:"
        )
        try await merchant.follow(try await control.send(.clock(.sandbox)))
        let list = try await run(["--list"])
        try teller.check(
            "the plans have prices and periods",
            ["$2.99 a month, the first week free", "$29.99 a year", "$5.99 a month"].allSatisfy(list.output.contains),
            list.all)
        let known = try await steps.transactions()
        let bought = try await run(["--buy", "monthly"])
        let new = try await steps.transactions().filter { !known.contains($0) }
        let state = try await subscription()
        try teller.check(
            "the store has one new transaction, for 0 USD, and the subscription renews",
            new.count == 1 && new[0].price == "0" && state.state == .active && state.willRenew, "\(new) \(state)")
        try teller.check(
            "by the receipt alone, the first week is free",
            bought.output.contains("By the receipt: Monthly, free until \(Self.day(state.expiresDate))\n"), bought.all)
        try await merchantGrants(Self.monthly, until: state.expiresDate)
    }

    func renew() async throws {
        teller.begin("Half a year passes in a moment")
        teller.explain("The store's clock moves. The subscription renews at the end of each period:")
        try await advance(ControlAPI.ClockChange(advance: 8 * 86_400_000), "8d")
        try await advance(ControlAPI.ClockChange(months: 6), "6mo")
        let periods = try await control.send(
            .subscriptionPeriods(.sandbox, email: account), as: ControlAPI.Page<ControlAPI.SubscriptionPeriod>.self
        ).rows.filter { $0.bundleId == Self.bundleID }
        try teller.check(
            "the store has a free week and seven months for 2.99 USD each",
            periods.map(\.price) == Array(repeating: "2.99", count: 7) + ["0"], "\(periods)")
        let state = try await subscription()
        let status = try await run(["--status"])
        try teller.check(
            "by the receipt, the seventh month is paid",
            status.output.contains("By the receipt: Monthly, paid until \(Self.day(state.expiresDate))\n"), status.all)
        try await merchantGrants(Self.monthly, until: state.expiresDate)
    }

    func failInGracePeriod() async throws {
        teller.begin("A card fails, and the grace period begins")
        teller.show("cornerstore app grace \(Self.bundleID) --days 16")
        try await control.perform(.setGracePeriod(bundle: Self.bundleID), ControlAPI.GracePeriod(days: 16))
        teller.show("cornerstore payment-rule add card --account \(account)")
        try await control.perform(
            .addPaymentRule(.sandbox), ControlAPI.PaymentRule(name: "card", account: account))
        try await advance(ControlAPI.ClockChange(months: 1), "1mo")
        let state = try await subscription()
        try teller.check(
            "the store could not charge, and the subscription is in its grace period",
            state.state == .gracePeriod && state.gracePeriodExpiresDate != nil, "\(state)")
        let status = try await run(["--status"])
        try teller.check(
            "the receipt alone says that the period is over, because it has no grace periods",
            status.output.contains("By the receipt: Monthly, over since \(Self.day(state.expiresDate))\n"), status.all)
        let grace = try await gracePeriodEnd()
        try teller.check(
            "verifyReceipt answers with the end of the grace period",
            grace == Self.day(state.gracePeriodExpiresDate), "\(grace ?? "none"), \(state)")
        let right = try await merchant.entitlement()
        try teller.check(
            "the merchant keeps the access until then",
            right?.state == .grace && Self.day(right?.graceUntil) == Self.day(state.gracePeriodExpiresDate),
            "\(String(describing: right))")
    }

    func recover() async throws {
        teller.begin("The reader corrects the card")
        teller.show("cornerstore payment-rule clear")
        try await control.perform(.clearPaymentRules(.sandbox))
        let overdue = try await subscription()
        teller.show("cornerstore subscription recover \(account)")
        let state: ControlAPI.Subscription = try await control.send(
            .actOnSubscription(.sandbox, id: overdue.originalTransactionId, .recover))
        let paid = try await steps.transactions().first { $0.transactionId == state.transactionId }
        try teller.check(
            "the overdue month is paid, from the end of the last one on",
            state.state == .active && paid?.purchaseDate == overdue.expiresDate, "\(state) \(String(describing: paid))")
        let status = try await run(["--status"])
        try teller.check(
            "by the receipt, the month is paid",
            status.output.contains("By the receipt: Monthly, paid until \(Self.day(state.expiresDate))\n"), status.all)
        try await merchantGrants(Self.monthly, until: state.expiresDate)
    }

    func upgrade() async throws {
        teller.begin("The reader upgrades, and gets the rest of the month back")
        try await advance(ControlAPI.ClockChange(advance: 10 * 86_400_000), "10d")
        let before = try await subscription()
        let bought = try await run(["--buy", "premium"])
        let state = try await subscription()
        let old = try await steps.transactions().first { $0.transactionId == before.transactionId }
        let refunded = old?.refunded.flatMap { Double($0) } ?? 0
        try teller.check(
            "the store refunded a part of the month, \(old?.refunded ?? "0.00") of 2.99 USD",
            old?.isUpgraded == true && refunded > 0 && refunded < 2.99, "\(String(describing: old))")
        try teller.check(
            "by the receipt, premium replaced the month",
            bought.output.contains(
                "By the receipt: Premium, instead of Monthly, paid until \(Self.day(state.expiresDate))\n"), bought.all)
        try await merchantGrants(Self.premium, until: state.expiresDate)
    }

    func refund() async throws {
        teller.begin("At the end of the year, the store refunds the last month")
        try await advance(ControlAPI.ClockChange(months: 4), "4mo")
        let last = try await subscription()
        let paid = try await run(["--status"])
        try teller.check(
            "premium has renewed until now",
            paid.output.contains("By the receipt: Premium, paid until \(Self.day(last.expiresDate))\n"), paid.all)
        try await merchantGrants(Self.premium, until: last.expiresDate)
        teller.show("cornerstore subscription refund \(account)")
        let refunded: ControlAPI.Refunded = try await control.send(
            .refund(.sandbox, id: last.transactionId), ControlAPI.Refund())
        let state = try await subscription()
        try teller.check(
            "the store paid 5.99 USD back, and the subscription is over",
            refunded.amount == "5.99" && state.state == .revoked, "\(refunded) \(state)")
        let status = try await run(["--status"])
        try teller.check(
            "by the receipt, the month was refunded", status.output.contains("By the receipt: Premium, refunded on "),
            status.all)
        let right = try await merchant.entitlement()
        try teller.check(
            "the merchant grants nothing any more", right?.state == .revoked, "\(String(describing: right))")
        teller.show("cornerstore clock reset")
        let clock: ControlAPI.Clock = try await control.send(
            .changeClock(.sandbox), ControlAPI.ClockChange(reset: true))
        try teller.check("the store's clock is right again", clock.offset == 0, "\(clock)")
    }

    // MARK: Helpers of several steps

    /// Moves the sandbox's clock, and the merchant's with it.
    private func advance(_ change: ControlAPI.ClockChange, _ span: String) async throws {
        teller.show("cornerstore clock advance \(span)")
        try await merchant.follow(try await control.send(.changeClock(.sandbox), change))
    }

    private func run(_ arguments: [String]) async throws -> ChildProcess.Result {
        teller.show("magazine " + arguments.joined(separator: " "))
        let result = try await app.run(arguments)
        teller.show(result.all)
        try teller.check("the app succeeded", result.status == 0, "\(result.status): \(result.all)")
        return result
    }

    private func subscription() async throws -> ControlAPI.Subscription {
        let all: [ControlAPI.Subscription] = try await control.send(.subscriptions(.sandbox, account: account))
        guard let one = all.first(where: { $0.bundleId == Self.bundleID }) else {
            throw CommandError(.failed, "The account \(account) has no subscription of Magazine.")
        }
        return one
    }

    private func merchantGrants(_ product: ProductID, until end: String) async throws {
        let right = try await merchant.entitlement()
        try teller.check(
            "the merchant grants the access until the same day",
            right?.state == .active && right?.productID == product && Self.day(right?.expiresAt) == Self.day(end),
            "\(String(describing: right))")
    }

    /// Returns the day on which the grace period ends, by `verifyReceipt`; nil without one.
    /// - Throws: ``CommandError`` with the status when `verifyReceipt` refuses the receipt.
    private func gracePeriodEnd() async throws -> String? {
        struct Answer: Decodable {
            struct Renewal: Decodable {
                var grace: String?

                enum CodingKeys: String, CodingKey { case grace = "grace_period_expires_date_ms" }
            }

            var status: Int
            var renewals: [Renewal]?

            enum CodingKeys: String, CodingKey {
                case status
                case renewals = "pending_renewal_info"
            }
        }
        let receipt = try BoundedInput.read(
            steps.places.path("device/apps/\(Self.bundleID)/sandboxReceipt").path, limit: 1 << 20, what: "receipt")
        let secret: ControlAPI.SharedSecret = try await control.send(.revealSecret(bundle: Self.bundleID))
        let request = VerifyReceiptRequest(
            receiptData: receipt, password: secret.sharedSecret, excludeOldTransactions: false)
        let url = steps.addresses.store(.sandbox) + StoreRoute.verifyReceipt.path
        let answer = try await PlainHTTP.send("POST", url, body: Data(request.body), limit: 1 << 20)
        let verified = try JSONDecoder().decode(Answer.self, from: answer.body)
        guard verified.status == 0 else {
            throw CommandError(
                .failed, "verifyReceipt refused the receipt of Magazine with the status \(verified.status).")
        }
        return verified.renewals?.first?.grace.flatMap { Int64($0) }.map { Self.day($0) }
    }

    /// The day of a date in ISO 8601.
    private static func day(_ date: String?) -> String { String((date ?? "").prefix(10)) }

    /// The day of a date in milliseconds since 1970, in UTC.
    private static func day(_ milliseconds: Int64?) -> String {
        milliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000).formatted(.iso8601.year().month().day()) }
            ?? ""
    }
}
