import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Refund requests of devices over HTTP", .timeLimit(.minutes(1)))
struct RefundServerTests {
    private func with(
        _ backend: Backend, _ body: @escaping @Sendable (RunningServer) async throws -> Void
    ) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await TemporaryDirectory.with { directory in
                try await RunningServer.with(
                    directory.url,
                    {
                        $0.databaseURL = url
                        $0.schemaPrefix = prefix
                    }, body)
            }
        }
    }

    @Test(arguments: Backend.available) func aDeviceRequestsARefund(_ backend: Backend) async throws {
        try await with(backend) { try await Self.journey($0) }
    }

    private static func journey(_ server: RunningServer) async throws {
        let (app, token) = (RunningServer.bundleID, try await server.signIn().token)
        let bought = try await server.device(.purchases, token: token, body: server.purchase("credits5", quantity: 2))
            .decoded(PurchaseResponse.self)
        let id = try #require(bought.transaction?.transactionID)
        let described = try await server.device(.refundable(id, in: app), token: token)
        #expect(
            try described.decoded(RefundableTransaction.self)
                == RefundableTransaction(productID: "credits5", price: Money(milliunits: 1980, currency: "USD")))

        // Nobody else has it, and nobody without a token has anything.
        let new = #"{"email":"eve@example.com","password":"bananas","storefront":"USA"}"#
        #expect(try await server.control("POST", "/control/v1/sandbox/accounts", new).status == 201)
        let eve = try await server.device(
            .signIn, body: SignInRequest(email: "eve@example.com", password: "bananas", deviceID: UUID())
        ).decoded(SignInResponse.self).token
        let message = RefundRequestMessage(bundleID: app, reason: "UNINTENDED_PURCHASE")
        for (bearer, status, code) in [
            (eve, 404, "unknown_transaction"), (nil, 401, "not_signed_in"), ("x", 401, "not_signed_in"),
        ] as [(String?, Int, String)] {
            for reply in [
                try await server.device(.refundable(id, in: app), token: bearer),
                try await server.device(.requestRefund(id), token: bearer, body: message),
            ] {
                #expect(reply.status == status && reply.code == code, "\(reply.text)")
            }
        }
        for body in [
            RefundRequestMessage(bundleID: app, reason: "unintended_purchase"),
            RefundRequestMessage(bundleID: app, reason: ""),
        ] {
            let reply = try await server.device(.requestRefund(id), token: token, body: body)
            #expect(reply.status == 400 && reply.code == "invalid_request")
        }
        let other = RefundRequestMessage(bundleID: "com.example.other\u{0}", reason: "OTHER")
        #expect(try await server.device(.requestRefund(id), token: token, body: other).status == 404)
        let base = server.addresses.store(.sandbox) + "/device/v1/transactions"
        for (method, path, body) in [
            ("GET", "/\(id)/refund", nil), ("GET", "/x/refund?bundle=\(app)", nil),
            ("POST", "/\(id)/refund", "{}"), ("POST", "/\(id)/refund", String(repeating: " ", count: 17 << 10)),
        ] as [(String, String, String?)] {
            let reply = try await server.send(method, base + path, token: token, body: body.map { Array($0.utf8) })
            #expect([400, 413].contains(reply.status), "\(method) \(path)")
        }

        #expect(try await server.device(.requestRefund(id), token: token, body: message).status == 204)
        for reply in [
            try await server.device(.requestRefund(id), token: token, body: message),
            try await server.device(.refundable(id, in: app), token: token),
        ] {
            #expect(reply.status == 409 && reply.code == "refund_requested", "\(reply.text)")
        }
        let route = ControlRoute.refundRequests(.list(.sandbox))
        let listed = try await server.control("GET", route.path)
            .decoded(ControlAPI.Page<ControlAPI.RefundRequest>.self).rows
        #expect(listed.map(\.reason) == ["UNINTENDED_PURCHASE"])
        let made = try #require(listed.first)
        #expect(made.transactionId == id.description && made.state == "waiting")
        #expect(made.price == "1.98" && made.currency == "USD")
    }
}
