import ConsolePages
import MerchantWire
import StoreWire

/// The merchant's settings, rates and limits.
enum MerchantSettings {
    /// The sections of the settings page. A merchant that does not answer leaves the page as it is, with a warning.
    static func sections(_ request: PageRequest) async -> [ConsoleSection] {
        var section = ConsoleSection("merchant", "Merchant")
        do {
            let settings: SettingsReport = try await request.api.ask(MerchantRoute.settings)
            section.facts = facts(settings)
            var rates = ConsoleSection(
                "merchant-rates", "Limits and rates of the merchant",
                text: "Options of “cornerstore merchant serve” change the rates.")
            rates.facts = self.rates(settings.rates) + limits
            return [section, rates]
        } catch let problem as APIProblem {
            section.warning = problem.message
        } catch {
            section.warning = "The merchant gave an answer that the console cannot read."
        }
        return [section]
    }

    static func commands(_ request: PageRequest) -> [ConsoleCode] {
        [
            ConsoleCode("The merchant's settings", "cornerstore merchant settings"),
            ConsoleCode("Admin API", request.merchantCurl(.settings)),
        ]
    }

    private static func facts(_ settings: SettingsReport) -> [ConsoleFact] {
        func word(_ isOn: Bool) -> String { isOn ? "yes" : "no" }
        return [
            ConsoleFact("Apps", settings.bundleIDs.map(\.rawValue).joined(separator: ", ")),
            ConsoleFact("Stores", settings.stores.joined(separator: ", ")),
            ConsoleFact(
                "Receipts are verified", settings.asksStore ? "by asking the store" : "here, against the stores' roots"),
            ConsoleFact("Environments", settings.environments.map(\.rawValue).joined(separator: ", ")),
            ConsoleFact(
                "Usual environment", settings.usualEnvironment.rawValue, note: "of requests without an environment"),
            ConsoleFact("One balance for both environments", word(settings.joinsEnvironments)),
            policy("Another user's purchase", settings.conflict, "--conflict"),
            policy("Refunded credits", settings.refund, "--refunds"),
            policy("Credits after a change of plan", settings.superseded, "--superseded"),
            ConsoleFact("Credits for free trials", word(settings.givesCreditsForTrials)),
            ConsoleFact("Credits for shared copies", word(settings.givesCreditsForSharedCopies)),
            ConsoleFact("Downloads before redemption", "\(settings.downloadsBeforeRedemption)"),
            ConsoleFact("Webhooks go to", settings.webhook ?? "nobody", isID: settings.webhook != nil),
            ConsoleFact("Behind a proxy", word(settings.isBehindProxy)), ConsoleFact("Database", settings.database),
        ]
    }

    /// A policy in words, with its option and value.
    private static func policy(_ name: String, _ value: String, _ option: String) -> ConsoleFact {
        let word = value.replacing(/[A-Z]/) { "-" + $0.output.lowercased() }
        return ConsoleFact(name, policies[value] ?? value, note: "\(option) \(word)")
    }

    private static let policies = [
        "refuse": "stays with the first user", "transfer": "moves to the second user",
        "toZero": "are taken back down to a balance of zero", "belowZero": "are taken back, below zero too",
        "flag": "stay, and the user is flagged", "takeBack": "are taken back as for a refund",
        "prorate": "are taken back in proportion to the time left", "keep": "stay",
    ]

    private static func rates(_ rates: SettingsReport.Rates?) -> [ConsoleFact] {
        guard let rates else { return [ConsoleFact("Rates", "not limited", tone: .warn)] }
        return [
            ("Requests of each address", rates.address), ("Requests of each user", rates.user),
            ("Requests of each API key", rates.key),
            ("Unknown transactions named from each address", rates.addressGuesses),
            ("Unknown transactions named by each user", rates.userGuesses),
        ].map { name, rate in ConsoleFact(name, words(burst: rate.burst, perSecond: rate.perSecond)) }
    }

    /// A rate in words.
    static func words(burst: Double, perSecond: Double) -> String {
        "\(number(perSecond)) a second, \(number(burst)) at once"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    private static let limits = [
        ConsoleFact("Body of a redemption", "\(MerchantLimits.redemption) bytes"),
        ConsoleFact("Body of another request", "\(MerchantLimits.request) bytes"),
        ConsoleFact("Products on sale in an app", "\(MerchantLimits.products)"),
        ConsoleFact("Rows of a page", "\(MerchantLimits.page)"),
    ]
}
