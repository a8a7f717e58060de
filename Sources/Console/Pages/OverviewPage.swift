import ConsolePages
import ControlWire
import Foundation
import MerchantWire
import StoreWire

/// The tasks that wait for somebody, the sums of a bounded window, and the last events.
enum OverviewPage {
    static let route = PageRoute(
        path: "", area: .overview, needsStore: false,
        topics: [
            .transactions, .attempts, .accounts, .clock, .faults, .catalog, .content, .reviews, .sheets,
            .screens, .processes,
        ],
        make: make)

    static let actions: [ConsoleAction] = [
        decision("approve", "Approved. The device gets the purchase.") { .approve($0, key: $1) },
        decision("decline", "Declined. The device learns it.") { .decline($0, key: $1) },
        decision("resolve", "Completed. The device gets the purchase.") { .resolve($0, key: $1) },
    ]

    /// A form of one button that decides on a purchase that waits.
    private static func decision(
        _ name: String, _ message: String, _ route: @escaping @Sendable (StoreEnvironment, UUID) -> ControlRoute
    ) -> ConsoleAction {
        ConsoleAction(
            path: "pending/{key}/\(name)", routes: [.control(route(.sandbox, UUID()))], page: "",
            change: "\(name) a purchase"
        ) { action in
            guard let key = UUID(uuidString: action.page.parameter("key")) else {
                throw FormProblem("", "The address has no purchase's key. Load the page again.")
            }
            try await action.api.perform(route(action.environment, key))
            return .done("", message: message)
        }
    }

    private static func make(_ request: PageRequest) async throws -> ConsolePage {
        guard request.api.hasStore else { return try await merchantAlone(request) }
        var page = ConsolePage("Overview")
        let store = request.environment
        let pending: [ControlAPI.PendingPurchase] = try await request.api.ask(.pendingPurchases(store))
        let newest: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
            .transactions(store, LedgerFilter(bundle: request.app), limit: 20))
        if let checklist = try await checklist(request) { page.sections.append(checklist) }
        page.sections.append(try await waiting(request, pending))
        page.sections.append(try await screens(request))
        let known = try await ledgerSums(request)
        page.sections.append(try await sums(request, known))
        page.sections.append(try await events(request, newest.rows, known))
        page.commands = [
            ConsoleCode("Waiting purchases", "cornerstore purchase pending\(request.flag)"),
            ConsoleCode("The last purchases", "cornerstore transaction list --limit 20\(request.flag)"),
            ConsoleCode("The last failed attempts", "cornerstore attempt list --limit 20\(request.flag)"),
            ConsoleCode("The same from the control port", request.curl(.transactions(store, limit: 20))),
        ]
        return page
    }

    /// The overview of a merchant without a store: the webhooks that wait, and the purchases that were redeemed.
    private static func merchantAlone(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Overview")
        var section = ConsoleSection(
            "waiting", "Waiting for somebody", text: "Webhooks that your backend has not taken yet.")
        let dead: WebhookEventList = try await request.api.ask(MerchantRoute.webhookEvents(state: .dead, limit: 20))
        let waiting: WebhookEventList = try await request.api.ask(
            MerchantRoute.webhookEvents(state: .waiting, limit: 20))
        section.numbers = [
            number(
                "Dead webhooks", dead, link: request.link("notifications", [("state", WebhookState.dead.rawValue)]),
                tone: .bad),
            number(
                "Webhooks on their way", waiting,
                link: request.link("notifications", [("state", WebhookState.waiting.rawValue)]), tone: .warn),
        ]
        if !dead.events.isEmpty {
            section.table = WebhookParts.table(
                dead.events, request, caption: "Dead webhooks, newest first", nothing: "No dead webhooks.")
        }
        page.sections = [section, try await MerchantPages.redemptions(request)]
        page.commands = [
            ConsoleCode("Dead webhooks", "cornerstore merchant webhooks dead"),
            ConsoleCode("Redeemed purchases", "cornerstore merchant redemptions"),
            ConsoleCode("Admin API", request.merchantCurl(.deadWebhooks)),
        ]
        return page
    }

    private static func number(
        _ name: String, _ list: WebhookEventList, link: String, tone: ConsoleTone
    ) -> ConsoleNumber {
        number(name, list.events.count, hasMore: list.next != nil, link: link, tone: tone)
    }

    // MARK: Waiting tasks

    private static func waiting(
        _ request: PageRequest, _ pending: [ControlAPI.PendingPurchase]
    ) async throws -> ConsoleSection {
        var section = ConsoleSection(
            "waiting", "Waiting for somebody",
            text: "Purchases, reviews, sheets and problems that go on only after a person acts.", isLive: true)
        let approvals = pending.filter { $0.waitsFor == .approval }
        let faults: [ControlAPI.Fault] = try await request.api.ask(.faults(request.environment))
        let content: [ControlAPI.HostedProduct] = try await request.api.ask(.content())
        let managed: [ControlAPI.ManagedApp] = try await request.api.ask(.managed(.apps))
        let inReviewOfManaged = managed.map(\.inReview).reduce(0, +)
        let inReview = content.filter { ["WAITING_FOR_REVIEW", "IN_REVIEW"].contains($0.state) }
        section.numbers = [
            number("Purchases to approve", approvals.count, link: "#waiting"),
            number("Interrupted purchases", pending.count - approvals.count, link: "#waiting"),
            number("Content in review", inReview.count, link: request.link("content")),
            number("Products in review", inReviewOfManaged, link: request.link("managed")),
            number("Ordered faults", faults.count, link: request.link("clock") + "#faults"),
        ]
        let refunds: ControlAPI.Page<ControlAPI.RefundRequest> = try await request.api.ask(
            ControlRoute.refundRequests(.list(request.environment, state: "waiting", limit: 50)))
        section.numbers.append(
            number(
                "Refund requests", refunds.rows.count, hasMore: refunds.next != nil,
                link: request.link("refund-requests", [("state", "waiting")])))
        let catalog: ControlAPI.CatalogState = try await request.api.ask(.catalog)
        section.numbers.append(
            number("Catalog problems", catalog.problems.count, link: request.link("products"), tone: .bad))
        let processes = try await request.processes()
        let sheets: [ControlAPI.WaitingSheet] = try await request.api.ask(.sheets)
        var open = number("Open payment sheets", sheets.count, link: request.link("notifications") + "#sheets")
        open.note = processes == nil ? nil : "of this process"
        section.numbers.append(open)
        if request.api.hasMerchant {
            // The store's tasks are shown also when the merchant does not answer.
            do {
                let dead: DeadWebhookList = try await request.api.ask(MerchantRoute.deadWebhooks)
                section.numbers.append(
                    number(
                        "Dead webhooks", dead.events.count, hasMore: dead.events.count >= MerchantLimits.page,
                        link: request.link("notifications"), tone: .bad))
            } catch let problem as APIProblem {
                section.warning = "The dead webhooks of the merchant are unknown. \(problem.message)"
            }
        }
        if let processes { section.numbers.append(ProcessParts.number(request, processes)) }
        guard !pending.isEmpty else { return section }
        section.table = pendingTable(pending, request)
        return section
    }

    /// The apps that run on pages in a browser, for buying by hand.
    private static func screens(_ request: PageRequest) async throws -> ConsoleSection {
        let all: [ControlAPI.Screen] = try await request.api.ask(.screens)
        let shown = all.filter { screen in
            screen.environment == request.environment.name && (request.app.map { $0 == screen.bundleId } ?? true)
        }
        var section = ConsoleSection("screens", "Apps on a page", isLive: true)
        var table = ConsoleTable(
            "The screens of devices that run now", [ConsoleColumn("App"), ConsoleColumn("Device")],
            nothing: "No app runs on a page. Start one:",
            command: "cornerstore device web --app \(request.app ?? request.apps.first?.bundleId ?? "com.example.app")")
        for screen in shown {
            table.add([
                ConsoleCell(screen.name, link: screen.address), ConsoleCell(screen.device, note: screen.bundleId),
            ])
        }
        section.table = table
        return section
    }

    static func pendingTable(_ pending: [ControlAPI.PendingPurchase], _ request: PageRequest) -> ConsoleTable {
        var table = ConsoleTable(
            "Purchases that wait",
            [
                ConsoleColumn("Product"), ConsoleColumn("Customer"), ConsoleColumn("Asked"), ConsoleColumn("Waits for"),
                ConsoleColumn("Decide"),
            ], nothing: "No waiting purchases.")
        for purchase in pending.prefix(50) {
            let path = "pending/\(purchase.key.uuidString)/"
            let about = "\(purchase.productId) of \(purchase.email ?? LedgerParts.short(purchase.accountId))"
            let isApproval = purchase.waitsFor == .approval
            let agree =
                isApproval
                ? ConsoleButton("Approve", about: "Approve \(about)", action: request.action(path + "approve"))
                : ConsoleButton("Complete", about: "Complete \(about)", action: request.action(path + "resolve"))
            table.add([
                ConsoleCell(purchase.productId, note: purchase.quantity > 1 ? "× \(purchase.quantity)" : nil),
                LedgerParts.customer(purchase.accountId, purchase.email, request),
                request.moments.cell(purchase.createdDate),
                ConsoleCell(isApproval ? "Approval" : "The customer", tone: .warn),
                ConsoleCell(buttons: [
                    agree,
                    ConsoleButton(
                        "Decline", about: "Decline \(about)", action: request.action(path + "decline"), tone: .bad),
                ]),
            ])
        }
        return table
    }

    private static func number(
        _ name: String, _ count: Int, hasMore: Bool = false, link: String, tone: ConsoleTone = .warn
    ) -> ConsoleNumber {
        let isNone = count == 0 && !hasMore
        return ConsoleNumber(
            name, hasMore ? "\(count) or more" : "\(count)", link: isNone ? nil : link, tone: isNone ? nil : tone)
    }

    // MARK: Sums

    private static func ledgerSums(_ request: PageRequest) async throws -> LedgerSums {
        try await request.memory.value("sums \(request.environment.name) \(request.app ?? "")") {
            let page: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
                .transactions(request.environment, LedgerFilter(bundle: request.app), limit: LedgerSums.most))
            let refunded: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
                .transactions(
                    request.environment, LedgerFilter(bundle: request.app, state: .refunded), limit: LedgerSums.most))
            return LedgerSums(page, refunded: refunded, now: request.clock.milliseconds)
        }
    }

    private static func sums(_ request: PageRequest, _ sums: LedgerSums) async throws -> ConsoleSection {
        var section = ConsoleSection("sums", "Sales", isLive: true)
        let note = sums.isCut ? "at least" : nil
        let dayNote = sums.reach < 86_400_000 ? note : nil
        func refunds(_ name: String, _ span: LedgerSums.Span) -> ConsoleNumber {
            let notes = [
                sums.hasMoreRefunds ? "at least" : nil, span.refunds > 0 ? LedgerParts.money(span.refunded) : nil,
            ].compactMap { $0 }
            return ConsoleNumber(name, "\(span.refunds)", note: notes.isEmpty ? nil : notes.joined(separator: " · "))
        }
        section.numbers = [
            ConsoleNumber("Purchases, 24 hours", "\(sums.day.purchases)", note: dayNote),
            ConsoleNumber("Money, 24 hours", LedgerParts.money(sums.day.money), note: dayNote),
            refunds("Refunds, 24 hours", sums.day),
            ConsoleNumber("Purchases, 30 days", "\(sums.month.purchases)", note: note),
            ConsoleNumber("Money, 30 days", LedgerParts.money(sums.month.money), note: note),
            refunds("Refunds, 30 days", sums.month),
        ]
        let failed = try await failed(request)
        for (name, span) in [("24 hours", Int64(86_400_000)), ("30 days", 30 * 86_400_000)] {
            let count = failed.ages.count { $0 < span }
            section.numbers.append(
                ConsoleNumber(
                    "Failed attempts, \(name)", "\(count)", link: request.link("attempts"),
                    note: failed.reach < span ? "at least" : nil, tone: count > 0 ? .warn : nil))
        }
        section.bars = sums.bars
        section.barsLabel =
            "Purchases of the last 30 days, the oldest first: "
            + sums.days.map(String.init).joined(separator: ", ")
        section.axis = ["29 days ago", "purchases a day, at most \(sums.days.max() ?? 0)", "the last 24 hours"]
        section.text =
            sums.isCut
            ? "From the newest \(LedgerSums.most) purchases, which do not reach back 30 days. Renewed every 10 seconds."
            : nil
        return section
    }

    /// The newest failed attempts, in milliseconds before the store's clock.
    private struct FailedAttempts: Sendable {
        /// How long ago each of them was.
        var ages: [Int64]
        /// How far back the list of attempts reached.
        var reach: Int64
    }

    /// The newest failed attempts. One that waits for approval, or was bought after it, did not fail.
    private static func failed(_ request: PageRequest) async throws -> FailedAttempts {
        try await request.memory.value("failed \(request.environment.name) \(request.app ?? "")") {
            let found: ControlAPI.Page<ControlAPI.Attempt> = try await request.api.ask(
                .attempts(request.environment, AttemptFilter(bundle: request.app), limit: LedgerSums.most))
            let failed = found.rows.filter { [.declined, .interrupted].contains($0.state) }
            let oldest = found.rows.last.flatMap { request.moments.age($0.createdDate) } ?? 0
            return FailedAttempts(
                ages: failed.compactMap { request.moments.age($0.createdDate) },
                reach: found.next == nil ? .max : oldest)
        }
    }

    // MARK: The last events

    /// The last purchases, refunds and failed attempts in one list. All dates are those of the store's clock.
    private static func events(
        _ request: PageRequest, _ newest: [ControlAPI.Transaction], _ sums: LedgerSums
    ) async throws -> ConsoleSection {
        var events: [(time: String, cells: [ConsoleCell])] = []
        func add(_ time: String, _ what: ConsoleCell, _ product: ConsoleCell, _ customer: ConsoleCell, _ amount: String)
        {
            events.append((time, [request.moments.cell(time), what, product, customer, ConsoleCell(amount)]))
        }
        func customer(_ row: ControlAPI.Transaction) -> ConsoleCell {
            LedgerParts.customer(row.accountId, row.email, request)
        }
        func product(_ row: ControlAPI.Transaction) -> ConsoleCell {
            ConsoleCell(
                row.name ?? row.productId, link: request.link("transactions/\(row.transactionId.percentEncoded)"),
                note: row.quantity > 1 ? "× \(row.quantity)" : nil)
        }
        for row in newest {
            add(
                row.purchaseDate, ConsoleCell("Bought", tone: .good), product(row), customer(row),
                "\(row.price) \(row.currency)")
        }
        // The sums are up to ten seconds old, and the newest rows are not.
        let refunded = newest.filter { $0.revocationDate != nil }
        let older = sums.lastRefunds.filter { row in !refunded.contains { $0.transactionId == row.transactionId } }
        for row in refunded + older {
            add(
                row.revocationDate ?? row.purchaseDate, ConsoleCell("Refunded", tone: .bad), product(row),
                customer(row), "\(row.refunded ?? row.price) \(row.currency)")
        }
        let failed: ControlAPI.Page<ControlAPI.Attempt> = try await request.api.ask(
            .attempts(request.environment, AttemptFilter(bundle: request.app), limit: 20))
        for row in failed.rows where row.state != .bought {
            add(
                row.createdDate, LedgerParts.state(row), ConsoleCell(row.productId),
                LedgerParts.customer(row.accountId, row.email, request), "\(row.amount) \(row.currency)")
        }
        events.sort { $0.time > $1.time }
        var section = ConsoleSection("last", "Last events", isLive: true)
        var table = ConsoleTable(
            "The last 20 purchases, refunds and failed attempts",
            [
                ConsoleColumn("When"), ConsoleColumn("Event"), ConsoleColumn("Product"), ConsoleColumn("Customer"),
                ConsoleColumn("Amount", isNumber: true),
            ],
            nothing: "No purchases, refunds or failed attempts yet. Make the first purchase:",
            command: request.buyCommand())
        for event in events.prefix(20) { table.add(event.cells) }
        section.table = table
        section.links = [
            ConsoleLink("All transactions", request.link("transactions")),
            ConsoleLink("Attempts", request.link("attempts")),
        ]
        return section
    }

    // MARK: First start

    /// The steps of a first start; nil when they are done. They stay done over a restart, under an app's filter, and
    /// when a tester's history is cleared: the last step, an inspected receipt, counts only after the others.
    private static func checklist(_ request: PageRequest) async throws -> ConsoleSection? {
        guard request.environment == .sandbox, !request.memory.hasInspected(request.api.backends.inspectedFile) else {
            return nil
        }
        let accounts: ControlAPI.Page<ControlAPI.Account> = try await request.api.ask(.accounts(.sandbox, limit: 1))
        let bought: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
            .transactions(.sandbox, limit: 1))
        var section = ConsoleSection("first", "First steps", isLive: true)
        section.steps = [
            ConsoleStep(
                "Create a tester", isDone: !accounts.rows.isEmpty, link: request.link("customers") + "#new",
                command: "cornerstore account create anna@example.com"),
            ConsoleStep(
                "Buy something as the tester", isDone: !bought.rows.isEmpty, link: request.link("buy"),
                command: request.buyCommand()),
            ConsoleStep(
                "Inspect the receipt", isDone: false,
                link: bought.rows.first.map { request.link("transactions/\($0.transactionId)") }
                    ?? request.link("inspector"),
                command: "cornerstore receipt verify FILE"),
        ]
        // A merchant that does not say leaves the step out. It is no condition: a store needs no backend.
        if request.api.hasMerchant,
            let merchant: SettingsReport = try? await request.api.ask(MerchantRoute.settings)
        {
            section.steps.append(
                ConsoleStep(
                    "If you have a backend: let the merchant send it webhooks", isDone: merchant.webhook != nil,
                    link: request.link("notifications"),
                    command: "cornerstore serve --webhook http://127.0.0.1:9000"))
        }
        return section
    }
}
