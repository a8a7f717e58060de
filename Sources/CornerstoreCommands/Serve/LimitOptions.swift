import ArgumentParser

/// The options by which both servers' bounds are chosen.
struct LimitOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: "Whether the rates below are kept (they are).")
    var rateLimits: Bool?
    @Option(
        help: ArgumentHelp(
            "How often one address may ask the merchant: in a second, and at once (200:400).", valueName: "rate"))
    var addressRate: String?
    @Option(
        help: ArgumentHelp(
            "How often one user may ask the merchant: in a second, and at once (20:60).", valueName: "rate"))
    var userRate: String?
    @Option(
        help: ArgumentHelp(
            "How often one API key may ask the merchant: in a second, and at once (2000:4000).", valueName: "rate"))
    var keyRate: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Connections that one port holds open; what the number of files allows when nothing is said.",
            valueName: "number"))
    var maxConnections: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Connections that one address holds open, this machine's own excepted (256).", valueName: "number"))
    var maxConnectionsPerAddress: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Memory for requests' bodies, in MiB (256).", valueName: "MiB"))
    var maxBodyMemory: Int?

    /// The options that were given.
    func flags<Name: ServerSettingName>() -> [Name: String] {
        var flags: [Name: String] = [:]
        flags[.noRateLimits] = rateLimits.map { String(!$0) }
        flags[.addressRate] = addressRate
        flags[.userRate] = userRate
        flags[.keyRate] = keyRate
        flags[.maxConnections] = maxConnections.map(String.init)
        flags[.maxConnectionsPerAddress] = maxConnectionsPerAddress.map(String.init)
        flags[.maxBodyMemory] = maxBodyMemory.map(String.init)
        return flags
    }
}
