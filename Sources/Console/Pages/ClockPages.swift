import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The store's clock, ordered faults and payment rules.
enum ClockPages {
    static let routes = [PageRoute(path: "clock", area: .clock, topics: [.clock, .faults], make: make)]

    static let actions: [ConsoleAction] = [
        clock("freeze") { _ in ControlAPI.ClockChange(freeze: true) },
        clock("resume") { _ in ControlAPI.ClockChange(freeze: false) },
        clock("reset") { _ in ControlAPI.ClockChange(reset: true) },
        clock("advance") { action in
            guard let step = action.text("step").flatMap({ Int64($0) }), step.magnitude <= 400 * 86_400_000 else {
                throw FormProblem("step", "Choose a step of at most 400 days.")
            }
            return ControlAPI.ClockChange(advance: step)
        },
        clock("set") { action in
            _ = try action.required("instant", "Instant")
            return ControlAPI.ClockChange(set: try action.instant("instant"))
        },
        ConsoleAction(
            path: "faults/order", routes: [.control(.orderFault(.sandbox))], page: "clock", change: "order a fault",
            perform: order),
        ConsoleAction(
            path: "faults/remove", routes: [.control(.removeFault(.sandbox, operation: ""))], page: "clock",
            change: "remove a fault"
        ) { action in
            let operation = try action.required("operation", "Operation")
            try await action.api.perform(.removeFault(action.environment, operation: operation))
            return .done("clock", message: "The fault of \(operation) is removed.")
        },
        ConsoleAction(
            path: "faults/clear", routes: [.control(.clearFaults(.sandbox))], page: "clock", change: "remove all faults"
        ) { action in
            try await action.api.perform(.clearFaults(action.environment))
            return .done("clock", message: "All faults are removed.")
        },
        ConsoleAction(
            path: "recipes", routes: [.control(.orderFault(.sandbox)), .control(.addPaymentRule(.sandbox))],
            page: "clock", change: "order faults", perform: recipe),
        ConsoleAction(
            path: "rules/add", routes: [.control(.addPaymentRule(.sandbox))], page: "clock",
            change: "add a payment rule", perform: addRule),
        ConsoleAction(
            path: "rules/remove", routes: [.control(.removePaymentRule(.sandbox, name: ""))], page: "clock",
            change: "remove a payment rule"
        ) { action in
            let name = try action.required("name", "Name")
            try await action.api.perform(.removePaymentRule(action.environment, name: name))
            return .done("clock", message: "The rule “\(name)” is removed.")
        },
    ]

    /// A form that changes the clock. The sentence afterwards says what the step did.
    private static func clock(
        _ name: String, _ change: @escaping @Sendable (ActionRequest) throws -> ControlAPI.ClockChange
    ) -> ConsoleAction {
        ConsoleAction(
            path: "clock/\(name)", routes: [.control(.changeClock(.sandbox))], page: "clock", change: "move the clock"
        ) { action in
            let before = action.page.clock
            let after: ControlAPI.Clock = try await action.api.send(
                .changeClock(action.environment), try change(action))
            let moved = after.milliseconds - before.milliseconds
            let span =
                moved.magnitude < 5_000
                ? "" : " It moved \(moved < 0 ? "back" : "on") by \(Moments.span(moved.magnitude / 1000))."
            return .done(
                "clock",
                message:
                    "The store's clock says \(Moments.text(after.now))\(after.frozen ? " and stands still" : "").\(span)"
            )
        }
    }

    @Sendable private static func make(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Clock & faults")
        page.sections = [clock(request), try await faults(request)]
        if let choices: [ControlAPI.FaultChoice] = try? await request.api.ask(.faultChoices) {
            page.sections.append(orders(request, choices))
        }
        page.sections.append(recipes(request))
        page.sections.append(try await rules(request))
        if let hits: [ControlAPI.FaultHit] = try? await request.api.ask(.faultHits(request.environment)) {
            page.sections.append(met(request, hits))
        }
        let store = request.environment
        page.commands = [
            ConsoleCode("One month on", "cornerstore clock advance 30d\(request.flag)"),
            ConsoleCode("Control port", request.curl(.changeClock(store), #"{"advance":2592000000}"#)),
            ConsoleCode("Order a fault", "cornerstore fault order purchases 503\(request.flag)"),
            ConsoleCode(
                "Control port", request.curl(.orderFault(store), #"{"operation":"purchases","status":503,"count":1}"#)),
            ConsoleCode("Decline a payment", "cornerstore payment-rule add once --count 1\(request.flag)"),
        ]
        return page
    }

    // MARK: The clock

    /// The steps, in milliseconds.
    private static let steps: [(String, Int64)] = [
        ("1 hour", 3_600_000), ("1 day", 86_400_000), ("1 week", 7 * 86_400_000), ("1 month", 30 * 86_400_000),
    ]

    private static func clock(_ request: PageRequest) -> ConsoleSection {
        let clock = request.clock
        var section = ConsoleSection(
            "clock", "The clock of \(request.environment.rawValue.lowercased())",
            text:
                "Expirations, renewals and dates in receipts follow this clock. A step forward carries out all events that fall due; a step back undoes nothing.",
            isLive: true)
        section.facts = [
            ConsoleFact("Store time, UTC", Moments.text(clock.now), tone: clock.frozen ? .warn : nil),
            ConsoleFact(
                "State", clock.frozen ? "frozen" : "running",
                note: clock.offset.magnitude < 1_000
                    ? "with this machine's clock"
                    : "\(Moments.span(clock.offset.magnitude / 1000)) \(clock.offset < 0 ? "behind" : "ahead of") this machine"
            ),
        ]
        func button(_ label: String, _ about: String, _ path: String, _ hidden: [ConsoleHidden] = []) -> ConsoleButton {
            ConsoleButton(label, about: about, action: request.action("clock/\(path)"), hidden: hidden)
        }
        var table = ConsoleTable("Steps", [ConsoleColumn("Step"), ConsoleColumn("Do")], nothing: "")
        table.add([
            ConsoleCell("Forward"),
            ConsoleCell(
                buttons: steps.map {
                    button("+\($0)", "Move the clock forward by \($0)", "advance", [ConsoleHidden("step", "\($1)")])
                }),
        ])
        table.add([
            ConsoleCell("Back"),
            ConsoleCell(
                buttons: steps.prefix(2).map {
                    button("−\($0)", "Move the clock back by \($0)", "advance", [ConsoleHidden("step", "-\($1)")])
                }),
        ])
        table.add([
            ConsoleCell("State"),
            ConsoleCell(buttons: [
                clock.frozen
                    ? button("Resume", "Let the clock run", "resume") : button("Freeze", "Stop the clock", "freeze"),
                button("Back to this machine's time", "Return to this machine's clock", "reset"),
            ]),
        ])
        section.table = table
        section.forms = [
            ConsoleForm(
                action: request.action("clock/set"),
                fields: [
                    ConsoleField("instant", "Instant, UTC", hint: "2027-01-31 12:00:00", isRequired: true)
                ], button: "Set the clock", isLine: true)
        ]
        return section
    }

    // MARK: Faults

    static func words(_ fault: ControlAPI.Fault) -> String {
        fault.error ?? fault.status.map { "status \($0)" } ?? fault.cutAfter.map { "cut after \($0) bytes" }
            ?? fault.lie.map { "a false \($0)" } ?? ""
    }

    private static func faults(_ request: PageRequest) async throws -> ConsoleSection {
        let faults: [ControlAPI.Fault] = try await request.api.ask(.faults(request.environment))
        var section = ConsoleSection("faults", "Ordered faults", isLive: true)
        var table = ConsoleTable(
            "Requests that will fail",
            [
                ConsoleColumn("Operation"), ConsoleColumn("Fails with"), ConsoleColumn("Left", isNumber: true),
                ConsoleColumn("Met", isNumber: true), ConsoleColumn("Do"),
            ],
            nothing: "No faults. Let the next purchase fail:",
            command: "cornerstore fault order purchases 503\(request.flag)")
        for fault in faults {
            table.add([
                ConsoleCell(fault.operation), ConsoleCell(words(fault), tone: .warn), ConsoleCell("\(fault.count)"),
                ConsoleCell("\(fault.hits ?? 0)"),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Remove", about: "Remove the fault of \(fault.operation)",
                        action: request.action("faults/remove"), hidden: [ConsoleHidden("operation", fault.operation)])
                ]),
            ])
        }
        section.table = table
        if faults.count > 1 {
            section.forms = [ConsoleForm(action: request.action("faults/clear"), button: "Remove all faults")]
        }
        return section
    }

    /// A form for each operation, with only what the operation can take.
    private static func orders(_ request: PageRequest, _ choices: [ControlAPI.FaultChoice]) -> ConsoleSection {
        var section = ConsoleSection("order", "Order a fault")
        section.forms = choices.map { choice in
            let statuses = choice.statuses.flatMap { range in
                range.from == range.through || range.through - range.from > 20
                    ? [range.from, range.through].reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
                    : Array(range.from...range.through)
            }
            // Of a wide range, the statuses that servers send.
            let usual = [500, 502, 503, 504, 400, 403, 404, 416, 429].filter { status in
                choice.statuses.contains { $0.from <= status && status <= $0.through }
            }
            let all = (usual + statuses).reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
            let options =
                all.prefix(16).map { ConsoleOption("status:\($0)", "Status \($0)") }
                + choice.errors.map { ConsoleOption("error:\($0)", $0) }
                + choice.lies.map { ConsoleOption("lie:\($0)", "A false \($0)") }
                + (choice.cut
                    ? [ConsoleOption("cut:65536", "Cut after 64 KiB"), ConsoleOption("cut:1000000", "Cut after 1 MB")]
                    : [])
            return ConsoleForm(
                choice.operation, action: request.action("faults/order"),
                fields: [
                    ConsoleField("failure", "Fails with", .choice, options: Array(options)),
                    ConsoleField("count", "Requests", .number, value: "1"),
                ], hidden: [ConsoleHidden("operation", choice.operation)], button: "Order")
        }
        return section
    }

    @Sendable private static func order(_ action: ActionRequest) async throws -> ActionOutcome {
        let operation = try action.required("operation", "Operation")
        let parts = try action.required("failure", "Fails with").split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw FormProblem("failure", "Choose how the requests fail.") }
        var fault = ControlAPI.Fault(
            operation: operation, count: try action.number("count", "Requests", 1...1_000_000, otherwise: 1))
        switch parts[0] {
        case "status": fault.status = Int(parts[1])
        case "error": fault.error = parts[1]
        case "lie": fault.lie = parts[1]
        default: fault.cutAfter = Int64(parts[1])
        }
        try await action.api.perform(.orderFault(action.environment), fault)
        return .done(
            "clock",
            message:
                "The next \(fault.count == 1 ? "request" : "\(fault.count) requests") of \(operation) will fail: \(words(fault))."
        )
    }

    private static func met(_ request: PageRequest, _ hits: [ControlAPI.FaultHit]) -> ConsoleSection {
        var section = ConsoleSection("met", "Requests that met a fault", isLive: true)
        var table = ConsoleTable(
            "The last requests that met a fault",
            [
                ConsoleColumn("When"), ConsoleColumn("Operation"), ConsoleColumn("Failed with"),
                ConsoleColumn("Customer"),
            ],
            nothing: "No request has met a fault. Order a fault, and buy:",
            command: "cornerstore fault order purchases 503\(request.flag)")
        for hit in hits.prefix(20) {
            table.add([
                request.moments.cell(hit.date), ConsoleCell(hit.fault.operation), ConsoleCell(words(hit.fault)),
                ConsoleCell(
                    hit.account.map { LedgerParts.short($0) } ?? "—",
                    link: hit.account.map { request.link("customers/\($0.percentEncoded)") }),
            ])
        }
        section.table = table
        return section
    }

    // MARK: Recipes and payment rules

    private static func recipes(_ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection(
            "recipes", "Recipes", text: "Problems that apps should survive, in one click.")
        func recipe(_ name: String, _ label: String, _ text: String) -> ConsoleForm {
            ConsoleForm(
                label, action: request.action("recipes"), hidden: [ConsoleHidden("recipe", name)], button: "Order",
                text: text)
        }
        section.forms = [
            recipe(
                "network", "Network down",
                "The next 3 requests for products, purchases, receipts and restores fail with 503."),
            recipe(
                "card", "Card declined once", "The next payment of any customer is declined; the one after it succeeds."
            ),
            recipe("cut", "Download cut", "The next 2 downloads of content end after 64 KiB."),
        ]
        return section
    }

    @Sendable private static func recipe(_ action: ActionRequest) async throws -> ActionOutcome {
        let store = action.environment
        switch action.form["recipe"] {
        case "network":
            for operation in ["products", "purchases", "receipts", "restores"] {
                try await action.api.perform(
                    .orderFault(store), ControlAPI.Fault(operation: operation, status: 503, count: 3))
            }
            return .done(
                "clock", message: "The next 3 requests for products, purchases, receipts and restores will fail.")
        case "card":
            try await action.api.perform(
                .addPaymentRule(store), ControlAPI.PaymentRule(name: "declined-once", count: 1))
            return .done("clock", message: "The next payment will be declined.")
        case "cut":
            try await action.api.perform(
                .orderFault(store), ControlAPI.Fault(operation: "download", cutAfter: 65_536, count: 2))
            return .done("clock", message: "The next 2 downloads will end after 64 KiB.")
        default:
            throw FormProblem("", "There is no such recipe. Load the page again.")
        }
    }

    private static func rules(_ request: PageRequest) async throws -> ConsoleSection {
        let rules: [ControlAPI.PaymentRule] = try await request.api.ask(.paymentRules(request.environment))
        var section = ConsoleSection("rules", "Payment rules", isLive: true)
        var table = ConsoleTable(
            "Payments that are declined",
            [ConsoleColumn("Rule"), ConsoleColumn("Declines"), ConsoleColumn("Left"), ConsoleColumn("Do")],
            nothing: "No rules. Let the next payment be declined:",
            command: "cornerstore payment-rule add once --count 1\(request.flag)")
        for rule in request.rows(rules, of: &table, at: "clock", in: "rules", by: "rules") {
            let parts = [
                rule.account.map { "of \($0)" }, rule.productId.map { "for \($0)" },
                rule.minimumAmount.map { "from \(Money(milliunits: $0, currency: "").decimal)" },
            ].compactMap { $0 }
            table.add([
                ConsoleCell(rule.name),
                ConsoleCell(parts.isEmpty ? "every payment" : "payments " + parts.joined(separator: " ")),
                ConsoleCell(rule.count.map(String.init) ?? "always"),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Remove", about: "Remove the rule \(rule.name)", action: request.action("rules/remove"),
                        hidden: [ConsoleHidden("name", rule.name)])
                ]),
            ])
        }
        section.table = table
        section.forms = [
            ConsoleForm(
                "New rule", action: request.action("rules/add"),
                fields: [
                    ConsoleField("name", "Name", isRequired: true),
                    ConsoleField("account", "Customer", hint: "An address; empty for everybody."),
                    ConsoleField("product", "Product id", hint: "Empty for every product."),
                    ConsoleField("minimum", "From the amount", hint: "A decimal such as 100; empty for every amount."),
                    ConsoleField("count", "Payments", hint: "Empty for always."),
                ], button: "Add")
        ]
        return section
    }

    @Sendable private static func addRule(_ action: ActionRequest) async throws -> ActionOutcome {
        let minimum = try action.text("minimum").map { text in
            guard let money = Money(decimal: text, currency: "") else {
                throw FormProblem("minimum", "“From the amount” must be a decimal such as 100 or 9.99.")
            }
            return money.milliunits
        }
        let count = try action.text("count").map { _ in
            try action.number("count", "Payments", 1...1_000_000, otherwise: 1)
        }
        let rule = ControlAPI.PaymentRule(
            name: try action.required("name", "Name"), account: action.text("account"),
            productId: action.text("product"), minimumAmount: minimum, count: count)
        try await action.api.perform(.addPaymentRule(action.environment), rule)
        return .done("clock", message: "The rule “\(rule.name)” declines payments now.")
    }
}
