import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import StoreWire
import Testing

@testable import HTTPSupport
@testable import StoreServer

/// The direct path and the router give the same answers, to the byte. `Connection: keep-alive`, which changes nothing
/// else, sends a request to the router.
@Suite(.timeLimit(.minutes(1))) struct DirectAnswersTests {
    private static func send(
        _ server: RunningServer, _ request: PurchaseRequest, token: String, byRouter: Bool
    ) async throws -> RunningServer.Reply {
        try await send(
            server, .purchases, [UInt8](try JSONEncoder().encode(request)), token: token, byRouter: byRouter)
    }

    private static func send(
        _ server: RunningServer, _ route: StoreRoute, _ body: [UInt8], token: String?, byRouter: Bool
    ) async throws -> RunningServer.Reply {
        try await server.send(
            "POST", server.addresses.store(.sandbox) + route.path, token: token,
            headers: [("X-Request-Id", "one")] + (byRouter ? [("Connection", "keep-alive")] : []), body: body)
    }

    /// Sends a request both ways and compares all of the answers but their date. The moment of a `verifyReceipt`
    /// request is a date too.
    @discardableResult
    private static func bothWays(
        _ server: RunningServer, _ route: StoreRoute, _ body: [UInt8], token: String?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RunningServer.Reply {
        let request = "\(String(decoding: body.prefix(300), as: UTF8.self))"
        let direct = try await send(server, route, body, token: token, byRouter: false)
        let routed = try await send(server, route, body, token: token, byRouter: true)
        func fields(_ reply: RunningServer.Reply) -> [String] {
            reply.headers.map { $0.name.lowercased() == "date" ? "date" : "\($0.name.lowercased()): \($0.value)" }
                .sorted()
        }
        func text(_ reply: RunningServer.Reply) -> String {
            reply.text.replacing(/"request_date(_ms|_pst)?":"[^"]*"/, with: "")
        }
        #expect(direct.status == routed.status, "\(request)", sourceLocation: sourceLocation)
        #expect(fields(direct) == fields(routed), "\(request)", sourceLocation: sourceLocation)
        #expect(text(direct) == text(routed), "\(request)", sourceLocation: sourceLocation)
        return direct
    }

    /// The answer of the direct path alone; nil when it leaves the request to the router.
    private static func direct(
        _ server: RunningServer, _ route: StoreRoute, _ body: [UInt8], token: String
    ) async throws -> [UInt8]? {
        let head = HTTPRequestHead(
            version: .http1_1, method: .POST, uri: route.path,
            headers: ["Host": "localhost", "Authorization": "Bearer \(token)"])
        let answers = DirectStoreAnswers(store: server.application.sandbox)
        let request = try #require(DirectRequest(head))
        #expect(answers.bodyLimit(of: request) != nil)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        switch answers.answer(request, body: ByteBuffer(bytes: body), from: nil, on: eventLoop) {
        case .answer(let answer): return [UInt8](answer.body.readableBytesView)
        case .later(let answer): return try await answer.get().map { [UInt8]($0.body.readableBytesView) }
        case .declined: return nil
        }
    }

    /// The members of a purchase of a consumable with everything that the direct path takes.
    private static func members(_ key: UUID) -> [(name: String, value: String)] {
        [
            ("idempotencyKey", "\"\(key)\""), ("bundleId", "\"\(RunningServer.bundleID)\""),
            ("productId", "\"credits5\""), ("quantity", "3"), ("applicationUsername", #""Zoë \"🐒\" \/\u0041""#),
            ("simulatesAskToBuy", "false"), ("agreedPrice", #"{"milliunits":990,"currency":"USD"}"#),
        ]
    }

    private static func object(_ members: [(name: String, value: String)]) -> [UInt8] {
        Array(("{" + members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}").utf8)
    }

    /// Replaces a member's value.
    private static func with(_ name: String, _ value: String, _ key: UUID = UUID()) -> [UInt8] {
        object(members(key).map { $0.name == name ? (name, value) : $0 })
    }

    @Test func purchasesAreAnsweredTheSameBothWays() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            // In any order, with unknown members, white space and escapes, the request is the same.
            let key = UUID()
            let usual = Self.members(key)
            let escaped = usual.map { ($0.name.replacing("i", with: "\\u0069"), $0.value) }
            let forms = [
                Self.object(usual), Self.object(usual.reversed()), Self.object(escaped),
                Self.object(usual + [("more", #"{"quantity":[2,null]}"#)]),
                Array(" \n".utf8) + Self.object(usual) + Array("\t\r\n".utf8),
            ]
            var answers: Set<[UInt8]> = []
            for form in forms {
                let reply = try await Self.bothWays(server, .purchases, form, token: token)
                #expect(reply.status == 200)
                let answer = try #require(try await Self.direct(server, .purchases, form, token: token))
                #expect(answer == reply.body)
                let transaction = try reply.decoded(PurchaseResponse.self).transaction
                #expect(transaction?.applicationUsername == "Zoë \"🐒\" /A" && transaction?.quantity == 3)
                answers.insert(answer)
            }
            #expect(answers.count == 1)
            // Optional members may be null or left out.
            for name in ["applicationUsername", "agreedPrice"] {
                let form = Self.with(name, "null")
                let reply = try await Self.bothWays(server, .purchases, form, token: token)
                #expect(reply.status == 200)
                #expect(try await Self.direct(server, .purchases, form, token: token) == reply.body)
            }
        }
    }

    @Test func otherPurchasesAreAnsweredTheSameBothWays() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            let offer = #"{"offerId":"o","keyId":"k","nonce":"\#(UUID())","signature":"AA==","timestamp":1}"#
            func check(_ body: [UInt8], _ status: Int, _ found: String, token: String? = token) async throws {
                let reply = try await Self.bothWays(server, .purchases, body, token: token)
                #expect(reply.status == status && reply.text.contains(found), "\(reply.text)")
            }
            try await check(Self.with("productId", "\"hats\"", UUID()), 200, "invalid_quantity")
            try await check(Self.with("productId", "\"nothing\""), 200, "product_not_available")
            try await check(Self.with("productId", "\"club.monthly\""), 200, "failed")
            try await check(Self.with("bundleId", "\"com.example.nothing\""), 404, "unknown_app")
            try await check(Self.with("agreedPrice", #"{"milliunits":1,"currency":"USD"}"#), 200, "price_changed")
            try await check(Self.with("simulatesAskToBuy", "true"), 200, "deferred")
            try await check(Self.object(Self.members(UUID()) + [("offer", offer)]), 200, "failed")
            try await check(Self.with("quantity", "0"), 200, "invalid_quantity")
            try await check(Self.with("quantity", "-1"), 200, "invalid_quantity")
            try await check(Self.with("quantity", "\(Int64.max)"), 200, "invalid_quantity")
            try await check(Self.with("applicationUsername", #""a\u0000""#), 400, "invalid_request")
            try await check(Self.object(Self.members(UUID())), 401, "not_signed_in", token: "wrong")
            try await check(Self.object(Self.members(UUID())), 401, "not_signed_in", token: nil)
            for (product, kind) in [("hats", "nonConsumable"), ("club.monthly", "autoRenewableSubscription")] {
                let members = Self.members(UUID()).filter { $0.name != "agreedPrice" }.map { member in
                    switch member.name {
                    case "productId": (member.name, "\"\(product)\"")
                    case "quantity": (member.name, "1")
                    default: member
                    }
                }
                try await check(Self.object(members), 200, kind)
            }
        }
    }

    @Test func oddPurchasesAreRefusedTheSameBothWays() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            // The account is known now, so the direct path takes every purchase that it can read.
            #expect(
                try await Self.send(server, server.purchase("credits5"), token: token, byRouter: true).status == 200)
            let usual = Self.object(Self.members(UUID()))
            func with(_ value: String) -> [UInt8] { Self.object(Self.members(UUID()) + [("more", value)]) }
            var odd: [([UInt8], String)] = [
                (Self.with("quantity", "1.0"), "“quantity” must be a whole number"),
                (Self.with("quantity", "1e0"), "“quantity” must be a whole number"),
                (Self.with("quantity", "9223372036854775808"), "“quantity” must be a whole number"),
                (Self.with("quantity", "01"), "The JSON is invalid"),
                (Self.with("agreedPrice", #"{"milliunits":990}"#), "“agreedPrice.currency” is missing."),
                (
                    Self.with("agreedPrice", #"{"milliunits":9.9e2,"currency":"USD"}"#),
                    "“agreedPrice.milliunits” must be a whole number"
                ),
                (
                    Self.with("agreedPrice", #"{"milliunits":1,"currency":"USD","milliunits":990}"#),
                    "“agreedPrice.milliunits” appears twice."
                ),
                (Self.with("applicationUsername", "\"\\ud83d\""), "The JSON is invalid"),
                (Self.object([("quant\\u0069ty", "9")] + Self.members(UUID())), "“quantity” appears twice."),
                (with(String(repeating: "[", count: 40) + String(repeating: "]", count: 40)), "nested too deep"),
                (with(String(repeating: "{\"a\":", count: 1_000)), "nested too deep"),
                ([0xEF, 0xBB, 0xBF] + usual, "The JSON is invalid at byte 0"),
                (usual + Array("x".utf8), "The JSON is invalid"), (usual + usual, "The JSON is invalid"),
                (Array(usual.dropLast()), "The JSON is invalid"), ([], "The JSON is invalid"),
                (Array("[]".utf8), "The JSON is invalid"), (Array("null".utf8), "The JSON is invalid"),
                (usual.flatMap { [$0, 0] }, "The JSON is invalid"), ([0xFF], "The JSON is invalid"),
            ]
            for member in Self.members(UUID()) {
                let name = member.name
                odd.append((Self.with(name, "[1]"), "“\(name)” is of the wrong type."))
                odd.append((Self.object(Self.members(UUID()) + [member]), "“\(name)” appears twice."))
                guard name != "applicationUsername", name != "agreedPrice" else { continue }
                odd.append((Self.object(Self.members(UUID()).filter { $0.name != name }), "“\(name)” is missing."))
                odd.append((Self.with(name, "null"), "“\(name)” is null and must not be."))
            }
            for (body, sentence) in odd {
                let reply = try await Self.bothWays(server, .purchases, body, token: token)
                #expect(reply.status == 400 && reply.code == "invalid_request", "\(reply.text)")
                let message = try #require(reply.json["message"] as? String)
                #expect(message.contains(sentence), "\(message) for \(String(decoding: body, as: UTF8.self))")
                #expect(try await Self.direct(server, .purchases, body, token: token) == nil)
            }
        }
    }

    @Test func receiptsAreVerifiedTheSameBothWays() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            #expect(
                try await Self.send(server, server.purchase("credits5"), token: token, byRouter: false).status == 200)
            #expect(try await Self.send(server, server.purchase("hats"), token: token, byRouter: false).status == 200)
            let receipt = Data(
                try await server.device(.appReceipt, token: token, body: RunningServer.receiptRequest).body
            ).base64EncodedString()
            let broken = Data([UInt8](repeating: 0x30, count: 300)).base64EncodedString()
            let bodies: [(String, Int)] = [
                (#"{"receipt-data":"\#(receipt)"}"#, 0),
                (#" { "exclude-old-transactions" : true , "receipt-data" : "\#(receipt)" } "#, 0),
                (#"{"receipt\u002ddata":"\#(receipt)","password":null,"more":[{}]}"#, 0),
                (#"{"receipt-data":"\#(receipt)","receipt-data":"\#(receipt)"}"#, 21_000),
                (#"{"receipt-data":"\#(receipt)"}x"#, 21_000), ("\u{FEFF}{\"receipt-data\":\"\(receipt)\"}", 21_000),
                (#"{"receipt-data":"\#(receipt)","a":\#(String(repeating: "[", count: 100))}"#, 21_000),
                (#"{"receipt-data":"\#(broken)"}"#, 21_002), (#"{"receipt-data":null}"#, 21_002),
                (#"{"receipt-data":7}"#, 21_002), (#"{"receipt-data":"\#(receipt)","password":7}"#, 21_002),
                (#"{"receipt-data":"\#(receipt)","exclude-old-transactions":1}"#, 21_002), ("{}", 21_002),
                ("", 21_000), ("null", 21_000), ("[]", 21_000),
            ]
            for (body, status) in bodies {
                let reply = try await Self.bothWays(server, .verifyReceipt, Array(body.utf8), token: nil)
                #expect(reply.status == 200 && reply.json["status"] as? Int == status, "\(reply.text.prefix(300))")
            }
            let (usual, _) = bodies[0]
            #expect(try await Self.direct(server, .verifyReceipt, Array(usual.utf8), token: "") != nil)
        }
    }

    @Test(arguments: [true, false]) func aRepeatedKeyHasOneAnswerWhicheverWayItGoes(routerFirst: Bool) async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            let request = server.purchase("credits5", quantity: 3)
            let first = try await Self.send(server, request, token: token, byRouter: routerFirst)
            let second = try await Self.send(server, request, token: token, byRouter: !routerFirst)
            #expect(first.status == 200)
            #expect(first.text.contains("\"quantity\":3"))
            #expect(second.body == first.body)
            #expect(second.headers["content-type"] == first.headers["content-type"])
            #expect(first.headers.contains(name: "date") && second.headers.contains(name: "date"))
            let unfinished = try await server.device(
                .unfinishedTransactions(RunningServer.bundleID, after: nil), token: token
            ).decoded(UnfinishedTransactionsResponse.self)
            #expect(unfinished.transactions.count == 1)
        }
    }

    @Test func oneKeySentManyTimesAtOnceBuysOnce() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            let request = server.purchase("credits5")
            let answers = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for number in 0..<64 {
                    group.addTask {
                        try await Self.send(server, request, token: token, byRouter: number % 2 == 0).body
                    }
                }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(answers.count == 1)
        }
    }

    @Test func whatTheShortCutDoesNotKnowTheRouterAnswers() async throws {
        try await withServer { server in
            let token = try await server.signIn().token
            func answer(_ request: PurchaseRequest, token: String) async throws -> RunningServer.Reply {
                try await Self.send(server, request, token: token, byRouter: false)
            }
            #expect(try await answer(server.purchase("credits5"), token: token).status == 200)
            #expect(try await answer(server.purchase("nothing"), token: token).text.contains("product_not_available"))
            #expect(
                try await answer(server.purchase("credits5", quantity: 11), token: token).text.contains(
                    "invalid_quantity"))
            #expect(try await answer(server.purchase("hats"), token: token).status == 200)
            #expect(try await answer(server.purchase("credits5"), token: "wrong").status == 401)
            let fault = #"{"operation":"purchases","status":503,"count":1}"#
            #expect(try await server.control("POST", "/control/v1/sandbox/faults", fault).status < 300)
            #expect(try await answer(server.purchase("credits5"), token: token).status == 503)
            #expect(try await answer(server.purchase("credits5"), token: token).status == 200)
            let tester = try #require(SandboxTester.read(from: server.directory))
            let account = "/control/v1/sandbox/accounts/\(tester.email)"
            #expect(try await server.control("PATCH", account, #"{"paymentsAllowed":false}"#).status == 200)
            #expect(try await answer(server.purchase("credits5"), token: token).text.contains("payment_not_allowed"))
            #expect(
                try await server.control("PATCH", account, #"{"paymentsAllowed":true,"asksToBuy":true}"#).status == 200)
            #expect(try await answer(server.purchase("credits5"), token: token).text.contains("deferred"))
        }
    }
}
