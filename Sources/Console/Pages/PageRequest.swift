import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import MerchantWire
import StoreWire

/// A request for a page, with what every page needs.
struct PageRequest: Sendable {
    var environment: StoreEnvironment
    /// The values of the parameters in the path.
    var parameters: [String: String]
    /// The query of the address; empty when the page is shown again after a refused form.
    var query: QueryParameters
    /// The values of the form that was refused; empty when the page is not shown again.
    var refused = QueryParameters([:])
    /// The API that the console calls.
    var api: ConsoleAPI
    /// The store's clock.
    var clock: ControlAPI.Clock
    /// The apps of the store.
    var apps: [ControlAPI.App]
    /// The memory that all requests share.
    var memory: ConsoleMemory

    /// The app to show; nil for all.
    var app: String? { query["app"].flatMap { name in apps.first { $0.bundleId == name }?.bundleId } }

    /// A parameter of the path.
    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// The trimmed text of a filter; nil when it is empty.
    func filter(_ name: String) -> String? {
        query[name]?.trimmingCharacters(in: .whitespacesAndNewlines).prefix(200).nonEmpty
    }

    /// The number of rows before a page of a list: a filter's number, 0 to a million.
    func offset(_ name: String) -> Int { filter(name).flatMap { Int($0) }.map { min(max(0, $0), 1_000_000) } ?? 0 }

    /// The number of rows before a page of a list that the API gives whole. Beyond the list, it is the last page.
    func offset(_ name: String, in count: Int) -> Int { min(offset(name), max(0, count - 1) / 50 * 50) }

    /// The rows of a page of a list that the API gives whole, at most 50. The table gets the links to the other pages.
    /// - Parameters:
    ///   - path: the page's path, without the environment.
    ///   - section: the section of the table.
    ///   - name: the filter that has the number of rows before.
    ///   - kept: the other filters, which the links keep.
    func rows<Row>(
        _ all: [Row], of table: inout ConsoleTable, at path: String, in section: String, by name: String,
        keeping kept: [(String, String?)] = []
    ) -> ArraySlice<Row> {
        let from = offset(name, in: all.count)
        if all.count > from + 50 { table.next = link(path, kept + [(name, "\(from + 50)")]) + "#" + section }
        if from > 0 { table.first = link(path, kept) + "#" + section }
        (table.firstLabel, table.nextLabel) = ("First", "More")
        return all.dropFirst(from).prefix(50)
    }

    /// The address of a page of this environment, with the app's filter.
    /// - Parameter path: percent-encoded, without the environment.
    func link(_ path: String, _ pairs: [(String, String?)] = [], keepsApp: Bool = true) -> String {
        let all = (keepsApp ? [("app", app)] : []) + pairs
        let text = all.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }.joined(separator: "&")
        return action(path) + (text.isEmpty ? "" : "?" + text)
    }

    /// The address that a form of this environment is sent to.
    func action(_ path: String) -> String { "/\(environment.name)" + (path.isEmpty ? "" : "/" + path) }

    /// The option of a command that names production.
    var flag: String { environment == .production ? " --environment production" : "" }

    /// The first product as a word of a command.
    var firstProduct: String { (apps.lazy.flatMap(\.productIds).first ?? "PRODUCT").shellWord }

    /// The command that buys.
    /// - Parameters:
    ///   - product: the product as a word of a command; nil for the first one.
    ///   - account: the customer's address; nil for the tester.
    func buyCommand(_ product: String? = nil, account: String? = nil) -> String {
        "cornerstore buy \(product ?? firstProduct)" + (account.map { " --account \($0.shellWord)" } ?? "") + flag
    }

    /// The `curl` line of a request to the control port.
    func curl(_ route: ControlRoute, _ body: String? = nil) -> String {
        Self.curl(route.method, api.backends.addresses.base("control") + route.path, body)
    }

    /// The `curl` line of a `GET` to the merchant's admin API. The shell's variable `KEY` has the API key; the shell
    /// replaces it in double quotes only.
    func merchantCurl(_ route: MerchantRoute) -> String {
        "curl -sS -H \"Authorization: Bearer $KEY\" '\(api.backends.addresses.base("merchant"))\(route.path)'"
    }

    static func curl(_ method: RouteMethod, _ url: String, _ body: String?) -> String {
        var line = "curl -sS"
        if method != .get { line += " -X \(method.rawValue)" }
        if let body { line += " -H 'Content-Type: application/json' -d '\(body.replacing("'", with: "'\\''"))'" }
        return line + " '\(url)'"
    }
}

extension StringProtocol {
    /// The text; nil when it is empty.
    var nonEmpty: String? { isEmpty ? nil : String(self) }
}
