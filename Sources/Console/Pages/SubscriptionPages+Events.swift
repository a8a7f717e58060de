import ConsolePages
import ControlWire
import StoreWire

/// The forms that let something happen to subscriptions, and the grace periods of apps.
extension SubscriptionPages {
    // MARK: Grace periods

    static func grace(_ request: PageRequest, _ apps: [ControlAPI.App]) -> ConsoleSection? {
        guard !apps.isEmpty else { return nil }
        var section = ConsoleSection("grace", "Billing grace periods", isLive: true)
        var table = ConsoleTable(
            "The days that customers keep a subscription while a renewal cannot be charged",
            [
                ConsoleColumn("App"), ConsoleColumn("Days", isNumber: true), ConsoleColumn("Environments"),
                ConsoleColumn("After"),
            ],
            nothing: "No apps yet.")
        for app in apps.prefix(50) {
            let grace = app.gracePeriod
            let places = [
                grace?.production ?? false ? "production" : nil, grace?.sandbox ?? false ? "sandbox" : nil,
            ].compactMap(\.self)
            table.add([
                ConsoleCell(app.name ?? app.bundleId), ConsoleCell(grace.map { "\($0.days)" } ?? "none"),
                ConsoleCell(grace == nil ? "—" : places.joined(separator: ", ")),
                ConsoleCell(
                    grace.map { $0.paidToPaidOnly ?? false ? "paid periods" : "all periods" } ?? "—"),
            ])
        }
        section.table = table
        section.forms = [
            ConsoleForm(
                "Set a grace period", action: request.action("subscriptions/grace"),
                fields: [
                    ConsoleField(
                        "bundle", "App", .choice,
                        options: apps.prefix(50).map { ConsoleOption($0.bundleId, $0.name ?? $0.bundleId) }),
                    ConsoleField(
                        "days", "Length", .choice,
                        options: [
                            ConsoleOption("", "None"), ConsoleOption("3", "3 days"),
                            ConsoleOption("16", "16 days, 6 for weekly subscriptions"),
                            ConsoleOption("28", "28 days, 6 for weekly subscriptions"),
                        ]),
                    ConsoleField("production", "In production", .tick, isOn: true),
                    ConsoleField("sandbox", "In the sandbox", .tick, isOn: true),
                    ConsoleField("paid", "Only after a paid period", .tick),
                ], button: "Set the grace period", text: "The change does not affect renewals that are already overdue."
            )
        ]
        return section
    }

    @Sendable static func setGrace(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = try action.required("bundle", "App")
        guard let days = action.text("days").flatMap(Int64.init) else {
            try await action.api.perform(.removeGracePeriod(bundle: bundle))
            return .done("subscriptions", message: "\(bundle) has no grace period.")
        }
        let grace: ControlAPI.GracePeriod = try await action.api.send(
            .setGracePeriod(bundle: bundle),
            ControlAPI.GracePeriod(
                days: days, production: action.isOn("production"), sandbox: action.isOn("sandbox"),
                paidToPaidOnly: action.isOn("paid")))
        return .done("subscriptions", message: "\(bundle) has a grace period of \(grace.days) days.")
    }

    // MARK: Events

    /// The events that the operator can cause, as options of a form.
    private static func events(_ request: PageRequest) -> [ConsoleOption] {
        let sandbox = [
            ConsoleOption("renew", "Renew now"), ConsoleOption("fail", "Let the renewal fail now"),
            ConsoleOption("expire", "End now"),
        ]
        return (request.environment == .sandbox ? sandbox : [])
            + [
                ConsoleOption("recover", "Try the overdue payment again"), ConsoleOption("extend", "Extend the period"),
                ConsoleOption("change", "Change the plan"),
            ]
    }

    static func events(
        _ request: PageRequest, _ states: [ControlAPI.Subscription], _ account: ControlAPI.Account
    ) -> ConsoleSection? {
        // A family-shared subscription follows the purchaser's.
        let states = states.filter { $0.sharedBy == nil }
        guard !states.isEmpty else { return nil }
        var section = ConsoleSection("events", "Let something happen")
        section.forms = [
            ConsoleForm(
                action: request.action("subscriptions/\(account.accountId.percentEncoded)/event"),
                fields: [
                    ConsoleField(
                        "id", "Subscription", .choice,
                        options: states.prefix(50).map { ConsoleOption($0.originalTransactionId, $0.productId) }),
                    ConsoleField("event", "Event", .choice, options: events(request)),
                    ConsoleField("days", "Days", hint: "Of an extension, 1 to 90."),
                    ConsoleField("product", "Product", hint: "The new plan's id, from the same group."),
                ], button: "Do it")
        ]
        return section
    }

    @Sendable static func act(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = try action.required("id", "Subscription")
        let event = try action.required("event", "Event")
        let subscription: ControlAPI.Subscription
        switch SubscriptionAction(rawValue: event) {
        case nil:
            subscription = try await action.api.send(
                .changeSubscription(action.environment, id: id),
                ControlAPI.SubscriptionChange(productId: try action.required("product", "Product")))
        case .extend:
            guard let days = Int(try action.required("days", "Days")) else {
                throw FormProblem("days", "Give a number of days from 1 to 90.")
            }
            subscription = try await action.api.send(
                .actOnSubscription(action.environment, id: id, .extend),
                ControlAPI.SubscriptionExtension(days: days))
        case let known?:
            subscription = try await action.api.ask(.actOnSubscription(action.environment, id: id, known))
        }
        return .done(
            "subscriptions/\(action.page.parameter("account").percentEncoded)",
            message:
                "\(subscription.productId): \(words(subscription.state)), until \(Moments.text(subscription.expiresDate))."
        )
    }

    private static func words(_ state: ControlAPI.Subscription.State) -> String {
        switch state {
        case .active: "active"
        case .gracePeriod: "in its grace period"
        case .billingRetry: "in billing retry"
        case .expired: "expired"
        case .revoked: "refunded"
        }
    }
}
