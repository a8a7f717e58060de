import ArgumentParser
import Foundation
import StoreKit
import StoreServer
import StoreWire

/// `cornerstore subscriptions`: the customer's own subscriptions, as on Apple's page of subscriptions.
struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "Manage the subscriptions of an account as its owner: the next charge, renewal, other plans.",
        discussion: """
            The customer signs in, as on a device. “cornerstore subscription” is the operator's command.

              cornerstore subscriptions
              cornerstore subscriptions cancel
              cornerstore subscriptions change com.example.club.yearly
              cornerstore subscriptions page
            """,
        subcommands: [List.self, Cancel.self, Enable.self, Change.self, Page.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the subscriptions with their next charge, and the plans that the customer can change to.",
            discussion: """
                Subscriptions that ended more than 365 days ago are not listed.

                  cornerstore subscriptions list
                  cornerstore subscriptions --environment production --account anna@example.com --password-file anna.txt --json
                """)

        @OptionGroup var options: SubscriptionsOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let found = try await options.use { try await $0.subscriptions(of: options.app) }
            try Console.current.report(found, json: output.json) { style in
                guard !found.isEmpty else { return "The account has no subscriptions." }
                return SubscriptionsCommand.text(found, style)
            }
        }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn renewal off. The subscription ends with its period, or now if a payment is overdue.",
            discussion: """
                  cornerstore subscriptions cancel
                  cornerstore subscriptions cancel com.example.club.monthly
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.setRenewal(false) }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn renewal on again, before the period ends.",
            discussion: """
                  cornerstore subscriptions enable com.example.club.monthly
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.setRenewal(true) }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Change to another plan of the group: a higher one begins now, a lower one with the next renewal.",
            discussion: """
                “cornerstore subscriptions” lists the plans, their prices and when a change takes effect. The command agrees to the listed \
                price, or to the one given with --price. The store refuses if it has changed. After the subscription is over, the command \
                subscribes again.

                  cornerstore subscriptions change com.example.club.yearly
                  cornerstore subscriptions change com.example.club.yearly --price 49.99
                  cornerstore subscriptions change com.example.club.monthly --offer come-back
                """)

        @Argument(help: "The product of the other plan.")
        var product: String
        @Option(help: ArgumentHelp("The price that the customer agrees to.", valueName: "decimal"))
        var price: String?
        @Option(
            help: ArgumentHelp("The win-back offer to begin with, after the subscription is over.", valueName: "id"))
        var offer: String?
        @OptionGroup var options: SubscriptionsOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (plan, subscription) = try await options.use { session in
                let (subscription, plan) = try choice(try await session.subscriptions(of: options.app))
                var agreed = plan.agreedPrice
                if let price {
                    guard let money = Money(decimal: price, currency: agreed.currency) else {
                        throw ValidationError("--price must be a decimal such as 4.99.")
                    }
                    agreed = money
                }
                let answer: PurchaseResponse = try await session.send(
                    .changePlan(subscription.originalTransactionID),
                    PlanChangeRequest(
                        productID: plan.productID, agreedPrice: agreed, idempotencyKey: UUID(), winBackOfferID: offer))
                switch answer.state {
                case .purchased: break
                case .deferred:
                    throw CommandError(
                        .refused, "The change is waiting for approval. See “cornerstore purchase pending”.")
                case .failed:
                    throw CommandError(
                        .refused, Style.printable(answer.failure?.message ?? "The store returned no reason."))
                }
                let after = try await session.subscriptions(of: subscription.bundleID.rawValue)
                return (plan, after.first { $0.originalTransactionID == subscription.originalTransactionID })
            }
            try Console.current.report(subscription, json: output.json) { style in
                let when = plan.effect == .now ? "begins now" : "begins with the next renewal"
                let heading =
                    style.good("\(Style.printable(plan.name)) \(when).")
                    + " \(SubscriptionsCommand.price(plan))"
                return ([heading] + (subscription.map { [SubscriptionsCommand.text([$0], style)] } ?? []))
                    .joined(separator: "\n")
            }
        }

        private func choice(
            _ found: [ManagedSubscription]
        ) throws -> (ManagedSubscription, SubscriptionPlanChoice) {
            let choices = found.flatMap { subscription in subscription.plans.map { (subscription, $0) } }
            let matching = choices.filter {
                $0.1.productID == ProductID(product) && $0.1.offer?.offerID == offer
            }
            guard let first = matching.first else {
                if let offer, choices.contains(where: { $0.1.productID == ProductID(product) }) {
                    let offers = choices.compactMap(\.1.offer?.offerID).joined(separator: ", ")
                    throw CommandError(
                        .refused,
                        "The account cannot use the offer \(offer). "
                            + (offers.isEmpty ? "There are no offers." : "The offers are: \(offers)."))
                }
                let plans = choices.map(\.1.productID.rawValue).joined(separator: ", ")
                throw CommandError(
                    .refused,
                    "The account cannot change to \(product). "
                        + (plans.isEmpty ? "There are no other plans." : "The plans are: \(plans)."))
            }
            guard matching.count == 1 else { throw ValidationError("Several apps have this plan. Add --app.") }
            return first
        }
    }

    struct Page: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show where the customer manages the subscriptions in a browser.",
            discussion: """
                Anyone who knows a storefront's address can sign in there with an e-mail address and a password.

                  cornerstore subscriptions page
                """)
        @OptionGroup var data: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let address = try data.addresses().storefront + "/subscriptions"
            try Console.current.report(["url": address], json: output.json) { _ in address }
        }
    }

    /// The subscription that a command changes.
    struct Selection: ParsableArguments {
        @Argument(help: "The product of the subscription; needed when the account has several.")
        var product: String?
        @OptionGroup var options: SubscriptionsOptions
        @OptionGroup var output: OutputOptions

        /// Turns renewal on or off, and reports the new state.
        func setRenewal(_ isOn: Bool) async throws {
            let changed: ManagedSubscription = try await options.use { session in
                let one = try one(of: try await session.subscriptions(of: options.app), isOn)
                return try await session.send(
                    .setRenewal(one.originalTransactionID), RenewalRequest(willRenew: isOn))
            }
            try Console.current.report(changed, json: output.json) { SubscriptionsCommand.text([changed], $0) }
        }

        private func one(of all: [ManagedSubscription], _ isOn: Bool) throws -> ManagedSubscription {
            let named = all.filter { product == nil || $0.productID == product.map { ProductID($0) } }
            // Without a product, those that can change are meant.
            let found =
                product == nil ? named.filter { isOn ? $0.canTurnRenewalOn : $0.willRenew } : named
            guard let one = found.first else {
                throw CommandError(
                    .refused,
                    product.map { "The account has no subscription to \($0). See “cornerstore subscriptions”." }
                        ?? "The account has no subscription whose renewal can be turned \(isOn ? "on" : "off").")
            }
            guard found.count == 1 else {
                let products = found.map(\.productID.rawValue).joined(separator: ", ")
                throw ValidationError(
                    "The account has several subscriptions. Name the product, and perhaps --app: \(products).")
            }
            return one
        }
    }

    // MARK: Text

    static func price(_ price: Money) -> String { "\(price.decimal) \(price.currency)" }

    /// The price of a plan, and of the offer that it begins with.
    static func price(_ plan: SubscriptionPlanChoice) -> String {
        let usual = "\(price(plan.price)) \(plan.period)"
        guard let offer = plan.offer else { return usual }
        let times = offer.numberOfPeriods == 1 ? "" : " × \(offer.numberOfPeriods)"
        return "\(price(offer.price)) \(offer.period)\(times), then \(usual)"
    }

    static func text(_ found: [ManagedSubscription], _ style: Style) -> String {
        let states = Table(
            heading: ["product", "name", "app", "state", "period ends", "renews", "next charge", "on", "for"],
            rows: found.map { row in
                [
                    row.productID.rawValue, row.productName, row.appName ?? row.bundleID.rawValue, row.state.rawValue,
                    Moment.text(row.expiresDate), row.willRenew ? "yes" : "no",
                    row.nextCharge.map { price($0.price) } ?? row.obstacle.map(why) ?? "none",
                    row.nextCharge.map { Moment.text($0.date) } ?? "", row.nextCharge?.productID.rawValue ?? "",
                ]
            })
        let plans = found.flatMap { subscription in
            subscription.plans.map { plan in
                [
                    subscription.productID.rawValue, plan.productID.rawValue, plan.name, plan.offer?.offerID ?? "",
                    price(plan), plan.effect == .now ? "now" : "with the next renewal",
                ]
            }
        }
        guard !plans.isEmpty else { return states.text(style) }
        let table = Table(heading: ["from", "change to", "name", "offer", "price", "begins"], rows: plans)
        return states.text(style) + "\n\n" + table.text(style)
    }

    private static func why(_ obstacle: RenewalObstacle) -> String {
        switch obstacle {
        case .notForSale: "none: no longer for sale"
        case .priceIncrease: "none: price increase without consent"
        case .renewalLimit: "none: the sandbox's last renewal"
        case .other: "none"
        }
    }
}

/// The options of commands that manage the subscriptions of an account.
struct SubscriptionsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only subscriptions of this app.", valueName: "bundle-id"))
    var app: String?
    @Option(help: ArgumentHelp("The account.", valueName: "email"))
    var account: String?
    @OptionGroup var password: PasswordOptions
    @Option(
        help: ArgumentHelp("The folder of the device that signs in.", valueName: "dir"), completion: .directory)
    var device: String?
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var data: DataOptions

    /// Signs in, runs `body`, and signs out.
    func use<Result>(_ body: (ShellSession) async throws -> Result) async throws -> Result {
        let base = try data.addresses().store(environment.environment)
        let folder = try device.map(DevicePlace.existing)
        let customer = try ShellCustomer.named(account, password, environment.environment, in: data.directory)
        return try await ShellSession.with(customer, at: base, deviceID: folder.flatMap(Self.deviceID), body)
    }

    private static func deviceID(_ folder: URL) -> UUID? {
        let text = try? String(contentsOf: folder.appendingPathComponent("device-id"), encoding: .utf8)
        return text.flatMap { UUID(uuidString: $0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }
}

extension ShellSession {
    /// The account's subscriptions.
    /// - Parameter app: the app's bundle identifier; nil for all apps.
    func subscriptions(of app: String?) async throws -> [ManagedSubscription] {
        var found: [ManagedSubscription] = []
        while true {
            let page: SubscriptionsResponse = try await send(
                .subscriptions(app.map { BundleID($0) }, after: found.last?.originalTransactionID))
            found += page.subscriptions
            guard page.hasMore, !page.subscriptions.isEmpty else { return found }
        }
    }
}
