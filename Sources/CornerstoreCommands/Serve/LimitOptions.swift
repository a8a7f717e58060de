import ArgumentParser

/// The options for the limits of both servers.
struct LimitOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: "Apply the rate limits below (default: yes).")
    var rateLimits: Bool?
    @Option(
        help: ArgumentHelp(
            "The merchant's rate limit for an IP address: requests per second, and burst (200:400).", valueName: "rate")
    )
    var addressRate: String?
    @Option(
        help: ArgumentHelp(
            "The merchant's rate limit for a user: requests per second, and burst (20:60).", valueName: "rate"))
    var userRate: String?
    @Option(
        help: ArgumentHelp(
            "The merchant's rate limit for an API key: requests per second, and burst (2000:4000).", valueName: "rate"))
    var keyRate: String?
    @Option(
        help: ArgumentHelp(
            "The merchant's limit for unknown transactions named from an IP address: per second, and burst (0.2:100).",
            valueName: "rate"))
    var addressGuessRate: String?
    @Option(
        help: ArgumentHelp(
            "The merchant's limit for unknown transactions named by a user: per second, and burst (0.02:10).",
            valueName: "rate"))
    var userGuessRate: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of open connections per port. The default depends on the limit of open files.",
            valueName: "number"))
    var maxConnections: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of open connections per IP address, except this machine's (256).", valueName: "number"))
    var maxConnectionsPerAddress: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The memory for request bodies, in MiB (256).", valueName: "MiB"))
    var maxBodyMemory: Int?

    /// Returns the options that were given.
    func flags<Name: ServerSettingName>() -> [Name: String] {
        var flags: [Name: String] = [:]
        flags[.noRateLimits] = rateLimits.map { String(!$0) }
        flags[.addressRate] = addressRate
        flags[.userRate] = userRate
        flags[.keyRate] = keyRate
        flags[.addressGuessRate] = addressGuessRate
        flags[.userGuessRate] = userGuessRate
        flags[.maxConnections] = maxConnections.map(String.init)
        flags[.maxConnectionsPerAddress] = maxConnectionsPerAddress.map(String.init)
        flags[.maxBodyMemory] = maxBodyMemory.map(String.init)
        return flags
    }
}
