import ConsolePages
import ControlWire
import CornerstoreEncoding
import MerchantWire
import StoreWire

/// Parts of the merchant that its own pages and the store's pages show: redemptions, and one transaction in the books.
enum MerchantParts {
    /// The table of redemptions.
    static func table(
        _ records: [RedemptionRecord], _ request: PageRequest, caption: String, nothing: String
    ) -> ConsoleTable {
        var table = ConsoleTable(
            caption,
            [
                ConsoleColumn("Transaction"), ConsoleColumn("User"), ConsoleColumn("Product"),
                ConsoleColumn("Redeemed"), ConsoleColumn("State"),
            ], nothing: nothing)
        for record in records.prefix(50) {
            let taken = record.takenBack.map { "\($0.amount) \($0.currency.rawValue) taken back" }
            table.add([
                ConsoleCell(record.transactionID, link: link(record, request), isID: true),
                ConsoleCell(record.userID.rawValue, link: request.userLink(record.userID)),
                ConsoleCell(record.productID.rawValue, note: record.grants.map(words).joined(separator: ", ")),
                request.machineMoments.cell(Moments.iso(record.redeemedAt)),
                ConsoleCell(
                    record.state.rawValue, note: taken.isEmpty ? nil : taken.joined(separator: ", "),
                    tone: record.state == .granted ? .good : .bad),
            ])
        }
        return table
    }

    /// The page of a redeemed transaction: the store's page, which has the merchant's view, or the merchant's own.
    private static func link(_ record: RedemptionRecord, _ request: PageRequest) -> String {
        guard request.api.hasStore else {
            return request.link(
                "merchant/transaction",
                [
                    ("id", record.transactionID),
                    (
                        "original",
                        record.originalTransactionID == record.transactionID ? nil : record.originalTransactionID
                    ),
                ])
        }
        var store = request
        store.environment = record.environment
        return store.link("transactions/\(record.transactionID.percentEncoded)")
    }

    /// A grant in words.
    static func words(_ grant: ProductGrant) -> String {
        switch grant {
        case .credits(let currency, let amount, let lifetime): "\(amount) \(currency.rawValue)" + span(lifetime)
        case .entitlement(let entitlement, let lifetime): "the right “\(entitlement.rawValue)”" + span(lifetime)
        case .content(let item): "the content “\(item.rawValue)”"
        }
    }

    /// - Parameter lifetime: the seconds for which credits or a right last; nil for ever.
    private static func span(_ lifetime: Int64?) -> String {
        lifetime.map { " for \(Moments.span(UInt64(max(0, $0))))" } ?? ""
    }

    /// The most users of one purchase or customer whose webhooks or balances a page shows.
    private static let mostUsers = 3

    // MARK: One transaction

    /// The merchant's records of a transaction: redemptions, ledger entries and webhooks. A merchant that does not
    /// answer leaves the page as it is, with a warning.
    static func transaction(
        _ request: PageRequest, id: String, original: String?, bundle: String?
    ) async -> [ConsoleSection] {
        var redemptions = ConsoleSection("merchant", "At the merchant", isLive: true)
        do {
            let report: TransactionReport = try await request.api.ask(
                MerchantRoute.transaction(id, original: original, bundle: bundle.map { BundleID($0) }))
            redemptions.table = table(
                report.redemptions, request, caption: "Users who redeemed this purchase",
                nothing: "No user has redeemed this purchase at the merchant.")
            var sections = [redemptions]
            if !report.entries.isEmpty { sections.append(entries(request, report.entries)) }
            if !report.redemptions.isEmpty { sections.append(try await webhooks(request, report.redemptions)) }
            return sections
        } catch let problem as APIProblem {
            redemptions.warning = problem.message
        } catch {
            redemptions.warning = "The merchant gave an answer that the console cannot read."
        }
        return [redemptions]
    }

    private static func entries(_ request: PageRequest, _ entries: [PurchaseEntry]) -> ConsoleSection {
        var section = ConsoleSection("entries", "Ledger of the merchant", isLive: true)
        var table = ConsoleTable(
            "Entries of this purchase, oldest first",
            [
                ConsoleColumn("When"), ConsoleColumn("Entry"), ConsoleColumn("User"),
                ConsoleColumn("Amount", isNumber: true), ConsoleColumn("Balance", isNumber: true),
            ], nothing: "No ledger entries.")
        for booked in entries.prefix(50) {
            let entry = booked.entry
            table.add([
                request.machineMoments.cell(Moments.iso(entry.createdAt)),
                ConsoleCell(entry.kind.rawValue, note: "#\(entry.entry)"),
                ConsoleCell(booked.userID.rawValue, link: request.userLink(booked.userID)),
                ConsoleCell("\(entry.amount > 0 ? "+" : "")\(entry.amount) \(booked.currency.rawValue)"),
                ConsoleCell("\(entry.balance)"),
            ])
        }
        section.table = table
        return section
    }

    private static func webhooks(
        _ request: PageRequest, _ redemptions: [RedemptionRecord]
    ) async throws -> ConsoleSection {
        var section = ConsoleSection("webhooks", "Webhooks of the merchant", isLive: true)
        var events: [WebhookEventSummary] = []
        for redemption in redemptions.prefix(mostUsers) {
            let list: WebhookEventList = try await request.api.ask(
                MerchantRoute.webhookEvents(purchase: redemption.purchase, limit: 20))
            events += list.events
        }
        section.table = WebhookParts.table(
            events, request, caption: "Webhooks about this purchase, newest first",
            nothing: "The merchant keeps no webhook about this purchase. Delivered ones are kept for 7 days.")
        return section
    }

    // MARK: One customer

    /// The most of a customer's purchases that are looked up at the merchant.
    private static let purchasesLookedUp = 5

    /// The merchant's view of a customer: the users who redeemed the customer's newest purchases.
    static func customer(_ request: PageRequest, _ bought: [ControlAPI.Transaction]) async -> ConsoleSection {
        var section = ConsoleSection(
            "merchant", "At the merchant", text: "The users who redeemed the customer's newest purchases.", isLive: true
        )
        var table = ConsoleTable(
            "The same person at the merchant",
            [
                ConsoleColumn("User"), ConsoleColumn("Balances"), ConsoleColumn("Rights"), ConsoleColumn("Flags"),
                ConsoleColumn("Last redeemed"),
            ],
            nothing: "No user has redeemed the customer's purchases.")
        do {
            var redeemed: [UserID: Int64] = [:]
            let purchases = bought.filter { $0.item == nil }.prefix(purchasesLookedUp)
            for row in purchases {
                let report: TransactionReport = try await request.api.ask(
                    MerchantRoute.transaction(
                        row.transactionId, original: row.originalTransactionId, bundle: BundleID(row.bundleId)))
                for record in report.redemptions {
                    redeemed[record.userID] = max(redeemed[record.userID] ?? 0, record.redeemedAt)
                }
            }
            let newest = redeemed.sorted { ($0.value, $0.key.rawValue) > ($1.value, $1.key.rawValue) }
            for (user, time) in newest.prefix(mostUsers) {
                let report: UserReport = try await request.api.ask(MerchantRoute.user(user))
                let balances = report.balances.prefix(5).map { "\($0.amount) \($0.currency.rawValue)" }
                let rights = report.entitlements.filter(\.isUsable).prefix(5)
                    .map { $0.entitlement?.rawValue ?? $0.content?.rawValue ?? "—" }
                table.add([
                    ConsoleCell(user.rawValue, link: request.userLink(user)),
                    ConsoleCell(balances.isEmpty ? "none" : balances.joined(separator: ", ")),
                    ConsoleCell(rights.isEmpty ? "none" : rights.joined(separator: ", ")),
                    ConsoleCell("\(report.flags.count)", tone: report.flags.isEmpty ? nil : .warn),
                    request.machineMoments.cell(Moments.iso(time)),
                ])
            }
            section.table = table
        } catch let problem as APIProblem {
            section.warning = problem.message
        } catch {
            section.warning = "The merchant gave an answer that the console cannot read."
        }
        return section
    }
}

extension PageRequest {
    /// The page of a user of the merchant.
    func userLink(_ user: UserID) -> String { link("merchant/users/\(user.rawValue.percentEncoded)") }
}
