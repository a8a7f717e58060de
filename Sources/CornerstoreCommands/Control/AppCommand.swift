import ArgumentParser
import ControlWire

/// `cornerstore app`: lists the store's apps, and registers and changes those whose catalog the store manages.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "List and show the apps with their ids and products, and register and change managed apps.",
        subcommands: [
            List.self, Show.self, Preview.self, Secret.self, Problems.self, Register.self, Managed.self, Set.self,
            Group.self, Checklist.self, Grace.self,
        ], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the apps with their ids and shared secrets.",
            discussion: """
                The shared secret is the “password” in a verifyReceipt request.

                  cornerstore app list
                  cornerstore app list --json
                """)

        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let apps: [ControlAPI.App] = try await control.client().send(.apps)
            try Console.current.report(apps, json: output.json) { style in
                guard !apps.isEmpty else { return "No apps. Register one with “cornerstore app register BUNDLE”." }
                let rows = apps.map { app in
                    [
                        app.bundleId, "\(app.appId)", app.sharedSecret,
                        app.isInCatalog ? "\(app.productIds.count)" : "no longer in a catalog file",
                    ]
                }
                return Table(heading: ["bundle id", "app id", "shared secret", "products"], rows: rows).text(style)
            }
        }
    }
}
