import ArgumentParser
import ControlWire

/// `cornerstore refund-request`: customers' requests for refunds.
struct RefundRequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refund-request",
        abstract: "Request a refund as the customer, decide requests, and set the rule for undecided requests.",
        discussion: """
            For consumables and auto-renewable subscriptions, the store asks the app's server how the purchase was \
            used. The server has 12 hours to answer, and 5 minutes in the sandbox. “transaction refund” refunds \
            without a request.

              cornerstore refund-request make 2000000000000123 --reason unintended-purchase
              cornerstore refund-request list --state waiting
              cornerstore refund-request approve 2000000000000456
              cornerstore refund-request rule preference
            """,
        subcommands: [List.self, Make.self, Show.self, Approve.self, Decline.self, Rule.self],
        defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// Prints one request.
        func report(_ request: ControlAPI.RefundRequest) throws {
            try Console.current.report(request, json: output.json) { style in
                var fields: [(String, String?)] = [
                    ("request", request.requestId), ("transaction", request.transactionId),
                    ("product", request.productId), ("app", request.bundleId), ("account", request.email),
                    ("price", request.price.map { [$0, request.currency ?? ""].joined(separator: " ") }),
                    ("reason", request.reason), ("requested", String(request.requestedDate.prefix(19))),
                    ("deadline", String(request.deadline.prefix(19))), ("state", request.state),
                    ("decided", request.decidedDate.map { String($0.prefix(19)) }),
                ]
                if case .object(let members) = request.consumption {
                    fields += members.sorted { $0.key < $1.key }.map { ($0.key, Self.text($0.value)) }
                }
                return Table.fields(fields, style)
            }
        }

        private static func text(_ value: ControlAPI.CatalogValue) -> String? {
            switch value {
            case .bool(let flag): String(flag)
            case .number(let number): "\(number)"
            case .string(let text): text
            case .null, .array, .object: nil
            }
        }
    }

    enum State: String, ExpressibleByArgument, CaseIterable {
        case waiting
        case approved
        case declined
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List requests, newest first.",
            discussion: """
                  cornerstore refund-request list --app com.example.app --limit 10
                  cornerstore refund-request list --state waiting --environment production
                """)
        @Option(help: "List only requests in this state.")
        var state: State?
        @OptionGroup var part: NewestFirstOptions
        @OptionGroup var options: Options

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.RefundRequest> = try await options.control.client().send(
                .refundRequests(
                    .list(
                        options.environment.environment, bundle: part.app, state: state?.rawValue,
                        before: part.before, limit: part.limit)))
            page.suggestNextPage(after: part.limit, with: "--before")
            try Console.current.report(page.rows, json: options.output.json) { style in
                guard !page.rows.isEmpty else {
                    return "No requests for refunds in \(options.environment.environment.name)."
                }
                return Table(
                    heading: ["request", "requested", "transaction", "product", "reason", "answered", "state"],
                    rows: page.rows.map {
                        [
                            $0.requestId, String($0.requestedDate.prefix(19)), $0.transactionId, $0.productId,
                            $0.reason, $0.consumption == nil ? "no" : "yes", $0.state,
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Make: AsyncParsableCommand {
        /// Apple's reasons, in lower case.
        enum Reason: String, ExpressibleByArgument, CaseIterable {
            case unintendedPurchase = "unintended-purchase"
            case fulfillmentIssue = "fulfillment-issue"
            case unsatisfied = "unsatisfied-with-purchase"
            case legal
            case other

            /// Apple's word.
            var name: String { rawValue.uppercased().replacing("-", with: "_") }
        }

        static let configuration = CommandConfiguration(
            abstract: "Request the refund of a transaction as the customer.",
            discussion: """
                Auto-renew of a subscription is off from then on, as after Apple's refund request.

                  cornerstore refund-request make 2000000000000123
                  cornerstore refund-request make 2000000000000123 --reason unsatisfied-with-purchase
                """)
        @Argument(help: "The transaction's id.")
        var transaction: String
        @Option(help: "The customer's reason.")
        var reason = Reason.other
        @OptionGroup var options: Options

        func run() async throws {
            let made: ControlAPI.RefundRequest = try await options.control.client().send(
                .refundRequests(.make(options.environment.environment)),
                ControlAPI.NewRefundRequest(transactionId: transaction, reason: reason.name))
            try options.report(made)
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a request with the answer of the app's server.")
        @Argument(help: "The request's id.")
        var id: String
        @OptionGroup var options: Options

        func run() async throws {
            let found: ControlAPI.RefundRequest = try await options.control.client().send(
                .refundRequests(.request(options.environment.environment, id: id)))
            try options.report(found)
        }
    }

    struct Approve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Approve a request, before or after its deadline: the transaction is refunded.")
        @Argument(help: "The request's id.")
        var id: String
        @Flag(help: "Refund only the part of a period that is not over, or of another product that was not used.")
        var prorated = false
        @OptionGroup var options: Options

        func run() async throws {
            let decided: ControlAPI.RefundRequest = try await options.control.client().send(
                .refundRequests(.approve(options.environment.environment, id: id)),
                ControlAPI.RefundApproval(share: prorated ? "prorated" : nil))
            try options.report(decided)
        }
    }

    struct Decline: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Decline a request, before or after its deadline.")
        @Argument(help: "The request's id.")
        var id: String
        @OptionGroup var options: Options

        func run() async throws {
            let decided: ControlAPI.RefundRequest = try await options.control.client().send(
                .refundRequests(.decline(options.environment.environment, id: id)))
            try options.report(decided)
        }
    }

    struct Rule: AsyncParsableCommand {
        enum Name: String, ExpressibleByArgument, CaseIterable {
            case ask
            case approve
            case decline
            case preference

            /// The rule in words.
            var words: String {
                switch self {
                case .ask: "Requests wait for the operator."
                case .approve: "Requests are approved when their deadlines are over."
                case .decline: "Requests are declined when their deadlines are over."
                case .preference: "When its deadline is over, a request is decided as the app's server prefers."
                }
            }
        }

        static let configuration = CommandConfiguration(
            abstract: "Show or set the rule for requests whose deadlines are over.",
            discussion: """
                ask waits for the operator, and is production's rule at first; approve is the sandbox's, as Apple's. \
                preference follows the preference of the app's server, and approves a \
                request without one. Requests whose deadlines are already over are decided at once.

                  cornerstore refund-request rule
                  cornerstore refund-request rule approve --environment production
                """)
        @Argument(help: "The rule: ask, approve, decline or preference. Without one, the rule is shown.")
        var rule: Name?
        @OptionGroup var options: Options

        func run() async throws {
            let client = try options.control.client()
            let environment = options.environment.environment
            let answer: ControlAPI.RefundRule =
                if let rule {
                    try await client.send(
                        .refundRequests(.setRule(environment)), ControlAPI.RefundRule(rule: rule.rawValue))
                } else {
                    try await client.send(.refundRequests(.rule(environment)))
                }
            try Console.current.report(answer, json: options.output.json) { style in
                style.accent(answer.rule) + (Name(rawValue: answer.rule).map { "  \($0.words)" } ?? "")
            }
        }
    }
}
