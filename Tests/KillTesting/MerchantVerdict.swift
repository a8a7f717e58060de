import MerchantWire

/// What the merchant's books, and its webhooks, say against what its clients were told.
package struct MerchantVerdict: Sendable, Equatable {
    package var lost: [String] = []
    package var doubled: [String] = []
    package var wrong: [String] = []
    package var redemptions = 0
    package var spends = 0

    package var isGood: Bool { lost.isEmpty && doubled.isEmpty && wrong.isEmpty }

    /// - Parameters:
    ///   - histories: the users' entries of the one currency.
    ///   - events: the webhooks, each id once.
    package init(
        logs: [MerchantKillLog], histories: [UserID: [LedgerEntry]], events: [WebhookLog.Event], credits: Int64
    ) {
        for log in logs {
            wrong += log.wrong.map { "\(log.user): \($0)" }
            redemptions += log.redeemed.count
            spends += log.spent.count
            followBooks(log, histories[log.user] ?? [], credits)
            followEvents(log, events)
        }
        followContested(logs)
    }

    private mutating func followBooks(_ log: MerchantKillLog, _ entries: [LedgerEntry], _ credits: Int64) {
        let user = log.user
        func transactions(_ kind: LedgerEntry.Kind) -> [String] {
            entries.filter { $0.kind == kind }.map { $0.reference?.split(separator: "/").last.map(String.init) ?? "" }
        }
        compare(transactions(.grant), log.redeemed.subtracting(log.content), "\(user): grant of")
        compare(transactions(.refund), log.refunded, "\(user): refund of")
        compare(entries.filter { $0.kind == .spend }.map { $0.reference ?? "" }, Set(log.spent.keys), "\(user): spend")
        for entry in entries {
            let isRight =
                switch entry.kind {
                case .grant: entry.amount == credits
                case .refund: entry.amount == -credits
                case .spend: entry.amount == -(log.spent[entry.reference ?? ""] ?? 0)
                default: false
                }
            if !isRight { wrong.append("\(user): \(entry.kind.rawValue) of \(entry.amount)") }
        }
    }

    /// What the books have is what was confirmed, once each.
    private mutating func compare(_ found: [String], _ confirmed: Set<String>, _ what: String) {
        var seen: Set<String> = []
        for name in found {
            if !seen.insert(name).inserted { doubled.append("\(what) \(name) is there twice") }
            if !confirmed.contains(name) { wrong.append("\(what) \(name) was never confirmed") }
        }
        for name in confirmed.subtracting(seen).sorted() { lost.append("\(what) \(name) is lost") }
    }

    private mutating func followEvents(_ log: MerchantKillLog, _ events: [WebhookLog.Event]) {
        let own = events.filter { $0.user == log.user.rawValue }
        func transactions(_ type: String) -> [String] { own.filter { $0.type == type }.map { $0.transaction ?? "" } }
        compare(transactions("purchase.redeemed"), log.redeemed, "\(log.user): webhook of the redemption")
        compare(transactions("purchase.revoked"), log.refunded, "\(log.user): webhook of the refund")
        let spends = own.count { $0.type == "balance.changed" && $0.reason == "spend" }
        if spends < log.spent.count {
            lost.append("\(log.user): \(log.spent.count - spends) webhooks of spends are lost")
        } else if spends > log.spent.count {
            doubled.append("\(log.user): there were \(spends) webhooks of \(log.spent.count) spends")
        }
    }

    /// What several have brought is one's.
    private mutating func followContested(_ logs: [MerchantKillLog]) {
        var owners: [String: Int] = [:]
        for log in logs {
            for transaction in log.redeemed { owners[transaction, default: 0] += 1 }
        }
        for (transaction, count) in owners.sorted(by: { $0.key < $1.key }) where count > 1 {
            doubled.append("\(transaction) was redeemed for \(count) users")
        }
        for transaction in Set(logs.flatMap(\.refused)).subtracting(owners.keys).sorted() {
            lost.append("\(transaction) was refused to everyone")
        }
    }
}
