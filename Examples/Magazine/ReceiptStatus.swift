import Foundation
import StoreReceipts

/// The subscription's state according to a receipt. Each period is a purchase in the receipt.
///
/// A receipt does not say whether the subscription renews, nor whether the store still tries to charge for a period
/// that was not paid. The app's server knows both.
public struct ReceiptStatus: Sendable, Equatable {
    /// The state of the last period.
    public enum State: Sendable, Equatable {
        /// The period is free, and ends then.
        case free(until: Date)
        /// The period is paid, and ends then.
        case paid(until: Date)
        /// The period ended then.
        case over(since: Date)
        /// The period was refunded then.
        case refunded(at: Date)
    }

    /// The plan of the last period.
    public var plan: Plan
    /// The state of the last period.
    public var state: State
    /// The plan that this plan replaced before its period ended; nil for none.
    public var upgradedFrom: Plan?

    /// Reads the purchases of a receipt; nil when there is no period of a plan among them.
    public init?(_ purchases: [InAppPurchase], at date: Date) {
        let periods = purchases.filter { Plan.named($0.productID) != nil && $0.expiresDate != nil }.sorted {
            // Two plans may be bought within one second.
            ($0.purchaseDate, $0.webOrderLineItemID ?? 0) < ($1.purchaseDate, $1.webOrderLineItemID ?? 0)
        }
        guard let last = periods.last, let plan = Plan.named(last.productID), let end = last.expiresDate else {
            return nil
        }
        self.plan = plan
        if let refund = last.cancellationDate {
            state = .refunded(at: refund)
        } else if end <= date {
            state = .over(since: end)
        } else {
            state = last.isTrialPeriod == true ? .free(until: end) : .paid(until: end)
        }
        if let before = periods.dropLast().last, before.productID != last.productID,
            let itsEnd = before.expiresDate, itsEnd > last.purchaseDate
        {
            upgradedFrom = Plan.named(before.productID)
        }
    }

    /// Whether the reader may read.
    public var isActive: Bool {
        switch state {
        case .free, .paid: true
        case .over, .refunded: false
        }
    }

    /// The status for the reader.
    public var text: String {
        let change = upgradedFrom.map { ", instead of \($0.title)" } ?? ""
        return switch state {
        case .free(let end): "\(plan.title)\(change), free until \(end.day)"
        case .paid(let end): "\(plan.title)\(change), paid until \(end.day)"
        case .over(let end): "\(plan.title), over since \(end.day)"
        case .refunded(let date): "\(plan.title), refunded on \(date.day)"
        }
    }
}

extension Date {
    /// The day in UTC, such as `2026-12-03`.
    var day: String { formatted(.iso8601.year().month().day()) }
}
