import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MerchantWire
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Methods that a route does not have")
struct OtherMethodsTests {
    @Test func theyAreRefusedWithThoseThatItHas() async throws {
        let router = Router(context: MerchantRequestContext.self)
        for route in MerchantRoute.all {
            let method = try #require(HTTPRequest.Method(rawValue: route.method.rawValue))
            router.on(RouterPath(route.template), method: method) { _, _ in "here" }
        }
        let file = MerchantRoute.contentFile("").template
        router.on(RouterPath(file), method: .head) { _, _ in "" }
        OtherMethodsController().addRoutes(to: router, alsoRouted: [file: [.head]])
        let cases: [(HTTPRequest.Method, String, Int, String?)] = [
            (.get, "/v1/products", 200, nil), (.post, "/v1/products", 405, "GET"),
            (.delete, "/admin/v1/products/a/b", 200, nil), (.patch, "/admin/v1/products/a/b", 405, "PUT, DELETE"),
            (.head, "/v1/content/a/file", 200, nil), (.put, "/v1/content/a/file", 405, "GET, HEAD, POST"),
            (.trace, "/health", 405, "GET"), (.get, "/nowhere", 404, nil),
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
