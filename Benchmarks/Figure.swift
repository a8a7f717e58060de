import Foundation

/// A measured number and its goal.
struct Figure: Sendable {
    enum Goal: Sendable {
        case atLeast(Double)
        case atMost(Double)

        var description: String {
            switch self {
            case .atLeast(let bound): ">=" + Figure.format(bound)
            case .atMost(let bound): "<=" + Figure.format(bound)
            }
        }

        func isMet(by value: Double) -> Bool {
            switch self {
            case .atLeast(let bound): value >= bound
            case .atMost(let bound): value <= bound
            }
        }
    }

    /// One word, `verifyreceipt-over-bare`.
    var name: String
    var value: Double
    var goal: Goal

    /// The line for people and programs: `NAME VALUE GOAL ok|short`. The printed, rounded value is compared with the
    /// goal.
    var line: String {
        let text = Self.format(value)
        let isMet = Double(text).map(goal.isMet) ?? false
        return "\(name) \(text) \(goal.description) \(isMet ? "ok" : "short")"
    }

    static func format(_ value: Double) -> String {
        guard value.isFinite else { return "nan" }
        return String(format: abs(value) >= 100 ? "%.0f" : "%.2f", value)
    }
}

extension Figure {
    // The project's figures with their goals. A figure without a unit in its name is the ratio of two rates that were
    // measured in the same run.

    /// Time to verify an app receipt with ten purchases, chain known, over the time of one raw RSA-2048 check; one
    /// core.
    static func verifyOverRSA(_ value: Double) -> Figure {
        Figure(name: "verify-over-rsa", value: value, goal: .atMost(3))
    }
    /// Rate of `verifyReceipt` with ten finished non-consumables over a bare handler's.
    static func verifyReceiptOverBare(_ value: Double) -> Figure {
        Figure(name: "verifyreceipt-over-bare", value: value, goal: .atLeast(0.42))
    }
    /// Rate of `verifyReceipt` with 60 months of a subscription, unchanged since the last request, over a bare
    /// handler's.
    static func verifyReceiptSixtyMonthsOverBare(_ value: Double) -> Figure {
        Figure(name: "verifyreceipt-60-months-over-bare", value: value, goal: .atLeast(0.4))
    }
    /// Rate of `verifyReceipt` with a subscription whose ledger has changed, which signs, over the raw sign rate.
    static func verifyReceiptSubscriptionOverSign(_ value: Double) -> Figure {
        Figure(name: "verifyreceipt-subscription-over-sign", value: value, goal: .atLeast(0.8))
    }
    /// Rate of making app receipts over the raw sign rate; one core.
    static func makeReceiptOverSign(_ value: Double) -> Figure {
        Figure(name: "make-receipt-over-sign", value: value, goal: .atLeast(0.8))
    }
    /// Rate of durable purchases over HTTP by 32 clients on SQLite over a bare handler's.
    static func purchasesOverBare(_ value: Double) -> Figure {
        Figure(name: "purchases-over-bare", value: value, goal: .atLeast(0.42))
    }
    /// Rate of purchases with 1,000,000 transactions in the ledger over that with 1,000.
    static func purchasesMillionOverThousand(_ value: Double) -> Figure {
        Figure(name: "purchases-1m-over-1k", value: value, goal: .atLeast(0.9))
    }
    /// Rate of `verifyReceipt` with 1,000,000 transactions in the ledger over that with 1,000.
    static func verifyReceiptMillionOverThousand(_ value: Double) -> Figure {
        Figure(name: "verifyreceipt-1m-over-1k", value: value, goal: .atLeast(0.9))
    }
    /// Items that one second adds to an index of 1,000,000.
    static func indexItemsPerSecond(_ value: Double) -> Figure {
        Figure(name: "index-items-per-second", value: value, goal: .atLeast(20_000))
    }
    /// The highest resident memory while the index is built.
    static func indexMebibytes(_ value: Double) -> Figure {
        Figure(name: "index-mib", value: value, goal: .atMost(300))
    }
    /// Rate of lookups by id over a bare handler's.
    static func lookupOverBare(_ value: Double) -> Figure {
        Figure(name: "lookup-over-bare", value: value, goal: .atLeast(0.4))
    }
    /// Searches a second for two words, first page; one core.
    static func searchesPerSecond(_ value: Double) -> Figure {
        Figure(name: "searches-per-second", value: value, goal: .atLeast(300))
    }
    /// The time that 99 of 100 of these searches do not exceed, with 8 clients on that core.
    static func searchMilliseconds(_ value: Double) -> Figure {
        Figure(name: "search-p99-ms", value: value, goal: .atMost(50))
    }
    /// The time that 99 of 100 items' pages do not exceed, with 8 clients on one core.
    static func itemPageMilliseconds(_ value: Double) -> Figure {
        Figure(name: "item-page-p99-ms", value: value, goal: .atMost(50))
    }
    /// Seconds from the start of `serve` in an empty folder, including the creation of keys, to its first answer.
    static func firstStartSeconds(_ value: Double) -> Figure {
        Figure(name: "first-start-seconds", value: value, goal: .atMost(2))
    }
    /// Seconds from the start of `serve` in an existing folder to its first answer.
    static func laterStartSeconds(_ value: Double) -> Figure {
        Figure(name: "later-start-seconds", value: value, goal: .atMost(0.5))
    }
    /// Rate of one download of hosted content over nginx's, of the same file to the same client.
    static func contentDownloadOverNginx(_ value: Double) -> Figure {
        Figure(name: "content-download-over-nginx", value: value, goal: .atLeast(0.7))
    }
    /// The store's highest resident memory above idle while it served downloads.
    static func contentServerMebibytes(_ value: Double) -> Figure {
        Figure(name: "content-server-mib", value: value, goal: .atMost(96))
    }
    /// The client's highest resident memory with one download.
    static func contentClientMebibytes(_ value: Double) -> Figure {
        Figure(name: "content-client-mib", value: value, goal: .atMost(96))
    }
    /// The slowest of 64 downloads at once over their median.
    static func contentSlowestOverMedian(_ value: Double) -> Figure {
        Figure(name: "content-64-slowest-over-median", value: value, goal: .atMost(1.5))
    }
    /// The store's highest resident memory in all measurements above.
    static func residentMebibytes(_ value: Double) -> Figure {
        Figure(name: "resident-mib", value: value, goal: .atMost(150))
    }
}
