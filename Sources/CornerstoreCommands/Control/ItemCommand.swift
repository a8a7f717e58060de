import ArgumentParser
import ControlWire
import CornerstoreEncoding
import Foundation
import Store
import StoreWire

/// `cornerstore item`: finds the storefront's items.
struct ItemCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "item",
        abstract: "Find the numbers of apps, songs, films, episodes and books, and count their campaigns.",
        subcommands: [Find.self, Campaigns.self], defaultSubcommand: Find.self)

    struct Find: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Find items by words, by number or by link.",
            discussion: """
                A link may be one of the storefront's or of Apple's stores. Only its number counts.

                  cornerstore item find "example photo"
                  cornerstore item find http://127.0.0.1:8403/us/app/photo/id1000000001
                  cornerstore item find monkeys --country de --json
                """)

        @Argument(help: ArgumentHelp("Words, a number or a link.", valueName: "term|link"))
        var term: String
        @Option(help: ArgumentHelp("The storefront's country, such as de (us).", valueName: "code"))
        var country = "us"
        @Option(help: ArgumentHelp("The most items (20).", valueName: "number"))
        var limit = 20
        @OptionGroup var data: DataOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            guard let storefront = Storefront.withRegion(country.uppercased()) else {
                throw CommandError(
                    .usage, "There is no storefront “\(Style.printable(country))”. Use a code such as us or de.")
            }
            let base = try data.addresses().storefront
            let path: String
            if let link = ItemLink(
                term,
                hosts: [URL(string: base)?.host].reduce(into: []) { hosts, host in
                    if let host { hosts.insert(host) }
                })
            {
                path = "/lookup?id=\(link.number)&entity=\(Self.entities)"
            } else {
                path = "/search?term=\(term.percentEncoded)&entity=\(Self.entities)"
            }
            let answer = try await PlainHTTP.send(
                "GET", "\(base)\(path)&country=\(storefront.regionCode.lowercased())&limit=\(limit)", body: nil,
                limit: 16 << 20)
            guard answer.status == 200, let found = try? JSONDecoder().decode(FoundItems.self, from: answer.body) else {
                throw CommandError(.failed, "\(base) answered HTTP \(answer.status). Check that it is a storefront.")
            }
            let prices = ItemPriceText()
            let rows = found.results.map { FoundItem($0, prices, storefront) }
            try Console.current.report(rows, json: output.json) { style in
                guard !rows.isEmpty else { return "Nothing found in the storefront of \(storefront.countryCode)." }
                return Table(
                    heading: ["number", "kind", "name", "by", "price"],
                    rows: rows.map { [String($0.number), $0.kind, $0.name, $0.by, $0.price ?? ""] }
                ).text(style)
            }
            if rows.isEmpty { throw ExitCode(1) }
        }

        /// The entities of all kinds of items.
        private static let entities = "software,macSoftware,song,album,movie,tvEpisode,tvSeason,ebook"
    }
}

extension ItemCommand {
    struct Campaigns: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List how often campaigns led to an item's page.",
            discussion: """
                A link's parameters at (affiliate), ct (campaign) and pt (provider) are counted by day.
                The list has at most 1,000 rows, the newest days first.

                  cornerstore item campaigns 1400000001
                  cornerstore item campaigns 1400000001 --json
                """)

        @Argument(help: "The item's number.")
        var number: Int64
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let views: [ControlAPI.CampaignViews] = try await control.client().send(.campaigns(item: number))
            try Console.current.report(views, json: output.json) { style in
                guard !views.isEmpty else { return "No campaign has led to this item's page." }
                return Table(
                    heading: ["day", "affiliate", "campaign", "provider", "views"],
                    rows: views.map { row in
                        [
                            row.day, row.affiliate ?? "", row.isRest ? "all others" : row.campaign ?? "",
                            row.provider ?? "", String(row.views),
                        ]
                    }
                ).text(style)
            }
        }
    }
}

/// An answer of `/search` or `/lookup`.
private struct FoundItems: Decodable {
    struct Result: Decodable {
        var wrapperType: String?
        var kind: String?
        var collectionType: String?
        var artistType: String?
        var trackId: Int64?
        var collectionId: Int64?
        var artistId: Int64?
        var trackName: String?
        var collectionName: String?
        var artistName: String
        /// The price of a song, film or episode; negative when it is sold only with its album or season, nil when
        /// not at all.
        var trackPrice: Decimal?
        /// The price of an album or season; negative when it is not sold as a whole.
        var collectionPrice: Decimal?
        /// The price of an app or book.
        var formattedPrice: String?
        var artistLinkUrl: String?
        var trackViewUrl: String?
        var collectionViewUrl: String?
    }

    var results: [Result]
}

/// A row of the command's report.
private struct FoundItem: Encodable {
    var number: Int64
    var kind: String
    var name: String
    var by: String
    var price: String?
    var link: String?

    init(_ result: FoundItems.Result, _ prices: ItemPriceText, _ storefront: Storefront) {
        let amount: Decimal?
        switch result.wrapperType {
        case "artist":
            (number, name) = (result.artistId ?? 0, result.artistName)
            kind = (result.artistType ?? "creator").lowercased()
            by = ""
            amount = nil
        case "collection":
            (number, name) = (result.collectionId ?? 0, result.collectionName ?? "")
            kind = result.collectionType == "Album" ? "album" : "season"
            by = result.artistName
            amount = result.collectionPrice
        default:
            (number, name) = (result.trackId ?? 0, result.trackName ?? "")
            kind = Self.kinds[result.kind ?? ""] ?? "item"
            by = result.artistName
            amount = result.trackPrice
        }
        link = result.artistLinkUrl ?? result.trackViewUrl ?? result.collectionViewUrl
        price =
            result.formattedPrice
            ?? amount.flatMap { Money(decimal: "\($0)", currency: storefront.currency) }
            .map { prices.text($0, in: storefront) }
    }

    private static let kinds = [
        "software": "app", "mac-software": "Mac app", "song": "song", "feature-movie": "film", "tv-episode": "episode",
        "ebook": "book",
    ]
}
