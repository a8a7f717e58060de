import ArgumentParser
import ControlWire
import StoreReceipts
import StoreWire

/// `cornerstore offer-code`: creates, lists and deactivates codes for offers of subscriptions.
struct OfferCodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offer-code",
        abstract: "Create, list and deactivate codes for offers of subscriptions.",
        discussion: """
            The catalog lists the offers (codeOffers). A customer redeems one code of an offer, in an app with \
            presentCodeRedemptionSheet() or with “cornerstore redeem”.

              cornerstore offer-code create-batch com.example.club.monthly --offer Spring --count 500 > spring.txt
              cornerstore offer-code create-custom com.example.club.monthly SPRING26 --offer Spring --limit 1000
              cornerstore offer-code list
              cornerstore offer-code show 019c1f0e-6a2b-7d11-9c55-0c7e5a1f9b20 --codes
              cornerstore offer-code deactivate 019c1f0e-6a2b-7d11-9c55-0c7e5a1f9b20
            """,
        subcommands: [List.self, CreateBatch.self, CreateCustom.self, Show.self, Deactivate.self],
        defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// All one-time codes of a batch.
        func codes(of batch: ControlAPI.OfferCodeBatch) async throws -> [ControlAPI.OfferCode] {
            guard batch.customCode == nil else { return [] }
            let client = try control.client()
            var codes: [ControlAPI.OfferCode] = []
            var next: String?
            repeat {
                let page: ControlAPI.Page<ControlAPI.OfferCode> = try await client.send(
                    .offerCodesOfBatch(environment.environment, id: batch.batchId, after: next))
                codes += page.rows
                next = page.next
            } while next != nil
            return codes
        }

        static func text(_ batches: [ControlAPI.OfferCodeBatch], _ style: Style) -> String {
            let rows = batches.map {
                [
                    $0.batchId, $0.productId, $0.offer, $0.customCode ?? "one-time codes",
                    "\($0.redeemed) of \($0.count)", $0.expiresDate ?? "never", $0.isActive ? "yes" : "no",
                ]
            }
            return Table(
                heading: ["id", "product", "offer", "code", "redeemed", "expires", "active"], rows: rows
            ).text(style)
        }
    }

    /// The options that name an offer.
    struct Offer: ParsableArguments {
        @Option(help: ArgumentHelp("The reference name of the offer.", valueName: "name"))
        var offer: String
        @Option(help: ArgumentHelp("When the codes expire, in ISO 8601. The default is never.", valueName: "date"))
        var expires: String?
        @Option(
            help: ArgumentHelp(
                "The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
        var app: String?

        func validate() throws {
            guard let expires else { return }
            guard ReceiptDate(rfc3339: expires.utf8) != nil else {
                throw ValidationError(
                    "“\(Style.printable(expires))” is not a valid date. Use ISO 8601, such as 2027-01-31T12:00:00Z.")
            }
        }

        /// Creates the codes.
        func create(
            _ product: String, custom: String?, count: Int, _ options: Options
        ) async throws -> ControlAPI.OfferCodeBatch {
            let client = try options.control.client()
            let bundleID = try await AppSelection.bundleID(of: product, app: app, client)
            return try await client.send(
                .createOfferCodes(options.environment.environment),
                ControlAPI.NewOfferCodes(
                    bundleId: bundleID, productId: product, offer: offer, customCode: custom, count: count,
                    expiresDate: expires))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the newest 1,000 batches and custom codes, newest first.")
        @OptionGroup var options: Options

        func run() async throws {
            let batches: [ControlAPI.OfferCodeBatch] = try await options.control.client().send(
                .offerCodes(options.environment.environment))
            try Console.current.report(batches, json: options.output.json) { style in
                batches.isEmpty ? "No offer codes." : Options.text(batches, style)
            }
        }
    }

    struct CreateBatch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a batch of one-time codes, and print them, one in each line.",
            discussion: """
                A batch has 500 to 25,000 codes, in the sandbox 1 to 10,000.
                """)
        @Argument(help: "The subscription's identifier.")
        var product: String
        @Option(help: "The number of codes.")
        var count: Int
        @OptionGroup var offer: Offer
        @OptionGroup var options: Options

        func run() async throws {
            let batch = try await offer.create(product, custom: nil, count: count, options)
            let report = Report(batch: batch, codes: try await options.codes(of: batch))
            try Console.current.report(report, json: options.output.json) { _ in report.lines }
        }
    }

    struct CreateCustom: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a custom code, which many customers can redeem.")
        @Argument(help: "The subscription's identifier.")
        var product: String
        @Argument(help: "The code: up to 64 letters of A to Z and digits.")
        var code: String
        @Option(help: "How often the code can be redeemed.")
        var limit: Int
        @OptionGroup var offer: Offer
        @OptionGroup var options: Options

        func run() async throws {
            let batch = try await offer.create(product, custom: code, count: limit, options)
            try Console.current.report(batch, json: options.output.json) { Options.text([batch], $0) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a batch or a custom code.")
        @Argument(help: "The id.")
        var id: String
        @Flag(help: "Print the one-time codes instead, one in each line.")
        var codes = false
        @OptionGroup var options: Options

        func run() async throws {
            let batch: ControlAPI.OfferCodeBatch = try await options.control.client().send(
                .offerCodeBatch(options.environment.environment, id: id))
            guard codes else {
                return try Console.current.report(batch, json: options.output.json) { Options.text([batch], $0) }
            }
            let report = Report(batch: batch, codes: try await options.codes(of: batch))
            try Console.current.report(report, json: options.output.json) { _ in report.lines }
        }
    }

    struct Deactivate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deactivate a batch or a custom code. Earlier redemptions stay valid.")
        @Argument(help: "The id.")
        var id: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            try await control.client().perform(.deactivateOfferCodes(environment.environment, id: id))
            Console.current.print(Console.current.style.good("Deactivated."))
        }
    }

    /// A batch with its codes.
    private struct Report: Codable {
        var batch: ControlAPI.OfferCodeBatch
        var codes: [ControlAPI.OfferCode]

        var lines: String { codes.isEmpty ? batch.customCode ?? "" : codes.map(\.code).joined(separator: "\n") }
    }
}
