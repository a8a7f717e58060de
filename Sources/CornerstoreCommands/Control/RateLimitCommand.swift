import ArgumentParser
import ControlWire
import Store

/// `cornerstore rate-limit`: limits the requests of an app's server to the App Store Server API.
struct RateLimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate-limit",
        abstract: "Limit the requests of an app's server to the App Store Server API, as Apple does.",
        discussion: """
            Without a rule, nothing is limited. Apple limits each app in each environment, and counts for an hour: \
            further requests get 429 with a “Retry-After”.

            Classes: \(RateClass.allCases.map(\.rawValue).joined(separator: ", ")).

              cornerstore rate-limit apple
              cornerstore rate-limit set history 100
              cornerstore rate-limit off
            """,
        subcommands: [Show.self, Apple.self, Set.self, Off.self], defaultSubcommand: Show.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions
    }

    struct AppOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The app. The default is the store's only one.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var options: Options

        /// Sets limits of the app, and prints all that it has.
        func set(_ change: ControlAPI.RateLimitChange) async throws {
            let client = try options.control.client()
            let bundle = try await AppSelection.only(app, client)
            let limits: ControlAPI.RateLimits = try await client.send(
                .rateLimits(.set(options.environment.environment, bundle: bundle)), change)
            try Console.current.report(limits, json: options.output.json) { RateLimitCommand.rows([limits], $0) }
        }
    }

    private static func rows(_ limits: [ControlAPI.RateLimits], _ style: Style) -> String {
        let rows = limits.flatMap { app in
            app.requestsPerHour.sorted { $0.key < $1.key }.map { [app.bundleId, $0.key, "\($0.value)"] }
        }
        return Table(heading: ["app", "class", "requests in an hour"], rows: rows).text(style)
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the limits of all apps in one environment.",
            discussion: """
                  cornerstore rate-limit show
                  cornerstore rate-limit show --environment production
                """)
        @OptionGroup var options: Options

        func run() async throws {
            let environment = options.environment.environment
            let limits: [ControlAPI.RateLimits] = try await options.control.client().send(
                .rateLimits(.list(environment)))
            try Console.current.report(limits, json: options.output.json) { style in
                limits.isEmpty ? "Nothing is limited in \(environment.name)." : RateLimitCommand.rows(limits, style)
            }
        }
    }

    struct Apple: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Limit an app's requests to Apple's numbers. The sandbox has a tenth of production's.",
            discussion: """
                  cornerstore rate-limit apple
                  cornerstore rate-limit apple --app com.example.club --environment production
                """)
        @OptionGroup var options: AppOptions

        func run() async throws { try await options.set(ControlAPI.RateLimitChange(apple: true)) }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Limit an app's requests of one class. The app's counters begin anew.",
            discussion: """
                  cornerstore rate-limit set history 100
                  cornerstore rate-limit set extendAll 1 --app com.example.club
                """)
        @Argument(help: "The class of the requests.", completion: .list(RateClass.allCases.map(\.rawValue)))
        var rateClass: String
        @Argument(help: "The number of requests in an hour, 1 or more.")
        var requests: Int
        @OptionGroup var options: AppOptions

        func validate() throws {
            guard RateClass(rawValue: rateClass) != nil else {
                let known = RateClass.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("Unknown class “\(Style.printable(rateClass))”. The classes are \(known).")
            }
            guard (1...Int(APIRateLimits.most)).contains(requests) else {
                throw ValidationError("The number of requests must be from 1 to \(APIRateLimits.most).")
            }
        }

        func run() async throws {
            try await options.set(ControlAPI.RateLimitChange(requestsPerHour: [rateClass: requests]))
        }
    }

    struct Off: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the limits of an app.",
            discussion: """
                  cornerstore rate-limit off
                """)
        @Option(help: ArgumentHelp("The app. The default is the store's only one.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            let client = try control.client()
            let bundle = try await AppSelection.only(app, client)
            try await client.perform(.rateLimits(.remove(environment.environment, bundle: bundle)))
            Console.current.print("Nothing is limited.")
        }
    }
}
