import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// Customers' requests for refunds: the list, one with its decision, the form that makes one, and the rule for those
/// that nobody decides.
enum RefundRequestPages {
    static let routes = [
        PageRoute(path: "refund-requests", area: .transactions, topics: [.transactions], make: list),
        PageRoute(path: "refund-requests/{id}", area: .transactions, topics: [.transactions], make: one),
        PageRoute(path: "transactions/{id}/refund-request", area: .transactions, make: question),
    ]

    static let actions = [
        ConsoleAction(
            path: "refund-requests/rule", routes: [.control(.refundRequests(.setRule(.sandbox)))],
            page: "refund-requests", change: "set the rule for refund requests", perform: setRule),
        ConsoleAction(
            path: "refund-requests/{id}/approve", routes: [.control(.refundRequests(.approve(.sandbox, id: "")))],
            page: "refund-requests/{id}", change: "approve a refund request", perform: approve),
        ConsoleAction(
            path: "refund-requests/{id}/decline", routes: [.control(.refundRequests(.decline(.sandbox, id: "")))],
            page: "refund-requests/{id}", change: "decline a refund request", perform: decline),
        ConsoleAction(
            path: "transactions/{id}/refund-request", routes: [.control(.refundRequests(.make(.sandbox)))],
            page: "transactions/{id}/refund-request", change: "request a refund as the customer", perform: make),
    ]

    // MARK: The list

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Refund requests")
        page.trail = [ConsoleLink("Transactions", request.link("transactions"))]
        let (state, before) = (request.filter("state"), request.filter("before"))
        var section = ConsoleSection("list", "Requests", isLive: before == nil)
        section.filter = ConsoleForm(
            action: request.action("refund-requests"), method: "get",
            fields: [
                ConsoleField(
                    "state", "State", .choice,
                    options: [ConsoleOption("", "All")]
                        + ["waiting", "approved", "declined"].map {
                            ConsoleOption($0, stateWord($0), isChosen: $0 == state)
                        })
            ], hidden: request.app.map { [ConsoleHidden("app", $0)] } ?? [], button: "Filter", isLine: true)
        var table = ConsoleTable(
            "Requests, newest first",
            [
                ConsoleColumn("Request"), ConsoleColumn("Customer"), ConsoleColumn("Product"),
                ConsoleColumn("Price", isNumber: true), ConsoleColumn("Reason"), ConsoleColumn("Asked"),
                ConsoleColumn("App's server"), ConsoleColumn("State"),
            ], nothing: "No requests yet. Make one for the customer on a transaction's page, or run:",
            command: "cornerstore refund-request make 2000000000000000\(request.flag)")
        var found = ControlAPI.Page<ControlAPI.RefundRequest>(rows: [], next: nil)
        do {
            found = try await request.api.ask(
                ControlRoute.refundRequests(
                    .list(request.environment, bundle: request.app, state: state, before: before, limit: 50)))
            if state != nil { (table.nothing, table.command) = ("No request matches.", nil) }
        } catch let problem as APIProblem where problem.status == 400 {
            section.filter?.problem = problem.message
            (table.nothing, table.command) = ("Change the filter.", nil)
        }
        for row in found.rows.prefix(50) { table.add(cells(row, request)) }
        table.next = found.next.map { request.link("refund-requests", [("state", state), ("before", $0)]) }
        if found.rows.count < 50 { table.nextLabel = "Look further" }
        if before != nil { table.first = request.link("refund-requests", [("state", state)]) }
        section.table = table
        page.sections = [section, try await rule(request)]
        page.commands = [
            ConsoleCode("Requests that wait", "cornerstore refund-request list --state waiting\(request.flag)"),
            ConsoleCode("The rule", "cornerstore refund-request rule\(request.flag)"),
            ConsoleCode("Control port", request.curl(.refundRequests(.list(request.environment, limit: 50)))),
        ]
        return page
    }

    private static func cells(_ row: ControlAPI.RefundRequest, _ request: PageRequest) -> [ConsoleCell] {
        [
            ConsoleCell(
                row.requestId, link: request.link("refund-requests/\(row.requestId.percentEncoded)"), isID: true),
            ConsoleCell(
                row.email ?? "—", link: row.email.map { request.link("customers/\($0.percentEncoded)") }),
            ConsoleCell(row.productId), ConsoleCell(price(row)), ConsoleCell(ConsumptionWords.reason(row.reason)),
            request.moments.cell(row.requestedDate),
            row.consumption == nil ? ConsoleCell("—", tone: .dim) : ConsoleCell("Answered"),
            ConsoleCell(stateWord(row.state), tone: tone(row.state)),
        ]
    }

    private static func price(_ row: ControlAPI.RefundRequest) -> String {
        row.price.map { "\($0) \(row.currency ?? "")" } ?? "—"
    }

    private static func stateWord(_ state: String) -> String { state.prefix(1).uppercased() + state.dropFirst() }

    private static func tone(_ state: String) -> ConsoleTone {
        switch state {
        case "waiting": .warn
        case "approved": .good
        default: .bad
        }
    }

    // MARK: The rule

    private static let rules = [
        ("ask", "Wait for a person"), ("approve", "Approve"), ("decline", "Decline"),
        ("preference", "Follow the preference of the app's server"),
    ]

    private static func rule(_ request: PageRequest) async throws -> ConsoleSection {
        let current: ControlAPI.RefundRule = try await request.api.ask(
            ControlRoute.refundRequests(.rule(request.environment)))
        var section = ConsoleSection(
            "rule", "Undecided requests",
            text: "The app's server has 12 hours to say how the purchase was used, and 5 minutes in the sandbox. "
                + "The rule holds from then on, also for the requests that wait already.")
        section.facts = [ConsoleFact("Rule", ruleWord(current.rule))]
        section.forms = [
            ConsoleForm(
                action: request.action("refund-requests/rule"),
                fields: [
                    ConsoleField(
                        "rule", "When the deadline is over", .choice,
                        options: rules.map { ConsoleOption($0.0, $0.1, isChosen: $0.0 == current.rule) })
                ], button: "Set the rule")
        ]
        return section
    }

    private static func ruleWord(_ name: String) -> String { rules.first { $0.0 == name }?.1 ?? name }

    @Sendable private static func setRule(_ action: ActionRequest) async throws -> ActionOutcome {
        let set: ControlAPI.RefundRule = try await action.api.send(
            ControlRoute.refundRequests(.setRule(action.environment)),
            ControlAPI.RefundRule(rule: try action.required("rule", "When the deadline is over")))
        return .done("refund-requests", message: "The rule is: \(ruleWord(set.rule)).")
    }

    // MARK: One request

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let found: ControlAPI.RefundRequest = try await request.api.ask(
            ControlRoute.refundRequests(.request(request.environment, id: request.parameter("id"))))
        var page = ConsolePage("Refund request \(found.requestId)")
        page.trail = [
            ConsoleLink("Transactions", request.link("transactions")),
            ConsoleLink("Refund requests", request.link("refund-requests")),
        ]
        page.sections = [summary(found, request), answer(found)]
        if found.state == "waiting" { page.sections.append(decision(found, request)) }
        let id = found.requestId.shellWord
        page.commands = [
            ConsoleCode("Show", "cornerstore refund-request show \(id)\(request.flag)"),
            ConsoleCode("Approve", "cornerstore refund-request approve \(id)\(request.flag)"),
            ConsoleCode("Decline", "cornerstore refund-request decline \(id)\(request.flag)"),
            ConsoleCode(
                "Control port", request.curl(.refundRequests(.request(request.environment, id: found.requestId)))),
        ]
        return page
    }

    private static func summary(_ found: ControlAPI.RefundRequest, _ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection("summary", found.productId, isLive: true)
        section.facts = [
            ConsoleFact("State", stateWord(found.state), tone: tone(found.state)),
            ConsoleFact(
                "Customer", found.email ?? "—",
                link: found.email.map { request.link("customers/\($0.percentEncoded)") }),
            ConsoleFact("Paid", price(found)),
            ConsoleFact(
                "Transaction", found.transactionId,
                link: request.link("transactions/\(found.transactionId.percentEncoded)"), isID: true),
            ConsoleFact("App", found.bundleId),
            ConsoleFact("Reason", ConsumptionWords.reason(found.reason), note: found.reason),
            request.moments.fact("Asked", found.requestedDate),
            request.moments.fact("Deadline of the app's server", found.deadline),
            request.moments.fact("Decided", found.decidedDate, absent: "not yet"),
        ]
        return section
    }

    private static func answer(_ found: ControlAPI.RefundRequest) -> ConsoleSection {
        var section = ConsoleSection("answer", "Answer of the app's server", isLive: true)
        section.facts = ConsumptionWords.facts(found)
        section.text =
            found.consumptionVersion.map { "The answer to CONSUMPTION_REQUEST, version \($0)." }
            ?? "Nothing. The store asks about consumables and auto-renewable subscriptions."
        return section
    }

    private static func decision(_ found: ControlAPI.RefundRequest, _ request: PageRequest) -> ConsoleSection {
        let path = "refund-requests/\(found.requestId.percentEncoded)/"
        var section = ConsoleSection("decision", "Decide")
        section.forms = [
            ConsoleForm(
                "Approve", action: request.action(path + "approve"),
                fields: [
                    ConsoleField(
                        "share", "How much", .choice,
                        options: [
                            ConsoleOption("whole", "All that was paid"),
                            ConsoleOption("prorated", "The part that was not used"),
                        ])
                ], button: "Approve", tone: .bad, text: "The purchase is revoked."),
            ConsoleForm(
                "Decline", action: request.action(path + "decline"), button: "Decline",
                text: "The purchase stays as it is. The app's server gets REFUND_DECLINED."),
        ]
        return section
    }

    @Sendable private static func approve(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = action.page.parameter("id")
        let decided: ControlAPI.RefundRequest = try await action.api.send(
            ControlRoute.refundRequests(.approve(action.environment, id: id)),
            ControlAPI.RefundApproval(share: action.text("share")))
        return .done(
            "refund-requests/\(id.percentEncoded)", message: "Approved. \(decided.productId) is refunded.")
    }

    @Sendable private static func decline(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = action.page.parameter("id")
        try await action.api.perform(ControlRoute.refundRequests(.decline(action.environment, id: id)))
        return .done("refund-requests/\(id.percentEncoded)", message: "Declined. The purchase stays as it is.")
    }

    // MARK: A new request

    @Sendable private static func question(_ request: PageRequest) async throws -> ConsolePage {
        let detail: ControlAPI.TransactionDetail = try await request.api.ask(
            .transaction(request.environment, id: request.parameter("id")))
        let row = detail.transaction
        let path = "transactions/\(row.transactionId.percentEncoded)"
        var page = ConsolePage("Request a refund as the customer")
        page.trail = [
            ConsoleLink("Transactions", request.link("transactions")),
            ConsoleLink(row.transactionId, request.link(path)),
        ]
        var section = ConsoleSection("request", row.name ?? row.productId)
        section.text =
            "\(detail.email ?? row.accountId) paid \(row.price) \(row.currency). The request waits for a decision. "
            + "Auto-renew of a subscription is off from then on."
        section.forms = [
            ConsoleForm(
                action: request.action(path + "/refund-request"),
                fields: [
                    ConsoleField(
                        "reason", "The customer's reason", .choice,
                        options: ConsumptionWords.reasons.map { ConsoleOption($0.0, $0.1) })
                ], button: "Request the refund", cancel: request.link(path))
        ]
        page.sections = [section]
        page.commands = [
            ConsoleCode("Command", "cornerstore refund-request make \(row.transactionId.shellWord)\(request.flag)"),
            ConsoleCode(
                "Control port",
                request.curl(
                    .refundRequests(.make(request.environment)), #"{"transactionId":"\#(row.transactionId)"}"#)),
        ]
        return page
    }

    @Sendable private static func make(_ action: ActionRequest) async throws -> ActionOutcome {
        let made: ControlAPI.RefundRequest = try await action.api.send(
            ControlRoute.refundRequests(.make(action.environment)),
            ControlAPI.NewRefundRequest(
                transactionId: action.page.parameter("id"), reason: action.text("reason")))
        return .done(
            "refund-requests/\(made.requestId.percentEncoded)", message: "The customer's request waits for a decision.")
    }
}
