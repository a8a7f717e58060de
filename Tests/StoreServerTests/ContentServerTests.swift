import Crypto
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Hosted content over HTTP", .timeLimit(.minutes(1))) struct ContentServerTests {
    @Test func itIsUploadedReviewedBoughtAndDownloadedInParts() async throws {
        try await withServer { server async throws in
            try await server.host("hats")
            let first = try SamplePackage("hats", "1.0", size: 700_000)
            let version = try await server.upload(first)
            #expect(version.state == "READY_TO_SUBMIT" && version.version == "1.0")
            #expect(version.history.map(\.state) == ["WAITING_FOR_UPLOAD", "PROCESSING_CONTENT", "READY_TO_SUBMIT"])

            // The sandbox tests what is in order; production sells what is approved.
            let token = try await server.signIn().token
            let products = ProductsRequest(
                bundleID: RunningServer.bundleID, productIDs: ["hats", "credits5"], languages: [])
            func content(_ environment: StoreEnvironment) async throws -> [HostedContent?] {
                try await server.device(.products, environment, body: products).decoded(ProductsResponse.self).products
                    .map(\.content)
            }
            let length = Int64(first.bytes.count)
            #expect(try await content(.sandbox) == [HostedContent(version: "1.0", lengths: [length]), nil])
            #expect(try await content(.production) == [nil, nil])
            #expect(try await server.step(version, "submit").state == "WAITING_FOR_REVIEW")
            #expect(try await server.step(version, "approve").state == "APPROVED")
            #expect(try await content(.production) == [HostedContent(version: "1.0", lengths: [length]), nil])

            let purchase = try await server.device(.purchases, token: token, body: server.purchase("hats"))
                .decoded(PurchaseResponse.self)
            let bought = try #require(purchase.transaction)
            #expect(bought.content == HostedContent(version: "1.0", lengths: [length]))
            let unfinished = try await server.device(
                .unfinishedTransactions(RunningServer.bundleID, after: nil), token: token
            ).decoded(UnfinishedTransactionsResponse.self)
            #expect(unfinished.transactions.map(\.content) == [bought.content])
            let request = ContentRequest(bundleID: RunningServer.bundleID, version: nil)
            let grant = try await server.device(.content(bought.transactionID), token: token, body: request)
                .decoded(ContentGrant.self)
            #expect(grant.contentID == "hats" && grant.version == "1.0" && grant.length == length)
            #expect(grant.sha256 == first.sha256)

            let whole = try await server.download(grant)
            #expect(whole.status == 200 && whole.body == first.bytes)
            #expect(whole.headers.first(name: "etag") == "\"\(first.sha256)\"")
            #expect(whole.headers.first(name: "accept-ranges") == "bytes")
            #expect(whole.headers.first(name: "repr-digest") == "sha-256=:\(first.base64):")
            let etag = "\"\(first.sha256)\""
            let count = first.bytes.count
            let parts: [(String, String?, Int, Range<Int>?)] = [
                ("bytes=0-0", nil, 206, 0..<1), ("bytes=1000-", etag, 206, 1000..<count),
                ("bytes=-5", nil, 206, (count - 5)..<count),
                ("bytes=\(count - 1)-\(count * 2)", nil, 206, (count - 1)..<count),
                ("bytes=-\(count * 2)", nil, 206, 0..<count), ("bytes=\(count)-", nil, 416, nil),
                ("bytes=-0", nil, 416, nil),
                ("bytes=5-4", nil, 200, 0..<count), ("bytes=0-1,5-6", nil, 200, 0..<count),
                ("bytes=a-", nil, 200, 0..<count), ("lines=0-1", nil, 200, 0..<count),
                ("bytes=1000-", "\"other\"", 200, 0..<count), ("bytes=1000-", "W/\(etag)", 200, 0..<count),
                ("bytes=99999999999999999999-", nil, 200, 0..<count),
            ]
            for (range, ifRange, status, bytes) in parts {
                let reply = try await server.download(
                    grant, headers: [("Range", range)] + (ifRange.map { [("If-Range", $0)] } ?? []))
                #expect(reply.status == status, "\(range)")
                #expect(reply.body == Array(bytes.map { first.bytes[$0] } ?? []), "\(range)")
                if status == 206, let bytes {
                    #expect(
                        reply.headers.first(name: "content-range")
                            == "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(count)")
                }
                if status == 416 { #expect(reply.headers.first(name: "content-range") == "bytes */\(count)") }
            }

            // Of a HEAD, Range means nothing (RFC 9110, section 14.2).
            for range in ["bytes=0-0", "bytes=\(count)-"] {
                let reply = try await server.send(
                    "HEAD", server.addresses.sandbox + grant.url, headers: [("Range", range)])
                #expect(reply.status == 200 && reply.headers.first(name: "content-length") == "\(count)", "\(range)")
                #expect(!reply.headers.contains(name: "content-range") && reply.body.isEmpty)
            }

            // A finished transaction gives nothing more; restored, it does.
            #expect(try await server.device(.finish(bought.transactionID), token: token).status == 204)
            let finished = try await server.device(.content(bought.transactionID), token: token, body: request)
            #expect(finished.status == 409 && finished.code == "wrong_state")
            let restore = RestoreRequest(
                idempotencyKey: UUID(), bundleID: RunningServer.bundleID, deviceID: RunningServer.device,
                applicationUsername: nil, after: nil)
            let restored = try await server.device(.restores, token: token, body: restore).decoded(RestoreResponse.self)
            #expect(restored.transactions.map(\.content) == [bought.content])
            let again = try #require(restored.transactions.first?.transactionID)
            #expect(try await server.device(.content(again), token: token, body: request).status == 200)
        }
    }

    @Test func anAddressIsGoodForItsTimeItsStoreAndItsBytesAlone() async throws {
        try await withServer { server async throws in
            _ = try await server.control("PUT", "/control/v1/sandbox/clock", #"{"freeze":true}"#)
            let (grant, transactionID, _) = try await server.boughtContent()
            for (from, to) in [
                ("transaction=\(transactionID)", "transaction=7"),
                ("expires=\(grant.expires)", "expires=\(grant.expires + 1)"),
                ("signature=", "signature=0"), ("signature=", "sign="), (grant.sha256, String(grant.sha256.reversed())),
                (grant.sha256, "nothing"), ("&signature", "&x=1&signature=00&signature"),
            ] {
                var wrong = grant
                wrong.url = grant.url.replacing(from, with: to)
                let reply = try await server.download(wrong)
                #expect(reply.status == 403 && reply.code == "forbidden", "\(to)")
            }
            #expect(try await server.download(grant, .production).status == 403)
            _ = try await server.control("PUT", "/control/v1/sandbox/clock", #"{"advance":3599000}"#)
            #expect(try await server.download(grant).status == 200)
            _ = try await server.control("PUT", "/control/v1/sandbox/clock", #"{"advance":1000}"#)
            let late = try await server.download(grant)
            #expect(late.status == 403 && late.code == "address_expired")
        }
    }

    @Test func onlyTheBuyerIsGrantedContent() async throws {
        try await withServer { server async throws in
            let (_, transactionID, token) = try await server.boughtContent()
            let request = ContentRequest(bundleID: RunningServer.bundleID, version: nil)
            _ = try await server.control(
                "POST", "/control/v1/sandbox/accounts", #"{"email":"thief@example.com","password":"banana-split"}"#)
            let signIn = SignInRequest(email: "thief@example.com", password: "banana-split", deviceID: UUID())
            let thief = try await server.device(.signIn, body: signIn).decoded(SignInResponse.self).token
            let stolen = try await server.device(.content(transactionID), token: thief, body: request)
            #expect(stolen.status == 404 && stolen.code == "unknown_transaction")
            #expect(try await server.device(.content(transactionID), body: request).status == 401)
            let elsewhere = ContentRequest(bundleID: "com.example.other", version: nil)
            #expect(try await server.device(.content(transactionID), token: token, body: elsewhere).status == 404)
            // What has no content has none to give.
            let credits = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
                .decoded(PurchaseResponse.self)
            let id = try #require(credits.transaction?.transactionID)
            let nothing = try await server.device(.content(id), token: token, body: request)
            #expect(nothing.status == 404 && nothing.code == "no_content")
            _ = try await server.control("POST", "/control/v1/sandbox/transactions/\(transactionID)/refund", "{}")
            let refunded = try await server.device(.content(transactionID), token: token, body: request)
            #expect(refunded.status == 409 && refunded.code == "wrong_state")
            let unfinished = try await server.device(
                .unfinishedTransactions(RunningServer.bundleID, after: nil), token: token
            ).decoded(UnfinishedTransactionsResponse.self)
            #expect(unfinished.transactions.allSatisfy { $0.content == nil })
        }
    }

    @Test func laterBuyersGetTheNewVersionWhileABegunDownloadKeepsTheOld() async throws {
        try await withServer { server async throws in
            let (grant, transactionID, token) = try await server.boughtContent()
            let second = try SamplePackage("hats", "1.1", size: 3000)
            let version = try await server.upload(second)
            func ask(_ wanted: String?) async throws -> String {
                let request = ContentRequest(bundleID: RunningServer.bundleID, version: wanted)
                return try await server.device(.content(transactionID), token: token, body: request)
                    .decoded(ContentGrant.self).version
            }
            #expect(try await ask(nil) == "1.1")
            #expect(try await ask("1.0") == "1.0")
            #expect(try await ask("0.9") == "1.1")
            _ = try await server.step(version, "remove")
            #expect(try await ask("1.1") == "1.0")
            // What was removed is gone, also for who has its address.
            let first = try #require(try await server.hosted().first?.versions.first { $0.version == "1.0" })
            _ = try await server.step(first, "remove")
            let gone = try await server.download(grant)
            #expect(gone.status == 410 && gone.code == "no_content")
            let request = ContentRequest(bundleID: RunningServer.bundleID, version: nil)
            #expect(try await server.device(.content(transactionID), token: token, body: request).status == 404)
        }
    }

    @Test func orderedFailuresOfGrantsAndDownloads() async throws {
        try await withServer { server async throws in
            let (grant, transactionID, token) = try await server.boughtContent()
            let request = ContentRequest(bundleID: RunningServer.bundleID, version: nil)
            func order(_ fault: String) async throws -> Int {
                try await server.control("POST", "/control/v1/sandbox/faults", fault).status
            }
            func ask() async throws -> RunningServer.Reply {
                try await server.device(.content(transactionID), token: token, body: request)
            }
            #expect(try await order(#"{"operation":"content","status":503,"count":1}"#) == 201)
            #expect(try await ask().status == 503)
            #expect(try await order(#"{"operation":"content","lie":"digest","count":1}"#) == 201)
            #expect(try await ask().decoded(ContentGrant.self).sha256 != grant.sha256)
            #expect(try await order(#"{"operation":"content","lie":"length","count":1}"#) == 201)
            #expect(try await ask().decoded(ContentGrant.self).length == grant.length + 1)
            #expect(try await ask().decoded(ContentGrant.self).sha256 == grant.sha256)
            #expect(try await order(#"{"operation":"download","status":403,"count":1}"#) == 201)
            #expect(try await server.download(grant).status == 403)
            #expect(try await order(#"{"operation":"download","cutAfter":1000,"count":1}"#) == 201)
            await #expect(throws: (any Error).self) { _ = try await server.download(grant) }
            #expect(try await server.download(grant).status == 200)
            for wrong in [
                #"{"operation":"content","cutAfter":1,"count":1}"#,
                #"{"operation":"download","lie":"digest","count":1}"#,
                #"{"operation":"content","lie":"colour","count":1}"#,
                #"{"operation":"download","cutAfter":-1,"count":1}"#,
                #"{"operation":"download","cutAfter":1,"status":500,"count":1}"#,
                #"{"operation":"content","status":403,"count":1}"#,
            ] {
                #expect(try await order(wrong) == 400, "\(wrong)")
            }
        }
    }
}
