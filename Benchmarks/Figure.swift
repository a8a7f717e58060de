import Foundation

/// One measured number and what the project promises of it.
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

    /// What is printed last, for people and programs: `NAME VALUE GOAL ok|short`. The value as printed is what is
    /// judged.
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
    // The figures of the project, each with its goal. Ratios of two rates measured in the same run, unless the name
    // says a unit.

    /// Time to verify an app receipt with ten purchases, chain known, over the time of one raw RSA-2048 check; one
    /// core.
    static func verifyOverRSA(_ value: Double) -> Figure {
        Figure(name: "verify-over-rsa", value: value, goal: .atMost(3))
    }
    /// Rate of `verifyReceipt` with ten finished non-consumables over a bare handler's.
    static func verifyReceiptOverBare(_ value: Double) -> Figure {
        Figure(name: "verifyreceipt-over-bare", value: value, goal: .atLeast(0.42))
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
    /// From the start of `serve` in an empty folder, keys made, to its first answer.
    static func firstStartSeconds(_ value: Double) -> Figure {
        Figure(name: "first-start-seconds", value: value, goal: .atMost(2))
    }
    /// The same in a folder that is there.
    static func laterStartSeconds(_ value: Double) -> Figure {
        Figure(name: "later-start-seconds", value: value, goal: .atMost(0.5))
    }
    /// Rate of one download of hosted content over nginx's, of the same file to the same client.
    static func contentDownloadOverNginx(_ value: Double) -> Figure {
        Figure(name: "content-download-over-nginx", value: value, goal: .atLeast(0.7))
    }
    /// What the store had resident above idle at most while it served downloads.
    static func contentServerMebibytes(_ value: Double) -> Figure {
        Figure(name: "content-server-mib", value: value, goal: .atMost(96))
    }
    /// The same of the client, with one download.
    static func contentClientMebibytes(_ value: Double) -> Figure {
        Figure(name: "content-client-mib", value: value, goal: .atMost(96))
    }
    /// The slowest of 64 downloads at once over their median.
    static func contentSlowestOverMedian(_ value: Double) -> Figure {
        Figure(name: "content-64-slowest-over-median", value: value, goal: .atMost(1.5))
    }
    /// The most memory that the store had resident in all of the above.
    static func residentMebibytes(_ value: Double) -> Figure {
        Figure(name: "resident-mib", value: value, goal: .atMost(150))
    }
}
