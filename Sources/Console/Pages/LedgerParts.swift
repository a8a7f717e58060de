import ConsolePages
import ControlWire
import Foundation
import StoreWire

/// Parts that several pages show: transactions, money, states.
enum LedgerParts {
    /// The state of a transaction as a cell.
    static func state(_ transaction: ControlAPI.Transaction) -> ConsoleCell {
        let (word, tone) = stateWord(transaction)
        return ConsoleCell(word, tone: tone)
    }

    static func stateWord(_ transaction: ControlAPI.Transaction) -> (String, ConsoleTone) {
        if transaction.revocationDate != nil { return ("Refunded", .bad) }
        if transaction.finishedDate == nil, transaction.item == nil { return ("Unfinished", .warn) }
        return ("Finished", .good)
    }

    /// The kind of a product in words.
    static func kind(_ kind: String) -> String {
        switch kind {
        case "consumable": "Consumable"
        case "nonConsumable": "Non-consumable"
        case "nonRenewingSubscription": "Non-renewing subscription"
        case "autoRenewableSubscription": "Auto-renewable subscription"
        case "freeSubscription": "Free subscription"
        default: kind.prefix(1).uppercased() + kind.dropFirst()
        }
    }

    /// The table of transactions.
    /// - Parameter customers: whether a column names the customers.
    static func table(
        _ rows: some Sequence<ControlAPI.Transaction>, _ request: PageRequest, caption: String, customers: Bool = false
    ) -> ConsoleTable {
        var table = ConsoleTable(
            caption,
            [ConsoleColumn("Transaction"), ConsoleColumn("Product")]
                + (customers ? [ConsoleColumn("Customer")] : [])
                + [ConsoleColumn("Bought"), ConsoleColumn("Amount", isNumber: true), ConsoleColumn("State")],
            nothing: "No purchases yet. Make the first one:",
            command: request.buyCommand())
        for row in rows {
            var cells = [
                ConsoleCell(
                    row.transactionId, link: request.link("transactions/\(row.transactionId.percentEncoded)"),
                    isID: true),
                ConsoleCell(
                    row.name ?? row.productId, note: row.quantity > 1 ? "× \(row.quantity)" : nil),
            ]
            if customers { cells.append(customer(row.accountId, row.email, request)) }
            cells += [request.moments.cell(row.purchaseDate), ConsoleCell("\(row.price) \(row.currency)"), state(row)]
            table.add(cells)
        }
        return table
    }

    /// A failed, waiting or successful attempt's state as a cell.
    static func state(_ attempt: ControlAPI.Attempt) -> ConsoleCell {
        switch attempt.state {
        case .bought: ConsoleCell("Bought", tone: .good)
        case .declined: ConsoleCell("Declined", note: attempt.failure?.message, tone: .bad)
        case .waiting: ConsoleCell("Waiting for approval", tone: .warn)
        case .interrupted: ConsoleCell("Interrupted", tone: .warn)
        }
    }

    /// The table of attempts.
    static func table(_ rows: [ControlAPI.Attempt], _ request: PageRequest) -> ConsoleTable {
        var table = ConsoleTable(
            "Attempts to buy that did not succeed at once, newest first",
            [
                ConsoleColumn("Tried"), ConsoleColumn("Product"), ConsoleColumn("Customer"),
                ConsoleColumn("Amount", isNumber: true), ConsoleColumn("Result"),
            ],
            nothing: "No declined, waiting or interrupted purchases. Let the next purchase fail:",
            command: "cornerstore fault order purchases paymentNotAllowed\(request.flag)")
        for row in rows {
            table.add([
                request.moments.cell(
                    row.createdDate,
                    link: row.transactionId.map { request.link("transactions/\($0.percentEncoded)") }),
                ConsoleCell(row.productId, note: row.quantity > 1 ? "× \(row.quantity)" : nil),
                customer(row.accountId, row.email, request),
                ConsoleCell("\(row.amount) \(row.currency)"),
                state(row),
            ])
        }
        return table
    }

    /// A customer's address, or the start of the account's identifier when the address is not known.
    static func customer(_ account: String, _ email: String?, _ request: PageRequest) -> ConsoleCell {
        ConsoleCell(email ?? short(account), link: request.link("customers/\(account.percentEncoded)"))
    }

    /// The start of an identifier that is too long for a table.
    static func short(_ id: String) -> String { id.count > 13 ? String(id.prefix(12)) + "…" : id }

    /// Money by currency as text.
    static func money(_ sums: [String: Int64]) -> String {
        let texts = sums.sorted { $0.key < $1.key }.filter { $0.value != 0 }
            .map { "\(Money(milliunits: $0.value, currency: $0.key).decimal) \($0.key)" }
        return texts.isEmpty ? "0" : texts.joined(separator: " · ")
    }
}

/// The purchases of a span of time, from a bounded number of the newest rows.
struct LedgerSums: Sendable {
    /// One day or several.
    struct Span: Sendable {
        var purchases = 0
        var refunds = 0
        var money: [String: Int64] = [:]
        var refunded: [String: Int64] = [:]

        /// Adds a purchase. A family-shared purchase is not a sale.
        mutating func add(_ row: ControlAPI.Transaction) {
            guard row.sharedFrom == nil else { return }
            purchases += 1
            let amount = Money(decimal: row.price, currency: row.currency)?.milliunits ?? 0
            money[row.currency, default: 0] += amount
        }

        /// Adds a refund. Nothing was given back for a family-shared purchase.
        mutating func addRefund(_ row: ControlAPI.Transaction) {
            guard row.sharedFrom == nil else { return }
            refunds += 1
            let back = row.refunded.flatMap { Money(decimal: $0, currency: row.currency) }?.milliunits ?? 0
            refunded[row.currency, default: 0] += back
        }
    }

    /// The last 24 hours.
    var day = Span()
    /// The last 30 days.
    var month = Span()
    /// The purchases of each of the last 30 days, the oldest first.
    var days = [Int](repeating: 0, count: 30)
    /// Whether the rows do not reach back 30 days.
    var isCut = false
    /// How many milliseconds the rows reach back.
    var reach: Int64 = 0
    /// Whether there may be more refunds than those that were looked at.
    var hasMoreRefunds = false
    /// The last refunds, the newest first.
    var lastRefunds: [ControlAPI.Transaction] = []

    /// The largest number of rows that the sums look at.
    static let most = 1_000

    /// - Parameters:
    ///   - page: the newest purchases.
    ///   - refunded: the newest purchases that were refunded. A refund counts when it was made, however old the
    ///     purchase is.
    ///   - now: the store's clock, in milliseconds.
    init(
        _ page: ControlAPI.Page<ControlAPI.Transaction>, refunded: ControlAPI.Page<ControlAPI.Transaction>, now: Int64
    ) {
        isCut = page.next != nil
        hasMoreRefunds = refunded.next != nil
        lastRefunds = Array(refunded.rows.sorted { $0.revocationDate ?? "" > $1.revocationDate ?? "" }.prefix(20))
        for row in refunded.rows {
            guard let age = row.revocationDate.flatMap({ Moments(now: now).age($0) }), age < 30 * 86_400_000 else {
                continue
            }
            month.addRefund(row)
            if age < 86_400_000 { day.addRefund(row) }
        }
        for row in page.rows {
            guard let distance = Moments(now: now).age(row.purchaseDate) else { continue }
            let age = max(0, distance)
            reach = max(reach, age)
            guard age < 30 * 86_400_000 else {
                self.isCut = false
                continue
            }
            month.add(row)
            days[29 - Int(age / 86_400_000)] += 1
            if age < 86_400_000 { day.add(row) }
        }
    }

    /// The bars of the last 30 days.
    var bars: [ConsoleBar] {
        let most = max(days.max() ?? 0, 1)
        guard days.contains(where: { $0 > 0 }) else { return [] }
        return days.enumerated().map { index, count in
            let height = count * 76 / most
            return ConsoleBar(
                x: index * 20 + 2, y: 80 - height, width: 16, height: height,
                label: "\(29 - index) days ago: \(count)")
        }
    }
}
