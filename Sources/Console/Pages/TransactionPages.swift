import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The ledger: the list, the attempts, one transaction with everything about it, and the refund.
enum TransactionPages {
    static let routes = [
        PageRoute(path: "transactions", area: .transactions, topics: [.transactions], make: list),
        PageRoute(path: "attempts", area: .transactions, topics: [.attempts], make: attempts),
        PageRoute(path: "transactions/{id}", area: .transactions, topics: [.transactions], make: one),
        PageRoute(path: "transactions/{id}/refund", area: .transactions, make: refundQuestion),
    ]

    static let actions: [ConsoleAction] = [
        // The page of the form asks already, so a change of production is not asked about twice.
        ConsoleAction(
            path: "transactions/{id}/refund", routes: [.control(.refund(.sandbox, id: ""))],
            page: "transactions/{id}/refund", perform: refund),
        ConsoleAction(
            path: "transactions/{id}/refund-reversal", routes: [.control(.reverseRefund(.sandbox, id: ""))],
            page: "transactions/{id}/refund", perform: reverseRefund),
        ConsoleAction(
            path: "transactions/{id}/refund-refusal", routes: [.control(.declineRefund(.sandbox, id: ""))],
            page: "transactions/{id}/refund", perform: declineRefund),
    ]

    // MARK: Lists

    /// The filters of an address.
    static func filter(_ request: PageRequest) -> LedgerFilter {
        LedgerFilter(
            bundle: request.app, product: request.filter("product"), kind: request.filter("kind"),
            state: request.filter("state").flatMap(LedgerFilter.State.init(rawValue:)),
            from: request.filter("from").map { day($0) }, until: request.filter("until").map { day($0) },
            account: request.filter("account"))
    }

    /// A day as an instant: `2026-01-31` is its beginning.
    private static func day(_ text: String) -> String { text.count == 10 ? text + "T00:00:00Z" : text }

    private static func pairs(_ request: PageRequest) -> [(String, String?)] {
        ["product", "kind", "state", "from", "until", "account"].map { ($0, request.filter($0)) }
    }

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        let filter = filter(request)
        let (found, problem) = try await filtered(
            request.api, .transactions(request.environment, filter, before: request.filter("before"), limit: 50),
            as: ControlAPI.Transaction.self)
        var page = ConsolePage("Transactions")
        page.problem = problem
        var section = ConsoleSection("list", "Ledger", isLive: request.query["before"] == nil)
        section.filter = filterForm(request)
        section.filter?.problem = problem
        var table = LedgerParts.table(found.rows, request, caption: "Transactions, newest first", customers: true)
        let isFiltered = pairs(request).contains { $0.1 != nil } || request.app != nil
        if isFiltered {
            table.nothing =
                found.next == nil
                ? "No transaction matches." : "None of the newest 20,000 transactions matches."
            table.command = nil
        }
        if problem != nil { table.nothing = "Change the filter." }
        table.next = found.next.map { request.link("transactions", pairs(request) + [("before", $0)]) }
        if found.rows.count < 50, found.next != nil { table.nextLabel = "Look further" }
        if request.query["before"] != nil { table.first = request.link("transactions", pairs(request)) }
        section.table = table
        section.links = [
            ConsoleLink("Failed attempts", request.link("attempts")),
            ConsoleLink("Refund requests", request.link("refund-requests")),
            ConsoleLink("CSV", request.link("transactions.csv", pairs(request))),
            ConsoleLink("JSON", request.link("transactions.json", pairs(request))),
        ]
        page.sections = [section]
        page.commands = [
            ConsoleCode("Command", command(request)),
            ConsoleCode("Control port", request.curl(.transactions(request.environment, filter, limit: 50))),
        ]
        return page
    }

    /// The rows that a filter finds, or why the filter cannot be right: an unknown customer, a day that does not exist.
    /// The page keeps its form then.
    private static func filtered<Row: Codable & Sendable & Equatable>(
        _ api: ConsoleAPI, _ route: ControlRoute, as row: Row.Type
    ) async throws -> (ControlAPI.Page<Row>, String?) {
        do {
            return (try await api.ask(route), nil)
        } catch let problem as APIProblem where [400, 404].contains(problem.status) {
            return (ControlAPI.Page(rows: [], next: nil), problem.message)
        }
    }

    private static func command(_ request: PageRequest) -> String {
        let filter = filter(request)
        let options = [
            ("app", filter.bundle), ("product", filter.product), ("kind", filter.kind),
            ("state", filter.state?.rawValue), ("from", filter.from), ("until", filter.until),
            ("account", filter.account),
        ]
        let words = options.compactMap { name, value in value.map { " --\(name) \($0.shellWord)" } }
        return "cornerstore transaction list" + words.joined() + request.flag
    }

    private static func filterForm(_ request: PageRequest) -> ConsoleForm {
        func option(_ field: String, _ value: String, _ label: String) -> ConsoleOption {
            ConsoleOption(value, label, isChosen: (request.filter(field) ?? "") == value)
        }
        let kinds = ProductKind.allCases.map(\.rawValue) + ["item"]
        return ConsoleForm(
            action: request.action("transactions"), method: "get",
            fields: [
                ConsoleField("account", "Customer", .search, value: request.filter("account") ?? ""),
                ConsoleField("product", "Product", .search, value: request.filter("product") ?? ""),
                ConsoleField(
                    "kind", "Kind", .choice,
                    options: [option("kind", "", "All")] + kinds.map { option("kind", $0, LedgerParts.kind($0)) }),
                ConsoleField(
                    "state", "State", .choice,
                    options: [option("state", "", "All")]
                        + LedgerFilter.State.allCases.map {
                            option("state", $0.rawValue, $0.rawValue.prefix(1).uppercased() + $0.rawValue.dropFirst())
                        }),
                ConsoleField("from", "From (UTC)", value: request.filter("from") ?? "", hint: "Like 2026-01-31"),
                ConsoleField("until", "Until (UTC)", value: request.filter("until") ?? "", hint: "Like 2026-02-01"),
            ], hidden: request.app.map { [ConsoleHidden("app", $0)] } ?? [], button: "Filter", isLine: true)
    }

    @Sendable private static func attempts(_ request: PageRequest) async throws -> ConsolePage {
        let state = request.filter("state").flatMap(ControlAPI.Attempt.State.init(rawValue:))
        let filter = AttemptFilter(bundle: request.app, state: state, account: request.filter("account"))
        let (found, problem) = try await filtered(
            request.api, .attempts(request.environment, filter, before: request.filter("before"), limit: 50),
            as: ControlAPI.Attempt.self)
        var page = ConsolePage("Failed attempts")
        page.problem = problem
        page.trail = [ConsoleLink("Transactions", request.link("transactions"))]
        var section = ConsoleSection("list", "Attempts", isLive: request.query["before"] == nil)
        section.filter = ConsoleForm(
            action: request.action("attempts"), method: "get",
            fields: [
                ConsoleField("account", "Customer", .search, value: request.filter("account") ?? ""),
                ConsoleField(
                    "state", "Result", .choice,
                    options: [ConsoleOption("", "Not bought at once")]
                        + ControlAPI.Attempt.State.allCases.map {
                            ConsoleOption($0.rawValue, $0.rawValue, isChosen: $0 == state)
                        }),
            ], hidden: request.app.map { [ConsoleHidden("app", $0)] } ?? [], button: "Filter", isLine: true)
        section.filter?.problem = problem
        var table = LedgerParts.table(found.rows, request)
        if state != nil || request.filter("account") != nil || request.app != nil || found.next != nil {
            table.nothing =
                found.next == nil ? "No attempt matches." : "None of the newest 20,000 attempts matches."
            table.command = nil
        }
        if problem != nil { (table.nothing, table.command) = ("Change the filter.", nil) }
        let pairs = [("state", state?.rawValue), ("account", request.filter("account"))]
        table.next = found.next.map { request.link("attempts", pairs + [("before", $0)]) }
        if found.rows.count < 50 { table.nextLabel = "Look further" }
        if request.query["before"] != nil { table.first = request.link("attempts", pairs) }
        section.table = table
        page.sections = [section]
        page.commands = [
            ConsoleCode("Control port", request.curl(.attempts(request.environment, filter, limit: 50)))
        ]
        return page
    }

    // MARK: One transaction

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let detail: ControlAPI.TransactionDetail = try await request.api.ask(
            .transaction(request.environment, id: request.parameter("id")))
        let row = detail.transaction
        var page = ConsolePage("Transaction \(row.transactionId)")
        page.trail = [ConsoleLink("Transactions", request.link("transactions"))]
        page.sections = [fields(request, detail)]
        if let purchase = detail.purchase { page.sections.append(payment(request, purchase)) }
        var chain = ConsoleSection("chain", "Chain", isLive: true)
        chain.table = LedgerParts.table(
            detail.chain.reversed().prefix(50), request,
            caption: "The transactions with the same original transaction, newest first")
        if detail.chain.count > 50 {
            // The control port tells the oldest 1,000.
            chain.text =
                detail.chain.count < 1_000
                ? "The newest 50 of \(detail.chain.count)." : "50 of the oldest 1,000. There may be later ones."
            chain.links = [
                ConsoleLink(
                    "All transactions of the customer", request.link("transactions", [("account", row.accountId)]))
            ]
        }
        page.sections.append(chain)
        page.sections.append(deliveries(request, detail))
        // The merchant's view of the same purchase. Items of the storefront are not redeemed.
        let original = row.originalTransactionId == row.transactionId ? nil : row.originalTransactionId
        let hasMerchant = request.api.hasMerchant && row.item == nil
        if hasMerchant {
            page.sections += await MerchantParts.transaction(
                request, id: row.transactionId, original: original, bundle: row.bundleId)
        }
        page.commands =
            Array(refundCommands(row, request).prefix(1)) + [
                ConsoleCode(
                    "Control port", request.curl(.transaction(request.environment, id: row.transactionId))),
                ConsoleCode(
                    "Its receipt", request.curl(.transactionReceipt(request.environment, id: row.transactionId))),
            ]
        if hasMerchant {
            page.commands.append(
                ConsoleCode(
                    "At the merchant", MerchantPages.command(row.transactionId, original, app: row.bundleId)))
        }
        return page
    }

    private static func fields(_ request: PageRequest, _ detail: ControlAPI.TransactionDetail) -> ConsoleSection {
        let row = detail.transaction
        var section = ConsoleSection("fields", row.name ?? row.productId, isLive: true)
        let (state, tone) = LedgerParts.stateWord(row)
        let customer = detail.email ?? row.accountId
        section.facts = [
            ConsoleFact("State", state, tone: tone),
            ConsoleFact("Customer", customer, link: request.link("customers/\(customer.percentEncoded)")),
            ConsoleFact("Amount", "\(row.price) \(row.currency)", note: "The price paid, for the whole quantity."),
            ConsoleFact(
                "Product", row.productId,
                link: row.item == nil
                    ? request.link("products/\(row.bundleId.percentEncoded)/\(row.productId.percentEncoded)") : nil),
            ConsoleFact("Kind", LedgerParts.kind(row.kind)), ConsoleFact("Quantity", "\(row.quantity)"),
            ConsoleFact("App", row.bundleId.isEmpty ? "The storefront" : row.bundleId),
            ConsoleFact("Storefront", detail.storefront),
            request.moments.fact("Purchased", row.purchaseDate, note: "purchase_date"),
            request.moments.fact("First purchased", detail.originalPurchaseDate, note: "original_purchase_date"),
            request.moments.fact("Finished", row.finishedDate, note: "when the app finished it", absent: "not yet"),
            ConsoleFact("Transaction", row.transactionId, note: "transaction_id", isID: true),
            ConsoleFact("Original transaction", row.originalTransactionId, note: "original_transaction_id", isID: true),
            ConsoleFact("Item id", "\(detail.itemId)", note: "the product's number"),
        ]
        func add(_ name: String, _ value: String?, _ note: String? = nil, isID: Bool = false) {
            if let value { section.facts.append(ConsoleFact(name, value, note: note, isID: isID)) }
        }
        if let date = row.expiresDate {
            section.facts.append(request.moments.fact("Expires", date, note: "expires_date"))
        }
        if let date = row.revocationDate {
            section.facts.append(request.moments.fact("Refunded", date, note: "cancellation_date"))
        }
        add("Order", row.orderId, "the number that the customer sees", isID: true)
        add("Refund's reason", row.revocationReason)
        add("Given back", row.refunded.map { "\($0) \(row.currency)" })
        if row.isUpgraded == true { add("Replaced", "by a change of plan", "is_upgraded") }
        add("Web order line item", detail.webOrderLineItemId.map(String.init), "web_order_line_item_id")
        add("Subscription group", detail.subscriptionGroupId)
        add("Offer", detail.offer)
        add("Promotional offer", detail.promotionalOfferId, "promotional_offer_id")
        add("Offer of the code", detail.offerCodeName, "offer_code_ref_name")
        add("Win-back offer", detail.winBackOfferId)
        add("applicationUsername", detail.applicationUsername, "the app's own identifier of its user", isID: true)
        add("Version of the item", detail.itemVersion)
        if row.revocationDate == nil || row.item == nil {
            section.links.append(
                ConsoleLink(
                    row.revocationDate == nil ? "Refund…" : "Take the refund back…",
                    request.link("transactions/\(row.transactionId.percentEncoded)/refund")))
        }
        if row.revocationDate == nil, row.item == nil, row.sharedFrom == nil {
            section.links.append(
                ConsoleLink(
                    "Request a refund as the customer…",
                    request.link("transactions/\(row.transactionId.percentEncoded)/refund-request")))
        }
        if row.item == nil {
            section.links += [
                ConsoleLink("Inspect the app receipt", request.link("inspector", [("transaction", row.transactionId)])),
                ConsoleLink(
                    "Inspect the transaction receipt",
                    request.link("inspector", [("transaction", row.transactionId), ("kind", "transaction")])),
            ]
        }
        return section
    }

    private static func payment(_ request: PageRequest, _ attempt: ControlAPI.Attempt) -> ConsoleSection {
        var section = ConsoleSection("payment", "Payment", isLive: true)
        section.facts = [
            ConsoleFact("Result", attempt.state.rawValue),
            ConsoleFact("Amount", "\(attempt.amount) \(attempt.currency)"),
            ConsoleFact("Payment reference", attempt.paymentReference ?? "—", isID: attempt.paymentReference != nil),
            ConsoleFact("Idempotency key", attempt.key.uuidString.lowercased(), isID: true),
            request.moments.fact("Asked", attempt.createdDate),
        ]
        return section
    }

    private static func deliveries(_ request: PageRequest, _ detail: ControlAPI.TransactionDetail) -> ConsoleSection {
        var section = ConsoleSection("deliveries", "Deliveries", isLive: true)
        var table = ConsoleTable(
            "Devices that restored it",
            [
                ConsoleColumn("Transaction"), ConsoleColumn("Device"), ConsoleColumn("Restored"),
                ConsoleColumn("Finished"),
            ],
            nothing: "No device has restored this purchase." + (detail.transaction.item == nil ? " Restore it:" : ""),
            command: detail.transaction.item == nil
                ? "cornerstore restore --device second-device"
                    + (detail.email.map { " --account \($0.shellWord)" } ?? "") + request.flag : nil)
        for delivery in detail.deliveries.prefix(50) {
            table.add([
                ConsoleCell(delivery.transactionId, isID: true), ConsoleCell(delivery.deviceId, isID: true),
                request.moments.cell(delivery.restoredDate), request.moments.cell(delivery.finishedDate),
            ])
        }
        section.table = table
        return section
    }

    // MARK: Refund

    @Sendable private static func refundQuestion(_ request: PageRequest) async throws -> ConsolePage {
        let detail: ControlAPI.TransactionDetail = try await request.api.ask(
            .transaction(request.environment, id: request.parameter("id")))
        let row = detail.transaction
        let path = "transactions/\(row.transactionId.percentEncoded)"
        let isSubscription = row.kind == ProductKind.autoRenewableSubscription.rawValue
        let amount = "\(refundable(row)) \(row.currency)"
        var page = ConsolePage(
            row.revocationDate != nil
                ? "Reverse the refund?" : isSubscription ? "Refund up to \(amount)?" : "Refund \(amount)?")
        page.trail = [
            ConsoleLink("Transactions", request.link("transactions")),
            ConsoleLink(row.transactionId, request.link(path)),
        ]
        var section = ConsoleSection("refund", row.name ?? row.productId)
        let deliveries = deliveries(detail)
        section.text =
            "\(detail.email ?? row.accountId) gets back \(amount)"
            + (isSubscription ? ", or only the part for the time that is not over. " : ". ")
            + (row.refunded.map { "\($0) \(row.currency) of the price were given back before. " } ?? "")
            + (deliveries == 1
                ? "1 delivery is revoked, the purchase itself"
                : "\(deliveries) deliveries are revoked, one of them the purchase")
            + ": receipts name the refund from now on (cancellation_date), and a merchant that receives notifications takes back its grants."
        if request.environment == .production {
            section.warning = "This is production: a real customer gets the money back."
        }
        if row.revocationDate != nil {
            section.text = "This purchase was refunded already, on \(Moments.text(row.revocationDate ?? ""))."
            if row.item == nil {
                let amount = "\(row.refunded ?? "0") \(row.currency)"
                section.forms = [
                    ConsoleForm(
                        action: request.action(path + "/refund-reversal"), button: "Reverse the refund", tone: .bad,
                        text: "\(amount) are charged again, and the purchase is valid again.",
                        cancel: request.link(path))
                ]
            }
        } else {
            let shares = [
                ConsoleField(
                    "share", "How much", .choice,
                    options: [
                        ConsoleOption("whole", row.refunded == nil ? "All that was paid" : "The rest of the price"),
                        ConsoleOption("prorated", "The part of the period that is not over"),
                    ])
            ]
            section.forms = [
                ConsoleForm(
                    action: request.action(path + "/refund"),
                    fields: (isSubscription ? shares : []) + [
                        ConsoleField(
                            "reason", "Reason", .choice,
                            options: [
                                ConsoleOption("other", "Another reason"),
                                ConsoleOption("app", "An issue with the app"),
                            ])
                    ], button: isSubscription ? "Refund" : "Refund \(amount)", tone: .bad,
                    cancel: request.link(path))
            ]
            if isSubscription {
                section.forms.append(
                    ConsoleForm(
                        "Or refuse", action: request.action(path + "/refund-refusal"), button: "Refuse the refund",
                        text: "The subscription does not change; the app's server receives REFUND_DECLINED."))
            }
        }
        page.sections = [section]
        page.commands = refundCommands(row, request)
        return page
    }

    /// The amount of a full refund, as a decimal: the price less the refund of a change of plan.
    private static func refundable(_ row: ControlAPI.Transaction) -> String {
        guard let price = Money(decimal: row.price, currency: row.currency),
            let refunded = row.refunded.flatMap({ Money(decimal: $0, currency: row.currency) })
        else { return row.price }
        return Money(milliunits: max(0, price.milliunits - refunded.milliunits), currency: row.currency).decimal
    }

    /// How many deliveries a refund revokes: the purchase, of a product that is owned once also later downloads, and
    /// those to devices that restored it.
    private static func deliveries(_ detail: ControlAPI.TransactionDetail) -> Int {
        let isOwnedOnce = ProductKind(rawValue: detail.transaction.kind)?.isOwnedOnce == true
        return (isOwnedOnce ? max(detail.chain.count, 1) : 1) + detail.deliveries.count
    }

    /// The command and the request that refund a transaction, or take its refund back. The refund of an item is final.
    private static func refundCommands(_ row: ControlAPI.Transaction, _ request: PageRequest) -> [ConsoleCode] {
        let line = "cornerstore transaction refund \(row.transactionId.shellWord)"
        if row.revocationDate == nil {
            return [
                ConsoleCode("Refund", line + request.flag),
                ConsoleCode(
                    "Control port",
                    request.curl(.refund(request.environment, id: row.transactionId), #"{"reason":"other"}"#)),
            ]
        }
        guard row.item == nil else { return [] }
        return [
            ConsoleCode("Take the refund back", line + " --reverse" + request.flag),
            ConsoleCode(
                "Control port", request.curl(.reverseRefund(request.environment, id: row.transactionId))),
        ]
    }

    @Sendable private static func refund(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = action.page.parameter("id")
        let before: ControlAPI.TransactionDetail = try await action.api.ask(.transaction(action.environment, id: id))
        let refunded: ControlAPI.Refunded = try await action.api.send(
            .refund(action.environment, id: id),
            ControlAPI.Refund(reason: action.text("reason"), share: action.text("share")))
        let count = deliveries(before)
        return .done(
            "transactions/\(id.percentEncoded)",
            message:
                "Refunded \(refunded.amount) \(refunded.currency); \(count == 1 ? "1 delivery" : "\(count) deliveries") revoked."
        )
    }

    @Sendable private static func reverseRefund(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = action.page.parameter("id")
        let charged: ControlAPI.Refunded = try await action.api.ask(.reverseRefund(action.environment, id: id))
        return .done(
            "transactions/\(id.percentEncoded)",
            message: "Reversed. \(charged.amount) \(charged.currency) were charged again.")
    }

    @Sendable private static func declineRefund(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = action.page.parameter("id")
        try await action.api.perform(.declineRefund(action.environment, id: id))
        return .done("transactions/\(id.percentEncoded)", message: "Refused. The purchase stays as it is.")
    }
}
