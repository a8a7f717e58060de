import Foundation
import MerchantWire
import NIOCore
import NIOHTTP1
import NIOPosix
import StoreWire
import TestSupport
import Testing

@testable import HTTPSupport
@testable import Merchant
@testable import MerchantServer

/// The direct path and the router give the same answers, to the byte. `Connection: keep-alive`, which changes nothing
/// else, sends a request to the router.
@Suite(.timeLimit(.minutes(1))) struct DirectMerchantAnswersTests {
    /// Sends a request both ways and compares all of the answers but their date.
    @discardableResult
    private static func bothWays(
        _ merchant: RunningMerchant, _ route: MerchantRoute, as token: String?, _ body: [UInt8]? = nil,
        type: String = "application/json", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RunningMerchant.Reply {
        let request = "\(route) \(String(decoding: (body ?? []).prefix(300), as: UTF8.self))"
        func send(_ more: [(String, String)]) async throws -> RunningMerchant.Reply {
            try await merchant.send(route, as: token, body, type: type, headers: [("X-Request-Id", "one")] + more)
        }
        let direct = try await send([])
        let routed = try await send([("Connection", "keep-alive")])
        func fields(_ reply: RunningMerchant.Reply) -> [String] {
            reply.headers.map { $0.key == "date" ? "date" : "\($0.key): \($0.value)" }.sorted()
        }
        #expect(direct.status == routed.status, "\(request)", sourceLocation: sourceLocation)
        #expect(fields(direct) == fields(routed), "\(request)", sourceLocation: sourceLocation)
        #expect(direct.text == routed.text, "\(request)", sourceLocation: sourceLocation)
        return direct
    }

    /// The answer of the direct path alone; nil when it leaves the request to the router.
    private static func direct(
        _ merchant: RunningMerchant, _ route: MerchantRoute, as token: String, _ body: [UInt8] = [],
        type: String = "application/json"
    ) async throws -> [UInt8]? {
        let head = HTTPRequestHead(
            version: .http1_1, method: route.method == .get ? .GET : .POST, uri: route.path,
            headers: ["Host": "localhost", "Authorization": "Bearer \(token)", "Content-Type": type])
        let application = merchant.application
        let answers = DirectMerchantAnswers(
            merchant: application.merchant,
            authentication: Authentication(
                tokens: application.tokens, keys: application.keys, limits: nil, now: { Date() }),
            metrics: RequestMetricsMiddleware(PrometheusMetrics()), isBehindProxy: false)
        let request = try #require(DirectRequest(head))
        guard answers.bodyLimit(of: request) != nil else { return nil }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        switch answers.answer(request, body: ByteBuffer(bytes: body), from: nil, on: eventLoop) {
        case .answer(let answer): return [UInt8](answer.body.readableBytesView)
        case .later(let answer): return try await answer.get().map { [UInt8]($0.body.readableBytesView) }
        case .declined: return nil
        }
    }

    private static func members(_ key: String) -> [(name: String, value: String)] {
        [
            ("key", "\"\(key)\""), ("currency", "\"coins\""), ("amount", "2"),
            ("note", #""Zoë \"🦊\" \/\u0041""#), ("environment", "\"Sandbox\""),
        ]
    }

    private static func object(_ members: [(name: String, value: String)]) -> [UInt8] {
        Array(("{" + members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}").utf8)
    }

    /// Replaces a member's value.
    private static func with(_ name: String, _ value: String, _ key: String = "other") -> [UInt8] {
        object(members(key).map { $0.name == name ? (name, value) : $0 })
    }

    @Test func `redemptions and balances have one answer on both ways`() async throws {
        try await RunningMerchant.with {
            $0.policy = MerchantPolicy(environments: [.production, .sandbox])
        } _: { merchant async throws in
            let token = try await merchant.token("ann")
            let empty = try await Self.bothWays(merchant, .balances(), as: token)
            #expect(empty.status == 200 && empty.text == #"{"balances":[]}"#)
            let (jose, bytes) = ("application/jose", "application/octet-stream")
            let redeemed: [(id: String, evidence: [UInt8], type: String, member: String)] = [
                ("2000000000000001", try merchant.signed("coins", "2000000000000001"), jose, "signedTransaction"),
                ("2000000000000002", try merchant.signed("issue", "2000000000000002"), jose, "signedTransaction"),
                ("2000000000000003", try merchant.receipt("coins", "2000000000000003"), bytes, "receipt"),
            ]
            for (id, evidence, type, member) in redeemed {
                let reply = try await Self.bothWays(merchant, .redemptions, as: token, evidence, type: type)
                #expect(reply.status == 200, "\(reply.text)")
                #expect(try reply.decoded(RedemptionAnswer.self).confirms(transactionID: id))
                // The direct path leaves a request to the router when the products in memory are too old, as they can
                // be on a busy machine. The router then reads them.
                var direct: [UInt8]?
                for _ in 0..<10 where direct == nil {
                    _ = try await Self.bothWays(merchant, .redemptions, as: token, evidence, type: type)
                    direct = try await Self.direct(merchant, .redemptions, as: token, evidence, type: type)
                }
                #expect(direct == reply.body)
                let text =
                    type == jose ? String(decoding: evidence, as: UTF8.self) : Data(evidence).base64EncodedString()
                let json = Array(#"{"\#(member)":"\#(text)"}"#.utf8)
                #expect(try await Self.bothWays(merchant, .redemptions, as: token, json).body == reply.body)
            }
            for environment in [nil, .production, .sandbox] as [StoreEnvironment?] {
                let route = MerchantRoute.balances(in: environment)
                let reply = try await Self.bothWays(merchant, route, as: token)
                #expect(reply.status == 200)
                #expect(try await Self.direct(merchant, route, as: token) == reply.body)
            }
            let sandbox = try await merchant.send(.balances(in: .sandbox), as: token).decoded(BalanceList.self)
            #expect(sandbox.balances == [Balance(currency: "coins", amount: 20, environment: .sandbox)])
            // Refusals.
            let other = try await merchant.token("bob")
            let refused: [(MerchantRoute, [UInt8]?, String, String?, String)] = [
                (
                    .redemptions, try merchant.signed("coins", "2000000000000001"), "application/jose", other,
                    "already_redeemed"
                ),
                (
                    .redemptions, try merchant.signed("unheard", "2000000000000004"), "application/jose", token,
                    "unknown_product"
                ),
                (.redemptions, Array("a.b.c".utf8), "application/jose", token, "malformed_receipt"),
                (.redemptions, [], "application/jose", token, "malformed_receipt"),
                (.redemptions, [0x30, 0x80], "application/octet-stream", token, "malformed_receipt"),
                (.redemptions, Array("{}".utf8), "application/json", token, "invalid_request"),
                (.redemptions, Array("a.b.c".utf8), "text/plain", token, "invalid_request"),
                (.balances(), nil, "application/json", nil, "not_signed_in"),
                (.balances(), nil, "application/json", "wrong", "not_signed_in"),
            ]
            for (route, body, type, token, code) in refused {
                let reply = try await Self.bothWays(merchant, route, as: token, body, type: type)
                #expect(reply.code == code, "\(reply.text)")
            }
        }
    }

    @Test func `a redemption by an older product list goes to the router, which reads the list again`() async throws {
        try await RunningMerchant.with { running async throws in
            let token = try await running.token("ann")
            // The direct path takes tokens and signers that were verified before.
            #expect(try await running.redeem("issue", "2000000000000002", as: token).status == 200)
            let merchant = running.application.merchant
            let other = Merchant(
                database: merchant.database, blobs: merchant.blobs, verifier: merchant.verifier,
                policy: merchant.policy, now: { Int64(Date().timeIntervalSince1970 * 1_000) }, makeID: { UUID() })
            let evidence = try running.signed("coins", "2000000000000001")
            // On a busy machine, the products in memory can be too old for the direct path.
            var outcome: Result<RedemptionAnswer, any Error>?
            var amount: Int64 = 10
            for _ in 0..<10 where outcome == nil {
                amount += 1
                _ = try await merchant.allProducts()
                try await other.put(
                    MerchantProduct(
                        bundleID: "com.example.books", productID: "coins", kind: .consumable,
                        grants: [.credits("coins", amount: amount, lifetime: nil)]))
                outcome = await withCheckedContinuation { continuation in
                    let isBegun = merchant.redeemAtOnce(.signedTransaction(evidence), for: "ann") {
                        continuation.resume(returning: $0)
                    }
                    if !isBegun { continuation.resume(returning: nil) }
                }
            }
            #expect(throws: ProductsChanged.self) { try outcome?.get() }
            let reply = try await running.send(.redemptions, as: token, evidence, type: "application/jose")
            #expect(reply.status == 200)
            let balances = try await running.send(.balances(in: .sandbox), as: token).decoded(BalanceList.self)
            #expect(balances.amount(of: "coins") == amount)
        }
    }

    @Test func `a spend has one answer on both ways, in every form of its JSON`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let token = try await merchant.token("ann")
            #expect(try await merchant.redeem("coins", "2000000000000001", as: token).status == 200)
            let usual = Self.members("k")
            let escaped = usual.map { ($0.name.replacing("n", with: "\\u006e"), $0.value) }
            let forms = [
                Self.object(usual), Self.object(usual.reversed()), Self.object(escaped),
                Self.object(usual + [("more", #"{"amount":[2,null]}"#)]),
                Array(" \n".utf8) + Self.object(usual) + Array("\t\r\n".utf8),
            ]
            var answers: Set<[UInt8]> = []
            for form in forms {
                let reply = try await Self.bothWays(merchant, .spends, as: token, form)
                #expect(reply.status == 200, "\(reply.text)")
                #expect(try await Self.direct(merchant, .spends, as: token, form) == reply.body)
                answers.insert(reply.body)
            }
            // The same key with the same members: had one form lost its note, the key would be used for something else.
            #expect(answers.count == 1)
            let answer = try JSONDecoder().decode(SpendAnswer.self, from: Data(try #require(answers.first)))
            #expect(
                answer
                    == SpendAnswer(
                        key: "k", currency: "coins", amount: 2, balance: 8, entry: 2, environment: .sandbox))
            for name in ["note", "environment"] {
                let form = Self.with(name, "null", name)
                let reply = try await Self.bothWays(merchant, .spends, as: token, form)
                #expect(reply.status == 200)
                #expect(try await Self.direct(merchant, .spends, as: token, form) == reply.body)
            }
        }
    }

    @Test func `an odd spend is refused the same on both ways`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let token = try await merchant.token("ann")
            #expect(try await merchant.redeem("coins", "2000000000000001", as: token).status == 200)
            #expect(try await merchant.send(.balances(), as: token).status == 200)
            let usual = Self.object(Self.members("other"))
            func more(_ value: String) -> [UInt8] { Self.object(Self.members("other") + [("more", value)]) }
            var odd: [([UInt8], String)] = [
                (Self.with("amount", "1.0"), "“amount” must be a whole number"),
                (Self.with("amount", "1e0"), "“amount” must be a whole number"),
                (Self.with("amount", "9223372036854775808"), "“amount” must be a whole number"),
                (Self.with("amount", "0"), "at least 1"), (Self.with("amount", "-1"), "at least 1"),
                (Self.with("amount", "\(Int64.max)"), "amount"), (Self.with("amount", "01"), "The JSON is invalid"),
                (Self.with("environment", "\"sandbox\""), "“environment” must be Production or Sandbox."),
                (Self.with("note", "\"\\ud83d\""), "The JSON is invalid"),
                (Self.object([("\\u006eote", "\"b\"")] + Self.members("other")), "“note” appears twice."),
                (more(String(repeating: "[", count: 40) + String(repeating: "]", count: 40)), "nested too deep"),
                (more(String(repeating: "{\"a\":", count: 1_000)), "nested too deep"),
                ([0xEF, 0xBB, 0xBF] + usual, "The JSON is invalid at byte 0"),
                (usual + Array("x".utf8), "The JSON is invalid"), (usual + usual, "The JSON is invalid"),
                (Array(usual.dropLast()), "The JSON is invalid"), ([], "The JSON is invalid"),
                (Array("[]".utf8), "The JSON is invalid"), (Array("null".utf8), "The JSON is invalid"),
                (usual.flatMap { [$0, 0] }, "The JSON is invalid"), ([0xFF], "The JSON is invalid"),
            ]
            for (name, _) in Self.members("other") {
                odd.append((Self.with(name, "[1]"), "“\(name)” is of the wrong type."))
                odd.append((Self.object(Self.members("other") + [(name, "null")]), "“\(name)” appears twice."))
                guard name != "note", name != "environment" else { continue }
                odd.append((Self.object(Self.members("other").filter { $0.name != name }), "“\(name)” is missing."))
                odd.append((Self.with(name, "null"), "“\(name)” is null and must not be."))
            }
            for (body, sentence) in odd {
                let reply = try await Self.bothWays(merchant, .spends, as: token, body)
                #expect(reply.status == 400 && reply.code == "invalid_request", "\(reply.text)")
                let message = try reply.decoded(MerchantWireError.self).message
                #expect(message.contains(sentence), "\(message) for \(String(decoding: body, as: UTF8.self))")
                #expect(try await Self.direct(merchant, .spends, as: token, body) == nil)
            }
            let poor = try await Self.bothWays(merchant, .spends, as: token, Self.with("amount", "11"))
            #expect(poor.status == 409 && poor.code == "insufficient_balance")
            let books = try await merchant.send(.checkBooks, as: merchant.backendKey).decoded(BooksReport.self)
            #expect(books.balances && books.entries == 1)
        }
    }
}
