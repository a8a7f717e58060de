import Foundation
import Hummingbird
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

/// Serves a ``FakeStore`` over HTTP on a free port.
func withServer(_ store: FakeStore, _ body: @escaping @Sendable (URL) async throws -> Void) async throws {
    let router = Router()
    let routes: [StoreRoute] = [.signIn, .products, .purchases, .appReceipt, .restores]
    for route in routes {
        router.on(RouterPath(route.template), method: .init(route.method.rawValue) ?? .get) { request, _ in
            try await respond(store, route, request)
        }
    }
    router.get("/device/v1/transactions/unfinished") { request, _ in
        let after = request.uri.queryParameters["after"].flatMap { TransactionID($0) }
        return try await respond(store, .unfinishedTransactions("com.example.monkeys", after: after), request)
    }
    router.post("/device/v1/transactions/:id/finish") { request, context in
        try await respond(
            store, .finish(TransactionID(try context.parameters.require("id")) ?? TransactionID(rawValue: 0)), request)
    }
    router.post("/device/v1/transactions/:id/receipt") { request, context in
        try await respond(
            store,
            .transactionReceipt(TransactionID(try context.parameters.require("id")) ?? TransactionID(rawValue: 0)),
            request)
    }
    try await LoopbackServer.with(router, body)
}

private func respond(_ store: FakeStore, _ route: StoreRoute, _ request: Request) async throws -> Response {
    let body = try await request.body.collect(upTo: StoreLimits.deviceRequest)
    let token = request.headers[.authorization].map { String($0.dropFirst("Bearer ".count)) }
    let answer = try await store.send(
        StoreTransportRequest(route: route, body: body.readableBytes > 0 ? Data(buffer: body) : nil, token: token))
    return Response(status: .init(code: answer.status), body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
}

@Suite("Over HTTP", .timeLimit(.minutes(1)))
struct HTTPTransportTests {
    @Test func `a purchase goes through sockets as it does without`() async throws {
        let device = try TestDevice()
        try await withServer(device.store) { url in
            var configuration = device.configuration()
            configuration.store = url
            let transport = try #require(HTTPTransport(store: url))
            let engine = device.launch(configuration, transport: transport)
            let queue = SKPaymentQueue(engine: engine)
            let observer = GrantBook().observer()
            queue.add(observer)
            queue.add(payment(quantity: 2))
            await observer.wait(count: 3)
            #expect(device.store.finished.count == 1)
            #expect(device.store.change { $0.vendors } == [try DeviceFolder(device.folder).vendorIdentifier])
            await engine.stop()
        }
    }

    @Test func `a port without a server is unreachable`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let transport = try #require(HTTPTransport(store: url))
        await #expect(throws: StoreFailure.unreachable) {
            _ = try await StoreClient(transport: transport).products(
                ProductsRequest(bundleID: "a", productIDs: [], languages: []), token: nil)
        }
    }

    @Test(arguments: ["ftp://a", "file:///etc", "http://", "http://user:pass@a", "http://a?b", "nonsense"])
    func `other addresses are refused`(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(HTTPTransport(store: url) == nil)
    }
}
