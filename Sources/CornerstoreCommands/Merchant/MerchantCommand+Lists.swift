import ArgumentParser
import Merchant
import MerchantWire

extension MerchantCommand {
    /// The options of a list that is shown a page at a time.
    struct PageOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The number of rows, up to \(MerchantLimits.page).", valueName: "number"))
        var limit = MerchantLimits.usualPage

        func validate() throws {
            guard (1...MerchantLimits.page).contains(limit) else {
                throw ValidationError("--limit must be a number from 1 to \(MerchantLimits.page).")
            }
        }

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
            abstract: "List the purchases that users have redeemed, the last redeemed first.",
            discussion: """
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
                try await $0.redemptions(of: user.map { UserID($0) }, before: before, limit: limit)
            }
            try Console.current.report(list, json: output.json) { style in
                guard !list.redemptions.isEmpty else { return "No redeemed purchases." }
                return Table(
                    heading: ["redeemed", "user", "product", "quantity", "state", "ends", "purchase"],
                    rows: list.redemptions.map {
                        [
                            Moment.text($0.redeemedAt), $0.userID.rawValue, $0.productID.rawValue, "\($0.quantity)",
                            $0.state.rawValue, $0.expiresAt.map(Moment.text) ?? "", $0.purchase,
                        ]
                    }
                ).text(style) + PageOptions.more("--before", list.next, style)
            }
        }
    }
}
