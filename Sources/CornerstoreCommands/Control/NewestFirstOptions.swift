import ArgumentParser

/// The options of a list of what an environment's apps have, the newest first.
struct NewestFirstOptions: ParsableArguments {
    @Option(help: ArgumentHelp("List only rows of this app.", valueName: "bundle-id"))
    var app: String?
    @Option(
        help: ArgumentHelp(
            "List only rows older than the row with this number, for the next page.", valueName: "number"))
    var before: String?
    @Option(parsing: .unconditional, help: "The maximum number of rows, 1 to 200.")
    var limit = 20

    func validate() throws { try checkLimit(limit, upTo: 200) }
}
