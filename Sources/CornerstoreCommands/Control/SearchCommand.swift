import ArgumentParser
import ControlWire

/// `cornerstore search`: finds transactions, accounts, products and apps.
struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Find transactions, accounts, products and apps.",
        discussion: """
            Finds exact identifiers, names of apps and products and e-mail addresses that begin with the text, and the newest \
            transactions whose applicationUsername is the text.

              cornerstore search 2000000000000123
              cornerstore search anna
              cornerstore search Monkey
            """)
    @Argument(help: "An identifier, the start of a name or of an e-mail address, or an applicationUsername.")
    var text: String
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let hits: [ControlAPI.SearchHit] = try await control.client().send(
            .search(environment.environment, text: text))
        try Console.current.report(hits, json: output.json) { style in
            guard !hits.isEmpty else { return "Nothing in \(environment.environment.name) matches." }
            return Table(
                heading: ["kind", "id", "app", "name"],
                rows: hits.map { [$0.kind.rawValue, $0.id, $0.bundleId ?? "", $0.title] }
            ).text(style)
        }
    }
}
