import ArgumentParser
import Merchant
import MerchantWire
import StoreWire

extension MerchantCommand {
    /// The options of a list that is shown a page at a time.
    struct PageOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The number of rows, up to \(MerchantLimits.page).", valueName: "number"))
        var limit = MerchantLimits.usualPage

        func validate() throws { try checkLimit(limit, upTo: MerchantLimits.page) }

        /// The line under a page that is not the last one.
        static func more(_ option: String, _ next: String?, _ style: Style) -> String {
            next.map { "\n" + style.dim("For more: \(option) \(Style.printable($0))") } ?? ""
        }
    }

    struct Users: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the users who have credits, entitlements or purchases, by name.",
            discussion: """
                  cornerstore merchant users
                  cornerstore merchant users an --limit 200
                  cornerstore merchant users --after ann
                """)

        @Argument(help: "The beginning of the names.")
        var start = ""
        @Option(help: ArgumentHelp("Show only users after this one.", valueName: "name"))
        var after: String?
        @OptionGroup var page: PageOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (start, after, limit) = (start, after, page.limit)
            let list = try await place.withMerchant {
                try await $0.users(startingWith: start, after: after.map { UserID($0) }, limit: limit)
            }
            try Console.current.report(list, json: output.json) { style in
                guard !list.users.isEmpty else {
                    return "No users." + PageOptions.more("--after", list.next?.rawValue, style)
                }
                return Table(
                    heading: ["user", "last redemption"],
                    rows: list.users.map { [$0.userID.rawValue, $0.lastRedeemedAt.map(Moment.text) ?? ""] }
                ).text(style) + PageOptions.more("--after", list.next?.rawValue, style)
            }
        }
    }

    struct Redemptions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the purchases that users have redeemed.",
            discussion: """
                A user's purchases are listed by the time of their redemption, the last first. Those of all users are listed by their keys: of \
                each store, environment, app and kind, the newest purchase first.

                  cornerstore merchant redemptions
                  cornerstore merchant redemptions ann --limit 10 --json
                """)

        @Argument(help: "The only user whose purchases are listed.")
        var user: String?
        @Option(
            help: ArgumentHelp(
                "Show only purchases before this place, as the page before names it.", valueName: "place"))
        var before: String?
        @OptionGroup var page: PageOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (user, before, limit) = (user, before, page.limit)
            let list = try await place.withMerchant {
                guard let user else { return try await $0.redemptions(before: before, limit: limit) }
                return try await $0.redemptions(of: UserID(user), before: before, limit: limit)
            }
            try Console.current.report(list, json: output.json) { style in
                let more = PageOptions.more("--before", list.next, style)
                guard !list.redemptions.isEmpty else { return "No redeemed purchases." + more }
                return Self.table(list.redemptions).text(style) + more
            }
        }

        static func table(_ redemptions: [RedemptionRecord]) -> Table {
            Table(
                heading: ["redeemed", "user", "product", "quantity", "state", "ends", "purchase"],
                rows: redemptions.map {
                    [
                        Moment.text($0.redeemedAt), $0.userID.rawValue, $0.productID.rawValue, "\($0.quantity)",
                        $0.state.rawValue, $0.expiresAt.map(Moment.text) ?? "", $0.purchase,
                    ]
                })
        }
    }

    struct Notifications: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the notifications that stores have sent, the last received first.",
            discussion: """
                A notification stays in the list for 200 days. Notifications that were refused are in the server's log only.

                  cornerstore merchant notifications
                  cornerstore merchant notifications --limit 10 --json
                """)

        @Option(
            help: ArgumentHelp(
                "Show only notifications before this place, as the page before names it.", valueName: "place"))
        var before: String?
        @OptionGroup var page: PageOptions
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (before, limit) = (before, page.limit)
            let list = try await place.withMerchant { try await $0.notifications(before: before, limit: limit) }
            try Console.current.report(list, json: output.json) { style in
                guard !list.notifications.isEmpty else { return "No notifications." }
                return Table(
                    heading: [
                        "received", "signed", "type", "subtype", "outcome", "environment", "transaction", "original",
                        "notification",
                    ],
                    rows: list.notifications.map {
                        [
                            Moment.text($0.receivedAt), Moment.text($0.signedAt), $0.type, $0.subtype ?? "",
                            $0.refusal.map { "refused: \($0.rawValue)" } ?? $0.outcome?.rawValue ?? "",
                            $0.environment?.rawValue ?? "", $0.transactionID ?? "",
                            $0.originalTransactionID ?? "", $0.notificationID,
                        ]
                    }
                ).text(style) + PageOptions.more("--before", list.next, style)
            }
        }
    }

    struct Transaction: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the redemptions and ledger entries of a store's transaction.",
            discussion: """
                A restored purchase and a subscription's period are found by their original transaction.

                  cornerstore merchant transaction 2000001234567890
                  cornerstore merchant transaction 2000001234567891 --original 2000001234567890 --app com.example.books
                """)

        @Argument(help: "The transaction's id.")
        var id: String
        @Option(help: ArgumentHelp("The id of the original transaction.", valueName: "id"))
        var original: String?
        @Option(
            help: ArgumentHelp("The app. The default is all apps that have products.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (id, original, app) = (id, original, app)
            let report = try await place.withMerchant {
                try await $0.transaction(id, original: original, in: app.map { BundleID($0) })
            }
            try Console.current.report(report, json: output.json) { style in
                guard !report.redemptions.isEmpty else { return "Nobody has redeemed this transaction." }
                var text = Redemptions.table(report.redemptions).text(style)
                guard !report.entries.isEmpty else { return text }
                text += "\n\n"
                text += Table(
                    heading: ["booked", "user", "currency", "kind", "amount", "balance"],
                    rows: report.entries.map {
                        [
                            Moment.text($0.entry.createdAt), $0.userID.rawValue, $0.currency.rawValue,
                            $0.entry.kind.rawValue, "\($0.entry.amount)", "\($0.entry.balance)",
                        ]
                    }
                ).text(style)
                return text
            }
        }
    }
}
