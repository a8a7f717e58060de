import HTTPSupport
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MerchantWire
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Methods that a route does not have", .timeLimit(.minutes(1)))
struct OtherMethodsTests {
    @Test func theyAreRefusedWithThoseThatItHas() async throws {
        let file = MerchantRoute.contentFile("").template
        let router = Router(context: MerchantRequestContext.self)
        router.add(middleware: ProblemMiddleware(HTTPProblem.merchant))
        router.add(middleware: OtherMethodsMiddleware(alsoRouted: [file: [.head]]))
        for route in MerchantRoute.all {
            let method = try #require(HTTPRequest.Method(rawValue: route.method.rawValue))
            router.on(RouterPath(route.template), method: method) { _, _ in "here" }
        }
        router.on(RouterPath(file), method: .head) { _, _ in "" }
        let cases: [(HTTPRequest.Method, String, Int, String?)] = [
            (.get, "/v1/products", 200, nil), (.post, "/v1/products", 405, "GET"),
            (.delete, "/admin/v1/products/a/b", 200, nil), (.patch, "/admin/v1/products/a/b", 405, "DELETE, PUT"),
            (.head, "/v1/content/a/file", 200, nil), (.put, "/v1/content/a/file", 405, "GET, HEAD, POST"),
            (.trace, "/health", 405, "GET"), (.get, "/nowhere", 404, nil),
            (try #require(HTTPRequest.Method(rawValue: "QUERY")), "/v1/balances", 405, "GET"),
            (.post, "/v1/content/a", 405, "GET"), (.post, "/v1/content/a/file/more", 404, nil),
        ]
        try await Application(router: router, logger: .silent).test(.router) { client in
            for (method, path, status, allow) in cases {
                try await client.execute(uri: path, method: method) { response in
                    #expect(response.status.code == status, "\(method) \(path)")
                    #expect(response.headers[.allow] == allow)
                }
            }
        }
    }
}
