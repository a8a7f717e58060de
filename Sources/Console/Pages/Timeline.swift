import ConsolePages
import ControlWire
import StoreWire

/// What happened to a customer, the last first. The steps of one purchase stand together, and gaps are written out.
struct Timeline {
    private struct Entry {
        var time: String
        var cells: [ConsoleCell]
        var tone: ConsoleTone?
    }

    let table: ConsoleTable

    init(
        _ request: PageRequest, _ account: ControlAPI.Account, _ bought: [ControlAPI.Transaction],
        _ tried: [ControlAPI.Attempt]
    ) {
        var entries: [Entry] = []
        func add(_ time: String, _ what: ConsoleCell, _ detail: ConsoleCell, tone: ConsoleTone? = nil) {
            entries.append(Entry(time: time, cells: [request.moments.cell(time), what, detail], tone: tone))
        }
        for row in bought {
            let product = ConsoleCell(
                row.name ?? row.productId, link: request.link("transactions/\(row.transactionId.percentEncoded)"),
                note: "\(row.price) \(row.currency)" + (row.quantity > 1 ? ", × \(row.quantity)" : ""))
            add(row.purchaseDate, ConsoleCell("Bought", tone: .good), product)
            if let date = row.finishedDate, date != row.purchaseDate {
                add(date, ConsoleCell("Finished", tone: .dim), product)
            }
            if let date = row.revocationDate { add(date, ConsoleCell("Refunded", tone: .bad), product) }
        }
        for attempt in tried where attempt.state != .bought {
            add(
                attempt.createdDate, LedgerParts.state(attempt),
                ConsoleCell(attempt.productId, note: "\(attempt.amount) \(attempt.currency)"))
        }
        add(account.createdDate, ConsoleCell("Account created", tone: .dim), ConsoleCell(account.email))
        entries.sort { $0.time > $1.time }
        var table = ConsoleTable(
            "What happened, the last first", [ConsoleColumn("When"), ConsoleColumn("What"), ConsoleColumn("Product")],
            nothing: "Purchases, refunds and declined payments will stand here.")
        var earlier: Int64?
        for entry in entries.prefix(50) {
            let age = request.moments.age(entry.time) ?? 0
            if let earlier, age - earlier > 86_400_000 {
                table.add(
                    [
                        ConsoleCell("Nothing for \(Moments.span((age - earlier).magnitude / 1000))"), ConsoleCell(""),
                        ConsoleCell(""),
                    ],
                    tone: .dim)
            }
            earlier = age
            table.add(entry.cells, tone: entry.tone)
        }
        self.table = table
    }
}
