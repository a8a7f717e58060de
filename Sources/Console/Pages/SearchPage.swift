import ConsolePages
import ControlWire
import CornerstoreEncoding
import MerchantWire
import StoreWire

/// One box for identifiers, addresses and names.
enum SearchPage {
    /// The most matches of each kind that the store finds; apps and products count together.
    private static let most = 20

    static let routes = [PageRoute(path: "search", area: .overview, needsStore: false, make: make)]

    @Sendable private static func make(_ request: PageRequest) async throws -> ConsolePage {
        let text = request.filter("q") ?? ""
        var page = ConsolePage(text.isEmpty ? "Search" : "Results for “\(text)”")
        page.frame.term = text
        var section = ConsoleSection("found", "Found")
        var table = ConsoleTable(
            "Matches", [ConsoleColumn("Match"), ConsoleColumn("Kind"), ConsoleColumn("App")],
            nothing: text.isEmpty
                ? "Enter an id, or the beginning of an address or a name."
                : "No id equals this text, and no address or name begins with it.")
        if !text.isEmpty, request.api.hasStore {
            let hits: [ControlAPI.SearchHit] = try await request.api.ask(.search(request.environment, text: text))
            let limited: [Set<ControlAPI.SearchHit.Kind>] = [[.transaction], [.account], [.app, .product]]
            if limited.contains(where: { kinds in hits.count(where: { kinds.contains($0.kind) }) >= most }) {
                section.text = "The search finds at most \(most) of each kind. Type more of the text to find others."
            }
            for hit in request.rows(hits, of: &table, at: "search", in: "found", by: "from", keeping: [("q", text)]) {
                let link: String
                switch hit.kind {
                case .transaction: link = request.link("transactions/\(hit.id.percentEncoded)")
                case .account: link = request.link("customers/\(hit.id.percentEncoded)")
                case .product:
                    link = request.link("products/\((hit.bundleId ?? "").percentEncoded)/\(hit.id.percentEncoded)")
                case .app: link = request.link("products", [("app", hit.id)], keepsApp: false)
                }
                table.add([
                    ConsoleCell(hit.title, link: link), ConsoleCell(hit.kind.rawValue),
                    ConsoleCell(hit.bundleId ?? "—"),
                ])
            }
            page.commands = [ConsoleCode("Control port", request.curl(.search(request.environment, text: text)))]
        }
        // The merchant's matches are on the first page.
        if !text.isEmpty, table.first == nil, request.api.hasMerchant {
            do {
                try await searchMerchant(text, request, &page, &section, &table)
            } catch let problem as APIProblem {
                section.warning = "The merchant could not be searched. \(problem.message)"
                table.nothing = "The store has no match."
            }
        }
        if request.api.hasStore || section.warning == nil { section.table = table }
        page.sections = [section]
        return page
    }

    /// Adds the merchant's users, and without a store its redemptions. The store's page of a transaction has them.
    private static func searchMerchant(
        _ text: String, _ request: PageRequest, _ page: inout ConsolePage, _ section: inout ConsoleSection,
        _ table: inout ConsoleTable
    ) async throws {
        page.commands.append(
            ConsoleCode("Users of the merchant", "cornerstore merchant users \(text.shellWord)"))
        let list: UserList? = try await found(.users(startingWith: text, limit: 10), request)
        for user in list?.users.prefix(10) ?? [] {
            table.add([
                ConsoleCell(user.userID.rawValue, link: request.userLink(user.userID)),
                ConsoleCell("user of the merchant"), ConsoleCell("—"),
            ])
        }
        if list?.next != nil {
            section.links = [
                ConsoleLink("All users of the merchant", request.link("merchant", [("start", text)]) + "#users")
            ]
        }
        guard !request.api.hasStore else { return }
        let report: TransactionReport? = try await found(.transaction(text), request)
        for record in report?.redemptions.prefix(10) ?? [] {
            table.add([
                ConsoleCell(
                    record.transactionID, link: request.link("merchant/transaction", [("id", record.transactionID)])),
                ConsoleCell("transaction"), ConsoleCell(record.productID.rawValue),
            ])
        }
    }

    /// The merchant's answer; nil for a text that is no name or no identifier, which finds nothing.
    private static func found<Answer: Decodable>(
        _ route: MerchantRoute, _ request: PageRequest
    ) async throws -> Answer? {
        do {
            return try await request.api.ask(route, as: Answer.self)
        } catch let problem as APIProblem where [400, 404, 422].contains(problem.status) {
            return nil
        }
    }
}
