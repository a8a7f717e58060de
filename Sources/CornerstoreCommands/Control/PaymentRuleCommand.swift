import ArgumentParser
import ControlWire
import StoreWire

/// `cornerstore payment-rule`: chooses which payments the store declines.
struct PaymentRuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payment-rule",
        abstract: "Choose which payments the store declines.",
        discussion: """
            Without rules, the store accepts every payment. A rule without conditions declines every payment.

              cornerstore payment-rule add too-dear --minimum 100.00
              cornerstore payment-rule add once --product com.example.app.coins --count 1
              cornerstore payment-rule remove once
              cornerstore payment-rule clear
            """,
        subcommands: [List.self, Add.self, Remove.self, Clear.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func report() async throws {
            let rules: [ControlAPI.PaymentRule] = try await control.client().send(
                .paymentRules(environment.environment))
            try Console.current.report(rules, json: output.json) { style in
                guard !rules.isEmpty else { return "No rules. The store accepts every payment." }
                let rows = rules.map { rule in
                    [
                        rule.name, rule.account ?? "any", rule.productId ?? "any",
                        rule.minimumAmount.map { Money(milliunits: $0, currency: "USD").decimal } ?? "any",
                        rule.count.map(String.init) ?? "always",
                    ]
                }
                return Table(heading: ["rule", "account", "product", "from", "times left"], rows: rows).text(style)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the rules.")
        @OptionGroup var options: Options

        func run() async throws { try await options.report() }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add a rule, or replace the rule with this name.")
        @Argument(help: "The rule's name.")
        var name: String
        @Option(help: ArgumentHelp("Decline only payments of this account.", valueName: "email"))
        var account: String?
        @Option(help: ArgumentHelp("Decline only payments for this product.", valueName: "product-id"))
        var product: String?
        @Option(
            parsing: .unconditional,
            help: ArgumentHelp(
                "Decline only payments of at least this amount, in the payment's currency.", valueName: "amount"))
        var minimum: String?
        @Option(parsing: .unconditional, help: "The number of payments to decline, 1 or more. The default is no limit.")
        var count: Int?
        @OptionGroup var options: Options

        func validate() throws {
            guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be 1 or more.") }
        }

        func run() async throws {
            let milliunits = try minimum.map { text in
                guard let money = Money(decimal: text, currency: "USD"), money.milliunits >= 0 else {
                    throw CommandError(.usage, "--minimum must be an amount such as 9.99, not “\(text)”.")
                }
                return money.milliunits
            }
            let rule = ControlAPI.PaymentRule(
                name: name, account: account, productId: product, minimumAmount: milliunits, count: count)
            try await options.control.client().perform(.addPaymentRule(options.environment.environment), rule)
            try await options.report()
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a rule.")
        @Argument(help: "The rule's name.")
        var name: String
        @OptionGroup var options: Options

        func run() async throws {
            try await options.control.client().perform(
                .removePaymentRule(options.environment.environment, name: name))
            try await options.report()
        }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove all rules.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.control.client().perform(.clearPaymentRules(options.environment.environment))
            try await options.report()
        }
    }
}
