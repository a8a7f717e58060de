import Foundation
import StoreWire
import Testing

@Suite("Both ends agree on every route", .timeLimit(.minutes(1)))
struct StoreRouteTests {
    static let id = TransactionID(rawValue: 2_000_000_123_456_789)

    static let all: [StoreRoute] = [
        .signIn, .signOut, .account, .products, .purchases, .unfinishedTransactions("com.example.app", after: nil),
        .unfinishedTransactions("com.example.app", after: id), .arrivedTransactions("com.example.app", after: id),
        .news("com.example.app", since: NewsMarks(transactions: "1.7", notices: "0..USA"), wait: 25),
        .finish(id), .restores, .appReceipt,
        .transactionReceipt(id), .verifyReceipt,
        .notices("com.example.app", after: 7, languages: ["en_US", "zh-Hant"]), .promotions, .priceConsents,
        .redemptions, .content(id), .review("com.example.app"), .writeReview, .openVisit,
        .visit("\(id)", wait: nil), .visit("\(id)", wait: 25), .library(after: nil), .library(after: id), .buyItem,
        .reviewVisit("\(id)"), .itemFile(id.rawValue), .subscriptions(nil, after: nil),
        .subscriptions("com.example.app", after: id), .setRenewal(id), .changePlan(id), .openSubscriptions,
        .refundable(id, in: "com.example.app"), .requestRefund(id),
    ]

    /// Written out once more: what is published cannot be changed by accident. A new case does not compile until it
    /// stands here.
    static func published(_ route: StoreRoute) -> (line: String, path: String) {
        switch route {
        case .signIn: ("POST /device/v1/session", "/device/v1/session")
        case .signOut: ("DELETE /device/v1/session", "/device/v1/session")
        case .account: ("GET /device/v1/account", "/device/v1/account")
        case .products: ("POST /device/v1/products", "/device/v1/products")
        case .purchases: ("POST /device/v1/purchases", "/device/v1/purchases")
        case .unfinishedTransactions(_, let after):
            (
                "GET /device/v1/transactions/unfinished",
                "/device/v1/transactions/unfinished?bundle=com.example.app"
                    + (after == nil ? "" : "&after=2000000123456789")
            )
        case .arrivedTransactions:
            (
                "GET /device/v1/transactions/arrived",
                "/device/v1/transactions/arrived?bundle=com.example.app&after=2000000123456789"
            )
        case .news:
            (
                "GET /device/v1/news",
                "/device/v1/news?bundle=com.example.app&transactions=1.7&notices=0..USA&wait=25"
            )
        case .finish:
            ("POST /device/v1/transactions/{id}/finish", "/device/v1/transactions/2000000123456789/finish")
        case .restores: ("POST /device/v1/restores", "/device/v1/restores")
        case .appReceipt: ("POST /device/v1/receipt", "/device/v1/receipt")
        case .transactionReceipt:
            ("POST /device/v1/transactions/{id}/receipt", "/device/v1/transactions/2000000123456789/receipt")
        case .verifyReceipt: ("POST /verifyReceipt", "/verifyReceipt")
        case .notices:
            (
                "GET /device/v1/notices",
                "/device/v1/notices?bundle=com.example.app&after=7&languages=en_US,zh-Hant"
            )
        case .promotions: ("POST /device/v1/promotions", "/device/v1/promotions")
        case .priceConsents: ("POST /device/v1/price-consents", "/device/v1/price-consents")
        case .redemptions: ("POST /device/v1/redemptions", "/device/v1/redemptions")
        case .review: ("GET /device/v1/review", "/device/v1/review?bundle=com.example.app")
        case .writeReview: ("POST /device/v1/review", "/device/v1/review")
        case .openVisit: ("POST /device/v1/visits", "/device/v1/visits")
        case .visit(_, let wait):
            ("GET /device/v1/visits/{id}", "/device/v1/visits/2000000123456789" + (wait == nil ? "" : "?wait=25"))
        case .reviewVisit:
            ("POST /device/v1/visits/{id}/review", "/device/v1/visits/2000000123456789/review")
        case .library(let after):
            ("GET /device/v1/items", "/device/v1/items" + (after == nil ? "" : "?after=2000000123456789"))
        case .buyItem: ("POST /device/v1/items", "/device/v1/items")
        case .itemFile: ("POST /device/v1/items/{id}/file", "/device/v1/items/2000000123456789/file")
        case .subscriptions(_, let after):
            (
                "GET /device/v1/subscriptions",
                "/device/v1/subscriptions" + (after == nil ? "" : "?bundle=com.example.app&after=2000000123456789")
            )
        case .setRenewal:
            ("POST /device/v1/subscriptions/{id}/renewal", "/device/v1/subscriptions/2000000123456789/renewal")
        case .changePlan:
            ("POST /device/v1/subscriptions/{id}/plan", "/device/v1/subscriptions/2000000123456789/plan")
        case .refundable:
            (
                "GET /device/v1/transactions/{id}/refund",
                "/device/v1/transactions/2000000123456789/refund?bundle=com.example.app"
            )
        case .requestRefund:
            ("POST /device/v1/transactions/{id}/refund", "/device/v1/transactions/2000000123456789/refund")
        case .openSubscriptions: ("POST /device/v1/subscriptions/page", "/device/v1/subscriptions/page")
        case .content:
            ("POST /device/v1/transactions/{id}/content", "/device/v1/transactions/2000000123456789/content")
        }
    }

    @Test(arguments: all)
    func isAsPublished(route: StoreRoute) {
        let published = Self.published(route)
        #expect("\(route.method.rawValue) \(route.template)" == published.line)
        #expect(route.path == published.path)
    }

    /// The server routes by the template's segments: the client's path has to fall into it, with the id where `{id}`
    /// stands.
    @Test(arguments: all)
    func thePathFallsIntoTheTemplate(route: StoreRoute) throws {
        let path = try #require(URLComponents(string: route.path)?.percentEncodedPath)
        let asked = path.split(separator: "/", omittingEmptySubsequences: false)
        let routed = route.template.split(separator: "/", omittingEmptySubsequences: false)
        #expect(asked.count == routed.count)
        for (segment, pattern) in zip(asked, routed) {
            if pattern == "{id}" { #expect(TransactionID(segment) == Self.id) } else { #expect(segment == pattern) }
        }
        #expect(!path.contains("{"))
    }

    @Test func noTwoRoutesShareAMethodAndTemplate() {
        let lines = Set(Self.all.map { Self.published($0).line })
        // The lists of unfinished transactions, items and subscriptions, and a visit, stand there twice, with and
        // without a query.
        #expect(lines.count == Self.all.count - 4)
    }

    @Test(arguments: [
        "com.example.app", "a b", "a&after=1", "a=b", "a#b", "a?b", "a/../b", "a%20b", "a+b", "é", "日本", "😀", "\u{1}",
        "", "~-._",
    ])
    func aBundleIDReachesTheServerWhole(text: String) throws {
        let path = StoreRoute.unfinishedTransactions(BundleID(text), after: Self.id).path
        #expect(path.utf8.allSatisfy { (0x21...0x7E).contains($0) })
        let components = try #require(URLComponents(string: path))
        #expect(components.path == "/device/v1/transactions/unfinished")
        #expect(components.fragment == nil)
        let query = try #require(components.queryItems)
        #expect(
            query == [
                URLQueryItem(name: "bundle", value: text), URLQueryItem(name: "after", value: Self.id.description),
            ])
    }

    @Test func onlyUnreservedCharactersStayUnescaped() {
        for byte in UInt8(0x21)...0x7E {
            let text = String(UnicodeScalar(byte))
            let query =
                StoreRoute.unfinishedTransactions(BundleID(text), after: nil).path.split(separator: "=").last ?? ""
            let isUnreserved = text.contains(/[A-Za-z0-9\-._~]/)
            #expect(query == (isUnreserved ? text : "%" + String(byte, radix: 16, uppercase: true)))
        }
    }
}
