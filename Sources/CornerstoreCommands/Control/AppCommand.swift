import ArgumentParser
import StoreServer

/// `cornerstore app`: what the store knows of its apps.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Show the apps with their numbers and shared secrets.", subcommands: [List.self],
        defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the apps with their numbers and shared secrets.",
            discussion: """
                The shared secret is the “password” of verifyReceipt.

                  cornerstore app list
                  cornerstore app list --json
                """)

        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let apps: [ControlAPI.App] = try await control.client().get("/apps")
            try Console.current.report(apps, json: output.json) { style in
                guard !apps.isEmpty else { return "No apps." }
                let rows = apps.map { app in
                    [
                        app.bundleId, "\(app.appId)", app.sharedSecret,
                        app.isInCatalog ? "\(app.productIds.count)" : "in no catalog file any more",
                    ]
                }
                return Table(heading: ["bundle id", "app id", "shared secret", "products"], rows: rows).text(style)
            }
        }
    }
}
