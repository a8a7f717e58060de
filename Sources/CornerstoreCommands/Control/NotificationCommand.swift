import ArgumentParser
import ControlWire

/// `cornerstore notification`: App Store Server Notifications.
struct NotificationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notification",
        abstract: "Set the URL of an app's server notifications, list and resend them, and send test notifications.",
        discussion: """
              cornerstore notification url set http://127.0.0.1:8080/notifications
              cornerstore notification test
              cornerstore notification list --state failed
              cornerstore notification resend 8c5b3a5e-4f0c-4a6b-9b44-0e52f6c2a7d1
            """,
        subcommands: [List.self, Show.self, Resend.self, Test.self, Sample.self, Address.self],
        defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// Prints one notification.
        func report(_ notification: ControlAPI.Notification) throws {
            try Console.current.report(notification, json: output.json) { style in
                var fields: [(String, String?)] = [
                    ("notification", notification.notificationUUID),
                    ("type", NotificationCommand.words(notification)), ("app", notification.bundleId),
                    ("date", String(notification.signedDate.prefix(19))),
                    ("original transaction", notification.originalTransactionId),
                    ("transaction", notification.transactionId),
                    ("version", notification.version == 2 ? nil : "\(notification.version)"),
                    ("state", notification.state),
                    ("next attempt", notification.nextAttemptDate.map { String($0.prefix(19)) }),
                ]
                for attempt in notification.sendAttempts {
                    fields.append(("attempt", "\(attempt.attemptDate.prefix(19)) \(attempt.sendAttemptResult)"))
                }
                fields.append(("payload", notification.signedPayload))
                fields.append(("body", notification.body))
                return Table.fields(fields, style)
            }
        }
    }

    private static func words(_ notification: ControlAPI.Notification) -> String {
        [notification.notificationType, notification.subtype].compactMap(\.self).joined(separator: "/")
            + (notification.isSample ? " (sample)" : "")
    }

    enum State: String, ExpressibleByArgument, CaseIterable {
        case waiting
        case delivered
        case failed
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List notifications, newest first.",
            discussion: """
                  cornerstore notification list --app com.example.app --limit 10
                  cornerstore notification list --state failed --environment production
                """)
        @Option(help: "List only notifications of this type, such as DID_RENEW.")
        var type: String?
        @Option(help: "List only notifications in this state.")
        var state: State?
        @OptionGroup var part: NewestFirstOptions
        @OptionGroup var options: Options

        func run() async throws {
            let page: ControlAPI.Page<ControlAPI.Notification> = try await options.control.client().send(
                .notifications(
                    .list(
                        options.environment.environment, bundle: part.app, type: type, state: state?.rawValue,
                        before: part.before, limit: part.limit)))
            page.suggestNextPage(after: part.limit, with: "--before")
            try Console.current.report(page.rows, json: options.output.json) { style in
                guard !page.rows.isEmpty else {
                    return "No notifications in \(options.environment.environment.name)."
                }
                return Table(
                    heading: ["notification", "date", "type", "app", "state", "last attempt", "number"],
                    rows: page.rows.map {
                        [
                            $0.notificationUUID, String($0.signedDate.prefix(19)), NotificationCommand.words($0),
                            $0.bundleId, $0.state, $0.sendAttempts.last?.sendAttemptResult ?? "", $0.number,
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a notification with its attempts and its signed payload, or its body for version 1.",
            discussion: """
                  cornerstore notification show 8c5b3a5e-4f0c-4a6b-9b44-0e52f6c2a7d1
                """)
        @Argument(help: "The notificationUUID.")
        var id: String
        @OptionGroup var options: Options

        func run() async throws {
            let found: ControlAPI.Notification = try await options.control.client().send(
                .notifications(.notification(options.environment.environment, id: id)))
            try options.report(found)
        }
    }

    struct Resend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a notification again, with the same notificationUUID and payload.",
            discussion: """
                  cornerstore notification resend 8c5b3a5e-4f0c-4a6b-9b44-0e52f6c2a7d1
                """)
        @Argument(help: "The notificationUUID.")
        var id: String
        @OptionGroup var options: Options

        func run() async throws {
            let sent: ControlAPI.Notification = try await options.control.client().send(
                .notifications(.resend(options.environment.environment, id: id)))
            try options.report(sent)
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a test notification.",
            discussion: """
                The command does not wait. “notification show” then has the result. Version 1 has no test notification.

                  cornerstore notification test --app com.example.app --environment production
                """)
        @Option(help: ArgumentHelp("The app. The default is the store's only one.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var options: Options

        func run() async throws {
            let client = try options.control.client()
            let bundle = try await AppSelection.only(app, client)
            let sent: ControlAPI.Notification = try await client.send(
                .notifications(.test(options.environment.environment, bundle: bundle)))
            try options.report(sent)
        }
    }

    struct Sample: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a sample of a type that nothing in the store causes, such as EXTERNAL_PURCHASE_TOKEN.",
            discussion: """
                A sample has Apple's form, and the contents of the app's first subscription or made-up ones. Lists and \
                the log mark it. For a type that the store sends itself, the command fails and names the command \
                that causes it.

                  cornerstore notification sample EXTERNAL_PURCHASE_TOKEN/UNREPORTED
                  cornerstore notification sample RESCIND_CONSENT --app com.example.app --environment production
                """)
        @Argument(help: ArgumentHelp("The type, and its subtype if it has one.", valueName: "type/subtype"))
        var type: String
        @Option(help: ArgumentHelp("The app. The default is the store's only one.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var options: Options

        func run() async throws {
            let words = type.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let client = try options.control.client()
            let bundle = try await AppSelection.only(app, client)
            let sent: ControlAPI.Notification = try await client.send(
                .notifications(.sample(options.environment.environment, bundle: bundle)),
                ControlAPI.NotificationSample(
                    notificationType: words.first ?? "", subtype: words.count > 1 ? words[1] : nil))
            try options.report(sent)
        }
    }
}

extension NotificationCommand {
    /// `cornerstore notification url`: where notifications are sent.
    struct Address: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "url", abstract: "Show, set and remove the URLs that notifications are sent to.",
            discussion: """
                  cornerstore notification url show
                  cornerstore notification url set http://127.0.0.1:8080/notifications
                  cornerstore notification url remove
                """,
            subcommands: [ShowAll.self, Set.self, Remove.self], defaultSubcommand: ShowAll.self)

        static func rows(_ receivers: [ControlAPI.NotificationReceiver], _ style: Style) -> String {
            Table(
                heading: ["app", "url", "version", "redirects also to"],
                rows: receivers.map {
                    [$0.bundleId, $0.url, "\($0.version)", $0.redirectOrigins.joined(separator: " ")]
                }
            ).text(style)
        }

        struct ShowAll: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "show", abstract: "Show the URLs of an environment by app.",
                discussion: """
                      cornerstore notification url show --environment production
                    """)
            @OptionGroup var options: Options

            func run() async throws {
                let receivers: [ControlAPI.NotificationReceiver] = try await options.control.client().send(
                    .notifications(.receivers(options.environment.environment)))
                try Console.current.report(receivers, json: options.output.json) { style in
                    receivers.isEmpty
                        ? "No app of \(options.environment.environment.name) has a URL for notifications."
                        : Address.rows(receivers, style)
                }
            }
        }

        struct Set: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Set the URL of an app in one environment.",
                discussion: """
                    The URL is https, or http on the store's machine. Redirects to other origins are followed only \
                    if they are listed.

                      cornerstore notification url set https://example.com/apple --environment production
                      cornerstore notification url set http://127.0.0.1:8080/ --redirect http://127.0.0.1:8081
                      cornerstore notification url set http://127.0.0.1:8080/ --v1
                    """)
            @Argument(help: "The URL.")
            var url: String
            @Option(help: ArgumentHelp("The app. The default is the store's only one.", valueName: "bundle-id"))
            var app: String?
            @Option(
                help: ArgumentHelp(
                    "An origin that redirects may lead to, such as https://hooks.example.com. Repeat it for several.",
                    valueName: "origin"))
            var redirect: [String] = []
            @Flag(
                name: .customLong("v1"),
                help: "Send version 1 of the notifications, which Apple has deprecated, instead of version 2.")
            var isVersion1 = false
            @OptionGroup var options: Options

            func run() async throws {
                let client = try options.control.client()
                let bundle = try await AppSelection.only(app, client)
                let receiver: ControlAPI.NotificationReceiver = try await client.send(
                    .notifications(.setReceiver(options.environment.environment, bundle: bundle)),
                    ControlAPI.NotificationReceiverChange(
                        url: url, redirectOrigins: redirect, version: isVersion1 ? 1 : 2))
                try Console.current.report(receiver, json: options.output.json) { Address.rows([receiver], $0) }
            }
        }

        struct Remove: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Remove the URL of an app in one environment.",
                discussion: """
                    The notifications then go to the merchant beside the store, or nowhere without one.

                      cornerstore notification url remove --app com.example.app
                    """)
            @Option(help: ArgumentHelp("The app. The default is the store's only one.", valueName: "bundle-id"))
            var app: String?
            @OptionGroup var environment: EnvironmentOptions
            @OptionGroup var control: ControlOptions

            func run() async throws {
                let client = try control.client()
                let bundle = try await AppSelection.only(app, client)
                try await client.perform(.notifications(.removeReceiver(environment.environment, bundle: bundle)))
                Console.current.print("Removed.")
            }
        }
    }
}
