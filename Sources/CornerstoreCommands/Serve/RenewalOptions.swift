import ArgumentParser

/// The options for the renewals of subscriptions in each environment.
struct RenewalOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long before the end of a period production charges the renewal: 0s to 24h (24h).", valueName: "time"))
    var productionRenewalLead: String?
    @Option(
        parsing: .unconditional, help: ArgumentHelp("The same for the sandbox: 0s to 24h (0s).", valueName: "time"))
    var sandboxRenewalLead: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The days after the end of a period on which production charges an unpaid renewal again, from 1 to 59 (1,2,4,7,10,14,19,24,30,36,42,48,54).",
            valueName: "days"))
    var productionRetryDays: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The same for the sandbox, by default the same days. Shortened periods shorten them alike.",
            valueName: "days"))
    var sandboxRetryDays: String?

    /// Returns the options that were given.
    func flags() -> [ServeSetting: String] {
        var flags: [ServeSetting: String] = [:]
        flags[.productionRenewalLead] = productionRenewalLead
        flags[.sandboxRenewalLead] = sandboxRenewalLead
        flags[.productionRetryDays] = productionRetryDays
        flags[.sandboxRetryDays] = sandboxRetryDays
        return flags
    }
}
