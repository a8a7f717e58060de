import MerchantWire
import StoreWire

/// A user's report for support staff.
struct UserText: Encodable {
    var report: UserReport
    /// The newest entries of each currency.
    var history: [HistoryPage]

    private enum Key: String, CodingKey {
        case history
    }

    /// Encodes the admin API's report of the user, with the additional member `history`.
    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(history, forKey: .history)
    }

    func text(_ style: Style) -> String {
        let name = Style.printable(report.userID.rawValue)
        guard !report.balances.isEmpty || !report.entitlements.isEmpty || !report.flags.isEmpty else {
            return
                "\(name) has no purchases, balances or entitlements. Check that the name is the “sub” of the user's tokens."
        }
        var parts = [style.bold(name)]
        if !report.balances.isEmpty {
            parts.append(
                Table(
                    heading: ["currency", "balance"],
                    rows: report.balances.map { [Self.name(of: $0.currency, in: $0.environment), "\($0.amount)"] }
                ).text(style))
        }
        if !report.entitlements.isEmpty {
            parts.append(
                Table(
                    heading: ["entitled to", "state", "until", "by", "renews"],
                    rows: report.entitlements.map { entitlement in
                        [
                            entitlement.entitlement?.rawValue ?? "content \(entitlement.content?.rawValue ?? "")",
                            entitlement.state.rawValue,
                            (entitlement.state == .grace ? entitlement.graceUntil : entitlement.expiresAt)
                                .map(Moment.text) ?? "", entitlement.productID.rawValue, Self.renewal(of: entitlement),
                        ]
                    }
                ).text(style))
        }
        if !report.flags.isEmpty {
            parts.append(
                Table(
                    heading: ["flag", "created", "reason"],
                    rows: report.flags.map { [$0.code, Moment.text($0.createdAt), $0.detail] }
                ).text(style))
        }
        for page in history where !page.entries.isEmpty {
            let more = page.next == nil ? "" : ", the newest \(page.entries.count)"
            parts.append(
                style.dim("History of \(Self.name(of: page.currency, in: page.environment))\(more)") + "\n"
                    + Self.table(page, balance: balance(of: page), style)
            )
        }
        return parts.joined(separator: "\n\n")
    }

    /// Returns a currency's name, with “(sandbox)” for a sandbox balance.
    static func name(of currency: CurrencyID, in environment: StoreEnvironment) -> String {
        Style.printable(currency.rawValue) + (environment == .sandbox ? " (sandbox)" : "")
    }

    private func balance(of page: HistoryPage) -> Int64? {
        report.balances.first { $0.currency == page.currency && $0.environment == page.environment }?.amount
    }

    /// Returns whether the subscription renews, and as which other product; empty when the store has not reported it.
    private static func renewal(of entitlement: Entitlement) -> String {
        guard let willRenew = entitlement.willRenew else { return "" }
        guard willRenew else { return "no" }
        return entitlement.renewsAs.map { $0 == entitlement.productID ? "yes" : "as \($0.rawValue)" } ?? "yes"
    }

    /// Returns a table of the entries, and a line about expired credits that no ledger entry deducts yet.
    /// - Parameter balance: the user's balance; nil when the page does not start with the newest entry.
    static func table(_ page: HistoryPage, balance: Int64?, _ style: Style) -> String {
        let table = Table(
            heading: ["entry", "created", "kind", "amount", "balance", "reference", "note"],
            rows: page.entries.map {
                [
                    "\($0.entry)", Moment.text($0.createdAt), $0.kind.rawValue,
                    $0.amount > 0 ? "+\($0.amount)" : "\($0.amount)", "\($0.balance)", $0.reference ?? "",
                    $0.note ?? "",
                ]
            }
        ).text(style)
        guard let balance, let newest = page.entries.first, balance < newest.balance else { return table }
        return table + "\n"
            + style.dim(
                "\(newest.balance - balance) of these credits have expired, so the balance is \(balance). The server adds the entry within a minute."
            )
    }
}
