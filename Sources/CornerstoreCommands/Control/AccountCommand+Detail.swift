import ArgumentParser
import ControlWire

extension AccountFlag: ExpressibleByArgument {}

extension AccountCommand {
    /// `cornerstore account show`: one account in full.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an account with its devices, owned products, unfinished transactions and promotions.")
        @Argument(help: "The account's e-mail address or id.")
        var account: String
        @OptionGroup var options: Options

        func run() async throws {
            let detail: ControlAPI.AccountDetail = try await options.control.client().send(
                .account(options.environment.environment, email: account))
            try Console.current.report(detail, json: options.output.json) { style in
                let parts: [(String, String)] = [
                    (
                        "Devices",
                        Self.table(
                            ["device", "signed in"], detail.devices.map { [$0.deviceId, $0.signedInDate] }, style)
                    ),
                    (
                        "Owned",
                        Self.table(
                            ["product", "app", "since"],
                            detail.owned.map { [$0.productId, $0.bundleId, $0.originalPurchaseDate] }, style)
                    ),
                    ("Family", detail.family.map { FamilyCommand.Options.text([$0], style) } ?? ""),
                    ("Items", detail.items.isEmpty ? "" : TransactionCommand.List.table(detail.items).text(style)),
                    (
                        "Unfinished",
                        detail.unfinished.isEmpty ? "" : TransactionCommand.List.table(detail.unfinished).text(style)
                    ),
                    (
                        "Promotions",
                        Self.table(
                            ["promotion", "product"],
                            detail.promotions.map { [$0.promotionId.uuidString, $0.productId] }, style)
                    ),
                    (
                        "Price increases",
                        Self.table(
                            ["product", "from", "to", "answer"],
                            detail.priceIncreases.map {
                                [$0.productId, $0.oldPrice, "\($0.newPrice) \($0.currency)", $0.answer ?? "open"]
                            }, style)
                    ),
                    (
                        "Restored",
                        Self.table(
                            ["transaction", "device", "restored", "finished"],
                            detail.restored.map {
                                [$0.sourceTransactionId, $0.deviceId, $0.restoredDate, $0.finishedDate ?? ""]
                            }, style)
                    ),
                    (
                        "Codes",
                        Self.table(
                            ["code", "product"], detail.codes.map { [$0.code, $0.productId] }, style)
                    ),
                ]
                let head = Options.text([detail.account], style) + "\nid: \(detail.account.accountId)"
                return
                    ([head] + parts.filter { !$0.1.isEmpty }.map { "\(style.bold($0.0))\n\($0.1)" })
                    .joined(separator: "\n\n")
            }
        }

        private static func table(_ heading: [String], _ rows: [[String]], _ style: Style) -> String {
            rows.isEmpty ? "" : Table(heading: heading, rows: rows).text(style)
        }
    }

    /// `cornerstore account sign-out`: signs devices out.
    struct SignOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign-out", abstract: "Sign an account's devices out, all or one.")
        @Argument(help: "The account's e-mail address or id.")
        var account: String
        @Option(help: ArgumentHelp("Sign only this device out.", valueName: "uuid"))
        var device: String?
        @OptionGroup var options: Options

        func run() async throws {
            let answer: ControlAPI.SignedOut = try await options.control.client().send(
                .signOut(options.environment.environment, email: account, device: device))
            try Console.current.report(answer, json: options.output.json) { style in
                style.good("Signed out.") + " \(answer.tokens) tokens are no longer valid."
            }
        }
    }

    /// `cornerstore account receipt`: an account's app receipt.
    struct Receipt: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save an account's app receipt.",
            discussion: """
                  cornerstore account receipt anna@example.com --app com.example.app --out anna.receipt
                """)
        @Argument(help: "The account's e-mail address or id.")
        var account: String
        @Option(help: ArgumentHelp("The app's bundle id.", valueName: "bundle-id"))
        var app: String
        @OptionGroup var receipt: ReceiptOptions
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            try receipt.save(
                try await control.client().send(
                    .appReceipt(
                        environment.environment, email: account, bundle: app, version: receipt.version,
                        device: receipt.device)))
        }
    }

    /// `cornerstore account clear-history`: deletes a tester's purchase history.
    struct ClearHistory: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear-history", abstract: "Delete a sandbox tester's purchase history.",
            discussion: """
                Deletes the tester's transactions, attempts and owned products, so that it can buy everything as if for the first time. \
                Its devices stay signed in. Only the sandbox allows it.

                  cornerstore account clear-history tester@sandbox.example
                """)
        @Argument(help: "The tester's e-mail address or id.")
        var account: String
        @OptionGroup var options: Options

        func run() async throws {
            let cleared: ControlAPI.ClearedHistory = try await options.control.client().send(
                .clearHistory(options.environment.environment, email: account))
            try Console.current.report(cleared, json: options.output.json) { style in
                style.good("Cleared.")
                    + " \(cleared.transactions) transactions, \(cleared.items) items and \(cleared.attempts) attempts."
            }
        }
    }
}
