import ControlWire
import Foundation
import StoreWire
import Testing

@testable import StoreServer

@Suite("The control port's route table", .timeLimit(.minutes(1)))
struct ControlRouteTests {
    private static func line(_ route: ControlRoute) -> String { "\(route.method.rawValue) \(route.template)" }

    @Test func theServerRoutesTheTableAndNothingElse() async throws {
        try await withServer { server async throws in
            let application = server.application
            let router = application.controlRouter(isGuarded: true)
            #expect(router.routes.map(\.description).sorted() == ControlRoute.all.map(Self.line).sorted())
        }
    }

    @Test func noTwoRoutesAreTheSame() {
        #expect(Set(ControlRoute.all.map(Self.line)).count == ControlRoute.all.count)
    }

    /// In the page, `…` stands for the prefix of one environment, and a method without a path has the next path.
    @Test func thePageHasTheTableAndNothingElse() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Documentation")
            .appending(path: "ControlPort.md").standardizedFileURL
        var found: [String] = []
        for row in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") where row.hasPrefix("| `") {
            let cell = row.split(separator: "|")[0]
            var methods: [String] = []
            for span in cell.matches(of: /`([A-Z]+)(?: ([^`]+))?`/) {
                methods.append(String(span.1))
                guard let path = span.2 else { continue }
                let whole = path.replacing("…", with: "/control/v1/{environment}")
                found += methods.map { "\($0) \(whole)" }
                methods = []
            }
            #expect(methods.isEmpty, "\(row)")
        }
        let published = ControlRoute.all.map { route in
            let query = route.queryNames.map { "\($0)=" }.joined(separator: "&")
            return Self.line(route) + (query.isEmpty ? "" : "?" + query)
        }
        #expect(found.sorted() == published.sorted())
    }

    @Test(arguments: ControlRoute.all)
    func everyNameInAPathIsAParameter(route: ControlRoute) {
        for name in route.template.matches(of: /\{([a-z]+)\}/).map({ String($0.1) }) {
            #expect(ControlRoute.Parameter(rawValue: name) != nil, "\(name)")
        }
        #expect(!route.path.contains("{"))
    }

    @Test(arguments: ["anna@example.com", "a/../b", "a%2Fb", "a b&c=d#e?f", "é", "😀"])
    func aValueReachesTheServerWhole(text: String) throws {
        let path = try #require(URLComponents(string: ControlRoute.changeAccount(.production, email: text).path))
        #expect(path.percentEncodedPath.split(separator: "/").count == 5)
        #expect(path.percentEncodedPath.split(separator: "/").last?.removingPercentEncoding == text)
        let route = ControlRoute.transactions(.sandbox, LedgerFilter(bundle: text, account: text), limit: 7)
        let query = try #require(URLComponents(string: route.path))
        #expect(query.path == "/control/v1/sandbox/transactions" && query.fragment == nil)
        #expect(
            query.queryItems == [
                URLQueryItem(name: "bundle", value: text), URLQueryItem(name: "account", value: text),
                URLQueryItem(name: "limit", value: "7"),
            ])
    }

    @Test func parametersThatAreNilAreLeftOut() {
        #expect(ControlRoute.accounts(.production).path == "/control/v1/production/accounts")
        #expect(ControlRoute.sheet(.outcome("7", wait: nil)).path == "/control/v1/sheets/7/answer")
        #expect(ControlRoute.sheet(.outcome("7", wait: 25)).path == "/control/v1/sheets/7/answer?wait=25")
        #expect(ControlRoute.sheet(.page("7")).path == "/sheets/7")
        #expect(ControlRoute.sheet(.asset("a b.css")).path == "/assets/a%20b.css")
    }
}
