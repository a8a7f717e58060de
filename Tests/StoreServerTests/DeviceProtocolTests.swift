import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct DeviceProtocolTests {
    @Test(arguments: Backend.available) func aDeviceBuysAndAMerchantVerifies(_ backend: Backend) async throws {
        try await backend.withServerDatabase { url, prefix async throws in
            try await withServer({
                $0.databaseURL = url
                $0.schemaPrefix = prefix
            }) { server async throws in
                try await Self.journey(server)
            }
        }
    }

    private static func journey(_ server: RunningServer) async throws {
        let session = try await server.signIn()
        let token = session.token
        let account = try await server.device(.account, token: token)
        #expect(try account.decoded(AccountDescription.self) == session.account)
        #expect(session.account.canMakePayments && session.account.storefront.countryCode == "USA")

        let asked = ProductsRequest(
            bundleID: RunningServer.bundleID, productIDs: ["credits5", "nothing", "credits5"], languages: ["en"])
        let products = try await server.device(.products, token: token, body: asked).decoded(ProductsResponse.self)
        #expect(products.products.map(\.productID) == ["credits5"] && products.invalidProductIDs == ["nothing"])

        let request = server.purchase("credits5", quantity: 2)
        let bought = try await server.device(.purchases, token: token, body: request)
        #expect(bought.status == 200 && bought.headers.first(name: "content-type") == "application/json")
        let transaction = try #require(try bought.decoded(PurchaseResponse.self).transaction)
        #expect(try await server.device(.purchases, token: token, body: request).body == bought.body)
        let unfinished = try await server.device(
            .unfinishedTransactions(RunningServer.bundleID, after: nil), token: token)
        #expect(try unfinished.decoded(UnfinishedTransactionsResponse.self).transactions == [transaction])
        let after = try await server.device(
            .unfinishedTransactions(RunningServer.bundleID, after: transaction.transactionID), token: token)
        #expect(try after.decoded(UnfinishedTransactionsResponse.self).transactions.isEmpty)

        let receipt = try await server.device(.appReceipt, token: token, body: RunningServer.receiptRequest)
        #expect(receipt.status == 200 && receipt.headers.first(name: "content-type") == "application/octet-stream")
        let verified = try await server.verify(receipt.body)
        #expect(verified.status == 200 && verified.json["status"] as? Int == 0)
        let inApp = (verified.json["receipt"] as? [String: Any])?["in_app"] as? [[String: Any]]
        #expect(inApp?.map { $0["transaction_id"] as? String } == [transaction.transactionID.description])
        #expect(try await server.verify(receipt.body, .production).text == #"{"status":21007}"#)
        let old = try await server.device(
            .transactionReceipt(transaction.transactionID), token: token, body: RunningServer.receiptRequest)
        #expect(try await server.verify(old.body).json["status"] as? Int == 0)

        #expect(try await server.device(.finish(transaction.transactionID), token: token).status == 204)
        #expect(try await server.device(.finish(transaction.transactionID), token: token).status == 204)
        let rest = try await server.device(.unfinishedTransactions(RunningServer.bundleID, after: nil), token: token)
        #expect(try rest.decoded(UnfinishedTransactionsResponse.self).transactions.isEmpty)
        let emptied = try await server.device(.appReceipt, token: token, body: RunningServer.receiptRequest)
        #expect(
            try await ((server.verify(emptied.body).json["receipt"] as? [String: Any])?["in_app"] as? [Any])?.isEmpty
                == true)

        #expect(try await server.device(.signOut, token: token).status == 204)
        let gone = try await server.device(.account, token: token)
        #expect(gone.status == 401 && gone.code == "not_signed_in")
        #expect(try await server.device(.signOut, token: token).status == 204)
    }

    @Test func everyRouteIsAnsweredWhereTheTableSays() async throws {
        let id = TransactionID(rawValue: 2_000_000_000_000_001)
        // Without a token or a body each says what it lacks; only an address that is not there says "not_found".
        let expected: [(StoreRoute, Int, String?)] = [
            (.signIn, 400, "invalid_request"), (.signOut, 204, nil), (.account, 401, "not_signed_in"),
            (.products, 400, "invalid_request"), (.purchases, 401, "not_signed_in"),
            (.unfinishedTransactions("a b/c?d&é", after: id), 401, "not_signed_in"),
            (.arrivedTransactions("a b/c?d&é", after: id), 401, "not_signed_in"),
            (.news("a b/c?d&é", since: nil, wait: 25), 401, "not_signed_in"),
            (.finish(id), 401, "not_signed_in"), (.restores, 401, "not_signed_in"),
            (.appReceipt, 401, "not_signed_in"), (.transactionReceipt(id), 401, "not_signed_in"),
            (.verifyReceipt, 200, nil),
        ]
        try await withServer { server async throws in
            for environment in StoreEnvironment.allCases {
                for (route, status, code) in expected {
                    let reply = try await server.device(route, environment)
                    #expect(reply.status == status && reply.code == code, "\(route)")
                    // The same path by another method is nothing, but for verifyReceipt.
                    if route == .verifyReceipt { continue }
                    let other = try await server.send("PUT", server.addresses.store(environment) + route.path)
                    #expect(other.status == 404 && other.code == "not_found", "\(route)")
                }
                for path in [
                    "/", "/device/v1", "/device/v1/purchases/", "/control/v1/apps", "/metrics", "/../etc/passwd",
                    "/%00", "//",
                ] {
                    #expect(
                        try await server.send("GET", server.addresses.store(environment) + path).status == 404,
                        "\(path)")
                }
            }
        }
    }

    @Test func aBundleIdentifierOfAnyLettersArrivesWhole() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            for bundleID: BundleID in ["a b/c?d&é", "a+b", "100%", "æ\u{0}", "../.."] {
                let reply = try await server.device(.unfinishedTransactions(bundleID, after: nil), token: token)
                // Not known, so nothing is unfinished in it; a NUL is no text that a database keeps.
                #expect(reply.status == (bundleID == "æ\u{0}" ? 400 : 200), "\(bundleID)")
            }
        }
    }
}
