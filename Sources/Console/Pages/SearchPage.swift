import ConsolePages
import ControlWire
import StoreWire

/// One box for identifiers, addresses and names.
enum SearchPage {
    static let routes = [PageRoute(path: "search", area: .overview, make: make)]

    @Sendable private static func make(_ request: PageRequest) async throws -> ConsolePage {
        let text = request.filter("q") ?? ""
        var page = ConsolePage(text.isEmpty ? "Search" : "Results for “\(text)”")
        page.frame.term = text
        var section = ConsoleSection("found", "Found")
        var table = ConsoleTable(
            "What matches", [ConsoleColumn("What"), ConsoleColumn("Kind"), ConsoleColumn("App")],
            nothing: text.isEmpty
                ? "Type a transaction id, an account id, or the start of an address or a name."
                : "Nothing has this id, and no address or name starts with it.")
        if !text.isEmpty {
            let hits: [ControlAPI.SearchHit] = try await request.api.ask(.search(request.environment, text: text))
            for hit in hits.prefix(50) {
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
        section.table = table
        page.sections = [section]
        return page
    }
}
