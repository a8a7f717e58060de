import ConsolePages
import ControlWire
import Foundation

/// The words for refund requests, and for the app server's answers about the purchases (Apple's `ConsumptionRequest`,
/// version 1 or 2).
enum ConsumptionWords {
    /// The members of an answer with their meanings.
    static func facts(_ request: ControlAPI.RefundRequest) -> [ConsoleFact] {
        guard case .object(let members)? = request.consumption else { return [] }
        return members.sorted { $0.key < $1.key }.prefix(20).map { name, value in
            ConsoleFact(titles[name] ?? name, words(name, value), note: name)
        }
    }

    private static func words(_ name: String, _ value: ControlAPI.CatalogValue) -> String {
        switch value {
        case .bool(let flag): flag ? "Yes" : "No"
        case .string(let text): text.isEmpty ? "None" : texts[text] ?? text
        case .number(let number): words(name, number)
        case .null, .array, .object: "—"
        }
    }

    private static func words(_ name: String, _ number: Decimal) -> String {
        // Thousandths of a per cent.
        if name == "consumptionPercentage" { return "\(number / 1000) %" }
        guard let meanings = numbers[name], let place = Int("\(number)"), meanings.indices.contains(place) else {
            return "\(number)"
        }
        return meanings[place]
    }

    private static let titles = [
        "accountTenure": "Age of the customer's account", "appAccountToken": "Account token",
        "consumptionPercentage": "Used", "consumptionStatus": "Used", "customerConsented": "Customer consented",
        "deliveryStatus": "Delivered", "lifetimeDollarsPurchased": "Bought in all apps, US dollars",
        "lifetimeDollarsRefunded": "Refunded in all apps, US dollars", "platform": "Platform",
        "playTime": "Time in the app",
        "refundPreference": "Preference", "sampleContentProvided": "Could be tried before", "userStatus": "Account",
    ]

    /// The strings of version 2.
    private static let texts = [
        "DELIVERED": "Delivered, and works", "UNDELIVERED_QUALITY_ISSUE": "Not delivered: a quality issue",
        "UNDELIVERED_WRONG_ITEM": "Not delivered: another item was", "UNDELIVERED_OTHER": "Not delivered",
        "UNDELIVERED_SERVER_OUTAGE": "Not delivered: a server was down", "DECLINE": "Decline the refund",
        "GRANT_FULL": "Refund all of it", "GRANT_PRORATED": "Refund the part that is not used",
    ]

    private static let dollars = [
        "Undeclared", "0", "0.01–49.99", "50–99.99", "100–499.99", "500–999.99", "1000–1999.99", "2000 or more",
    ]

    /// The numbers of version 1, from 0 on.
    private static let numbers = [
        "accountTenure": [
            "Undeclared", "Up to 3 days", "3–10 days", "10–30 days", "30–90 days", "90–180 days", "180–365 days",
            "Over 365 days",
        ],
        "consumptionStatus": ["Undeclared", "Not used", "Partly used", "Used up"],
        "deliveryStatus": [
            "Delivered, and works", "Not delivered: a quality issue", "Not delivered: another item was",
            "Not delivered: a server was down", "Not delivered: the app's currency changed", "Not delivered",
        ],
        "lifetimeDollarsPurchased": dollars, "lifetimeDollarsRefunded": dollars,
        "platform": ["Undeclared", "Apple's", "Another"],
        "playTime": [
            "Undeclared", "Up to 5 minutes", "5–60 minutes", "1–6 hours", "6–24 hours", "1–4 days", "4–16 days",
            "Over 16 days",
        ],
        "refundPreference": ["Undeclared", "Refund", "Decline the refund", "No preference"],
        "userStatus": ["Undeclared", "Active", "Suspended", "Terminated", "Limited access"],
    ]

    /// Apple's reasons in words, in the order of a form.
    static let reasons = [
        ("UNINTENDED_PURCHASE", "Did not mean to buy it"), ("FULFILLMENT_ISSUE", "Did not get it, or cannot use it"),
        ("UNSATISFIED_WITH_PURCHASE", "Not satisfied with it"), ("LEGAL", "A legal reason"),
        ("OTHER", "Another reason"),
    ]

    /// A reason of Apple's in words.
    static func reason(_ name: String) -> String { reasons.first { $0.0 == name }?.1 ?? name }
}
