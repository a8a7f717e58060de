import ArgumentParser
import ControlWire

extension AppCommand {
    struct Grace: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show, set or remove the billing grace period of an app's subscriptions.",
            discussion: """
                In a grace period, customers whose renewal could not be charged keep the access. A change does not affect renewals \
                that are already overdue.

                  cornerstore app grace com.example.app
                  cornerstore app grace com.example.app --days 16
                  cornerstore app grace com.example.app --days 3 --only sandbox --paid-to-paid-only
                  cornerstore app grace com.example.app --none
                """)
        @Argument(help: "The app's bundle identifier.")
        var bundle: String
        @Option(parsing: .unconditional, help: "The length: 3, 16 or 28 days; weekly subscriptions have at most 6.")
        var days: Int64?
        @Option(help: ArgumentHelp("Grant it in one environment only.", valueName: "environment"))
        var only: Only?
        @Flag(help: "Grant it only after a paid period, and not after a free offer.")
        var paidToPaidOnly = false
        @Flag(help: "Remove the grace period.")
        var none = false
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        enum Only: String, ExpressibleByArgument, CaseIterable {
            case sandbox
            case production
        }

        func validate() throws {
            guard days == nil || !none else { throw ValidationError("Give one of --days and --none.") }
            guard days != nil || only == nil && !paidToPaidOnly else {
                throw ValidationError("--only and --paid-to-paid-only need --days.")
            }
        }

        func run() async throws {
            let client = try control.client()
            if none { try await client.perform(.removeGracePeriod(bundle: bundle)) }
            if let days {
                let _: ControlAPI.GracePeriod = try await client.send(
                    .setGracePeriod(bundle: bundle),
                    ControlAPI.GracePeriod(
                        days: days, production: only != .sandbox, sandbox: only != .production,
                        paidToPaidOnly: paidToPaidOnly))
            }
            let apps: [ControlAPI.App] = try await client.send(.apps)
            guard let app = apps.first(where: { $0.bundleId == bundle }) else {
                throw CommandError(.refused, "The store does not have the app \(bundle).")
            }
            try Console.current.report(app.gracePeriod, json: output.json) { _ in
                guard let grace = app.gracePeriod else { return "\(bundle) has no grace period." }
                let places = [
                    grace.production ?? true ? "production" : nil, grace.sandbox ?? true ? "the sandbox" : nil,
                ]
                return "\(bundle) has a grace period of \(grace.days) days in "
                    + places.compactMap(\.self).joined(separator: " and ")
                    + (grace.paidToPaidOnly ?? false ? ", after paid periods only." : ".")
            }
        }
    }
}
