import ConsolePages
import ControlWire
import Foundation
import MerchantWire
import StoreWire

/// What waits for somebody, the sums of a bounded window, and what happened last.
enum OverviewPage {
    static let route = PageRoute(
        path: "", area: .overview,
        topics: [.transactions, .attempts, .accounts, .clock, .faults, .catalog, .content, .reviews, .sheets],
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
        var page = ConsolePage("Overview")
        let store = request.environment
        let pending: [ControlAPI.PendingPurchase] = try await request.api.ask(.pendingPurchases(store))
        let newest: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
            .transactions(store, LedgerFilter(bundle: request.app), limit: 20))
        if let checklist = try await checklist(request, newest.rows) { page.sections.append(checklist) }
        page.sections.append(try await waiting(request, pending))
        page.sections.append(try await sums(request))
        var last = ConsoleSection("last", "Last purchases", isLive: true)
        last.table = LedgerParts.table(newest.rows, request, caption: "The last \(newest.rows.count) purchases")
        last.links = [ConsoleLink("All transactions", request.link("transactions"))]
        page.sections.append(last)
        page.commands = [
            ConsoleCode("What waits", "cornerstore purchase pending\(request.flag)"),
            ConsoleCode("The last purchases", "cornerstore transaction list --limit 20\(request.flag)"),
            ConsoleCode("The same from the control port", request.curl(.transactions(store, limit: 20))),
        ]
        return page
    }

    // MARK: What waits

    private static func waiting(
        _ request: PageRequest, _ pending: [ControlAPI.PendingPurchase]
    ) async throws -> ConsoleSection {
        var section = ConsoleSection("waiting", "Waiting for somebody", isLive: true)
        let approvals = pending.filter { $0.waitsFor == .approval }
        let faults: [ControlAPI.Fault] = try await request.api.ask(.faults(request.environment))
        let content: [ControlAPI.HostedProduct] = try await request.api.ask(.content())
        let inReview = content.filter { ["WAITING_FOR_REVIEW", "IN_REVIEW"].contains($0.state) }
        section.numbers = [
            number("Approvals", approvals.count, link: "#waiting"),
            number("Interrupted purchases", pending.count - approvals.count, link: "#waiting"),
            number("Content in review", inReview.count, link: request.link("content")),
            number("Ordered faults", faults.count, link: request.link("clock") + "#faults"),
        ]
        // What an older server does not have is left out.
        if let catalog: ControlAPI.CatalogState = try? await request.api.ask(.catalog) {
            section.numbers.append(
                number("Catalog problems", catalog.problems.count, link: request.link("products"), tone: .bad))
        }
        if let sheets: [ControlAPI.WaitingSheet] = try? await request.api.ask(.sheets) {
            section.numbers.append(
                number("Open payment sheets", sheets.count, link: request.link("notifications") + "#sheets"))
        }
        if request.api.hasMerchant, let dead: DeadWebhookList = try? await request.api.ask(MerchantRoute.deadWebhooks) {
            section.numbers.append(
                number("Dead webhooks", dead.events.count, link: request.link("notifications"), tone: .bad))
        }
        guard !pending.isEmpty else { return section }
        section.table = pendingTable(pending, request)
        return section
    }

    static func pendingTable(_ pending: [ControlAPI.PendingPurchase], _ request: PageRequest) -> ConsoleTable {
        var table = ConsoleTable(
            "Purchases that wait",
            [
                ConsoleColumn("Product"), ConsoleColumn("Customer"), ConsoleColumn("Asked"), ConsoleColumn("Waits for"),
                ConsoleColumn("Decide"),
            ], nothing: "No purchase waits.")
        for purchase in pending.prefix(50) {
            let path = "pending/\(purchase.key.uuidString)/"
            let about = "\(purchase.productId) of \(LedgerParts.short(purchase.accountId))"
            let isApproval = purchase.waitsFor == .approval
            let agree =
                isApproval
                ? ConsoleButton("Approve", about: "Approve \(about)", action: request.action(path + "approve"))
                : ConsoleButton("Complete", about: "Complete \(about)", action: request.action(path + "resolve"))
            table.add([
                ConsoleCell(purchase.productId, note: purchase.quantity > 1 ? "× \(purchase.quantity)" : nil),
                ConsoleCell(
                    LedgerParts.short(purchase.accountId),
                    link: request.link("customers/\(purchase.accountId.percentEncoded)")),
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
        _ name: String, _ count: Int, link: String, tone: ConsoleTone = .warn
    ) -> ConsoleNumber {
        ConsoleNumber(name, "\(count)", link: count > 0 ? link : nil, tone: count > 0 ? tone : nil)
    }

    // MARK: Sums

    private static func sums(_ request: PageRequest) async throws -> ConsoleSection {
        let key = "sums \(request.environment.name) \(request.app ?? "")"
        let sums = try await request.memory.value(key) {
            let page: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
                .transactions(request.environment, LedgerFilter(bundle: request.app), limit: LedgerSums.most))
            return LedgerSums(page.rows, isCut: page.next != nil, now: request.clock.milliseconds)
        }
        var section = ConsoleSection("sums", "Sales", isLive: true)
        let note = sums.isCut ? "at least" : nil
        section.numbers = [
            ConsoleNumber(
                "Purchases, 24 hours", "\(sums.day.purchases)", note: sums.day.purchases >= LedgerSums.most ? note : nil
            ),
            ConsoleNumber("Money, 24 hours", LedgerParts.money(sums.day.money)),
            ConsoleNumber("Purchases, 30 days", "\(sums.month.purchases)", note: note),
            ConsoleNumber("Money, 30 days", LedgerParts.money(sums.month.money), note: note),
            ConsoleNumber(
                "Refunds, 30 days", "\(sums.month.refunds)",
                note: sums.month.refunds > 0 ? LedgerParts.money(sums.month.refunded) : nil),
        ]
        if let failed: ControlAPI.Page<ControlAPI.Attempt> = try? await request.api.ask(
            .attempts(request.environment, AttemptFilter(bundle: request.app), limit: 50))
        {
            let recent = failed.rows.filter { (request.moments.age($0.createdDate) ?? .max) < 86_400_000 }.count
            section.numbers.append(
                ConsoleNumber(
                    "Failed attempts, 24 hours", recent == 50 ? "50 or more" : "\(recent)",
                    link: request.link("attempts"), tone: recent > 0 ? .warn : nil))
        }
        section.bars = sums.bars
        section.barsLabel =
            "Purchases of the last 30 days, the oldest first: "
            + sums.days.map(String.init).joined(separator: ", ")
        section.text =
            sums.isCut
            ? "From the newest \(LedgerSums.most) purchases, which do not reach back 30 days. Renewed every 10 seconds."
            : nil
        return section
    }

    // MARK: First start

    /// The steps of a first start; nil when they are done.
    private static func checklist(
        _ request: PageRequest, _ newest: [ControlAPI.Transaction]
    ) async throws -> ConsoleSection? {
        guard request.environment == .sandbox else { return nil }
        let accounts: ControlAPI.Page<ControlAPI.Account> = try await request.api.ask(.accounts(.sandbox, limit: 1))
        let product = request.apps.lazy.flatMap(\.productIds).first ?? "PRODUCT"
        let hasBought = !newest.isEmpty
        guard accounts.rows.isEmpty || !hasBought || !request.memory.hasInspected else { return nil }
        var section = ConsoleSection("first", "First steps", isLive: true)
        section.steps = [
            ConsoleStep(
                "Create a tester", isDone: !accounts.rows.isEmpty, link: request.link("customers") + "#new",
                command: "cornerstore account create anna@example.com"),
            ConsoleStep(
                "Buy something as the tester", isDone: hasBought, link: request.link("buy"),
                command: "cornerstore buy \(product)"),
            ConsoleStep(
                "Inspect the receipt", isDone: request.memory.hasInspected,
                link: newest.first.map { request.link("transactions/\($0.transactionId)") }
                    ?? request.link("inspector"),
                command: "cornerstore receipt verify FILE"),
        ]
        return section
    }
}
