import AsyncHTTPClient
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant
@testable import MerchantServer

@Suite("The merchant's server", .timeLimit(.minutes(1)))
struct MerchantApplicationTests {
    @Test func aListOfAsManyProductsAsThereMayBeIsRead() async throws {
        try await RunningMerchant.with { configuration in
            let file = configuration.productsFiles[0]
            let more = (1...4_990).map {
                "  - {id: com.example.books.issue\($0), kind: nonConsumable, grants: [{content: issue-\($0)}]}\n"
            }
            try? Data((RunningMerchant.products + "\n" + more.joined()).utf8).write(to: file)
        } _: { merchant async throws in
            #expect(try await merchant.application.merchant.allProducts().products.count == 4_992)
        }
    }

    @Test func `products are served with a tag that changes with them`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let route = MerchantRoute.products("com.example.books")
            let first = try await merchant.send(route)
            #expect(first.status == 200)
            #expect(try first.decoded(ProductList.self).products.map(\.productID) == ["coins", "issue"])
            let tag = try #require(first.headers["etag"])
            #expect(try await merchant.send(route, headers: [("If-None-Match", tag)]).status == 304)
            let body = Array(#"{"kind": "consumable", "grants": [{"credits": 99, "currency": "coins"}]}"#.utf8)
            let put = MerchantRoute.putProduct("com.example.books", "coins99")
            #expect(try await merchant.send(put, body).status == 401)
            #expect(try await merchant.send(put, as: merchant.backendKey, body).status == 200)
            // A lifetime that is misspelt would give the credits for ever.
            for (grant, more, words) in [
                (#", "lifetme": 30"#, "", "grants[0].lifetme: unknown key"),
                ("", #", "isOnSail": false"#, "isOnSail: unknown key"),
                ("", #", "productId": "coins98""#, "another product"),
                ("[", "", "Invalid product: The given data was not valid JSON.\""),
            ] {
                let bad = #"{"kind": "consumable", "grants": [{"credits": 9, "currency": "coins"\#(grant)}]\#(more)}"#
                let refused = try await merchant.send(put, as: merchant.backendKey, Array(bad.utf8))
                #expect(refused.status == 400 && refused.code == "invalid_request", "\(bad)")
                #expect(refused.text.contains(words), "\(bad): \(refused.text)")
            }
            let changed = try await merchant.send(route, headers: [("If-None-Match", tag)])
            #expect(changed.status == 200)
            #expect(try changed.decoded(ProductList.self).products.count == 3)
            let gone = MerchantRoute.deleteProduct("com.example.books", "coins99")
            #expect(try await merchant.send(gone, as: merchant.backendKey).status == 204)
            #expect(try await merchant.send(gone, as: merchant.backendKey).code == "not_found")
            #expect(try await merchant.send(.products("com.example.boks")).code == "not_found")
        }
    }

    @Test func `an entitlement's lifetime is set by the backend, and its end is told to the app`() async throws {
        try await RunningMerchant.with { merchant async throws in
            func put(_ kind: String) async throws -> RunningMerchant.Reply {
                try await merchant.send(
                    .putProduct("com.example.books", "summer"), as: merchant.backendKey,
                    Array(#"{"kind": "\#(kind)", "grants": [{"entitlement": "club", "lifetime": 60}]}"#.utf8))
            }
            #expect(try await put("nonConsumable").code == "invalid_request")
            #expect(try await put("nonRenewingSubscription").status == 200)
            let token = try await merchant.token("ann")
            let bought = Int64(Date().timeIntervalSince1970) * 1_000
            let signed = try merchant.signed(
                "summer", "2000000000000001", ["purchaseDate": bought, "type": "Non-Renewing Subscription"])
            let reply = try await merchant.send(.redemptions, as: token, signed, type: "application/jose")
            #expect(reply.text.contains(#""lifetime":60"#))
            let list = try await merchant.send(.entitlements, as: token).decoded(EntitlementList.self)
            #expect(list.entitlements.map(\.expiresAt) == [bought + 60_000])
            #expect(list.isEntitled(to: "club"))
        }
    }

    @Test func `a product of another kind than the store's is refused, and the operator is told`() async throws {
        let lines = LogLines()
        try await RunningMerchant.with(logger: lines.logger) { merchant async throws in
            let token = try await merchant.token("ann")
            let signed = try merchant.signed("coins", "2000000000000001", ["type": "Non-Consumable"])
            for _ in 0..<2 {
                let reply = try await merchant.send(.redemptions, as: token, signed, type: "application/jose")
                #expect(reply.status == 422 && reply.code == "wrong_kind")
            }
            let told = lines.all.filter { $0.level == .error }.map(\.text)
            #expect(told.count == 1)
            for word in ["coins", "nonConsumable", "consumable", "com.example.books"] {
                #expect(told.first?.contains(word) == true)
            }
        }
    }

    @Test(arguments: [
        ("trace-1.A_b:c", true), (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
        ("a b", false), ("a\"b", false),
    ])
    func `a request keeps the id that it came with`(_ id: String, _ isKept: Bool) async throws {
        let lines = LogLines()
        try await RunningMerchant.with(logger: lines.logger) { merchant async throws in
            let refused = try await merchant.send(.balances(), headers: [("X-Request-Id", id)])
            let known = try refused.decoded(MerchantWireError.self).requestID
            #expect(refused.status == 401 && known == refused.headers["x-request-id"] && (known == id) == isKept)
            let told = try #require(lines.all.first { $0.text.contains("request refused") })
            #expect(told.text.contains(try #require(known)))
            // By the router, and from the second time on without it.
            let token = try await merchant.token("ann")
            for _ in 0..<3 {
                let answer = try await merchant.send(.balances(), as: token, headers: [("X-Request-Id", id)])
                #expect(answer.status == 200 && answer.headers["x-request-id"] == (isKept ? id : nil))
            }
        }
    }

    @Test func `a file is asked for from whom it may come`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let port = try #require(URL(string: merchant.address)?.port.flatMap { UInt16(exactly: $0) })
            func begin(_ key: String) async throws -> (String, String) {
                try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write(
                        "PUT \(MerchantRoute.putContent("issue-12").path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
                            + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                    let first = connection.read()
                    guard first.hasPrefix("HTTP/1.1 100 ") else { return (first, "") }
                    connection.write("issue")
                    return (first, connection.read())
                }
            }
            let (first, second) = try await begin(merchant.backendKey)
            #expect(first == "HTTP/1.1 100 Continue\r\n\r\n" && second.hasPrefix("HTTP/1.1 201 "))
            let (refused, _) = try await begin("nobody's")
            #expect(refused.hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func `an address is held back, whoever its users are`() async throws {
        try await RunningMerchant.with {
            $0.rates = .init(
                address: .init(burst: 12, perSecond: 0.001), user: .init(burst: 100, perSecond: 1),
                key: .init(burst: 100, perSecond: 1))
        } _: { merchant async throws in
            let tokens = try await [merchant.token("ann"), merchant.token("bob"), merchant.token("cleo")]
            var counts: [Int: Int] = [:]
            // From the second time on each of them is known.
            for number in 0..<20 {
                counts[try await merchant.send(.balances(), as: tokens[number % 3]).status, default: 0] += 1
            }
            #expect(counts == [200: 12, 429: 8])
        }
    }

    @Test func `every door but the open ones asks who is there`() async throws {
        try await RunningMerchant.with { merchant async throws in
            for route in MerchantRoute.all {
                let reply = try await merchant.send(route, route.method == .get ? nil : Array("{}".utf8))
                switch route.access {
                case .open: #expect(reply.status != 401, "\(route)")
                // With an empty name in it, a path is nowhere or another's.
                case .user, .scope: #expect([401, 404, 405].contains(reply.status), "\(route): \(reply.status)")
                }
            }
            // A user's token opens none of the backend's doors, and a key none of a user's.
            let token = try await merchant.token("ann")
            #expect(try await merchant.send(.adminProducts, as: token).status == 401)
            #expect(try await merchant.send(.balances(), as: merchant.backendKey).status == 401)
            let narrow = try await merchant.application.keys.make(name: "narrow", scopes: [.users], at: Date())
            #expect(try await merchant.send(.adminProducts, as: narrow.text).code == "forbidden")
        }
    }

    @Test func `a purchase is redeemed, spent and looked at`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let token = try await merchant.token("ann")
            let first = try await merchant.redeem("coins", "2000000000000001", as: token)
            #expect(first.status == 200)
            #expect(try await merchant.redeem("coins", "2000000000000001", as: token).body == first.body)
            let other = try await merchant.token("bob")
            #expect(try await merchant.redeem("coins", "2000000000000001", as: other).code == "already_redeemed")
            #expect(try await merchant.redeem("unheard", "2000000000000002", as: token).code == "unknown_product")
            let spend = Array(#"{"key": "k", "currency": "coins", "amount": 11}"#.utf8)
            let poor = try await merchant.send(.spends, as: token, spend)
            #expect(poor.status == 409 && poor.code == "insufficient_balance")
            let gift = Array(#"{"key": "g", "currency": "coins", "amount": 1}"#.utf8)
            #expect(try await merchant.send(.userAdjustments("ann"), as: merchant.backendKey, gift).status == 200)
            #expect(try await merchant.send(.spends, as: token, spend).status == 200)
            let report = try await merchant.send(.user("ann"), as: merchant.backendKey).decoded(UserReport.self)
            #expect(report.balances == [Balance(currency: "coins", amount: 0, environment: .sandbox)])
            let books = try await merchant.send(.checkBooks, as: merchant.backendKey).decoded(BooksReport.self)
            #expect(books.balances && books.entries == 3)
            #expect(
                try await merchant.send(.history("coins", before: 2), as: token).decoded(HistoryPage.self).entries.count
                    == 1)
            #expect(try await merchant.send(.account, as: token).decoded(UserDescription.self).userID == "ann")
        }
    }

    @Test func `each environment has its balance`() async throws {
        try await RunningMerchant.with {
            $0.policy = MerchantPolicy(environments: [.production, .sandbox])
        } _: { merchant async throws in
            let token = try await merchant.token("ann")
            #expect(try await merchant.redeem("coins", "2000000000000001", as: token).status == 200)
            let gift = Array(#"{"key": "g", "currency": "coins", "amount": 3}"#.utf8)
            let given = try await merchant.send(.userAdjustments("ann"), as: merchant.backendKey, gift)
            #expect(try given.decoded(LedgerEntry.self).environment == .production)
            // The first request of each kind goes through the router, the others go past it.
            for _ in 0..<3 {
                for (environment, amount) in [(nil, 3), (.production, 3), (.sandbox, 10)]
                    as [(StoreEnvironment?, Int64)]
                {
                    let list = try await merchant.send(.balances(in: environment), as: token).decoded(BalanceList.self)
                    let expected = Balance(currency: "coins", amount: amount, environment: environment ?? .production)
                    #expect(list.balances == [expected])
                }
            }
            #expect(
                try await merchant.send(.user("ann"), as: merchant.backendKey).decoded(UserReport.self).balances.map(
                    \.amount)
                    == [3, 10])
            func spend(_ environment: String) async throws -> RunningMerchant.Reply {
                let body = #"{"key": "k", "currency": "coins", "amount": 4\#(environment)}"#
                return try await merchant.send(.spends, as: token, Array(body.utf8))
            }
            #expect(try await spend("").code == "insufficient_balance")
            #expect(try await spend(#", "environment": "Production""#).code == "insufficient_balance")
            for _ in 0..<2 {
                let spent = try await spend(#", "environment": "Sandbox""#).decoded(SpendAnswer.self)
                #expect(spent.balance == 6 && spent.environment == .sandbox && spent.key == "k")
            }
            #expect(try await spend(#", "environment": "Mars""#).code == "invalid_request")
            let page = try await merchant.send(.history("coins", before: nil, in: .sandbox), as: token)
                .decoded(HistoryPage.self)
            #expect(page.environment == .sandbox && page.entries.map(\.amount) == [-4, 10])
            #expect(
                page.entries.map(\.reference).first == "k" && page.entries.allSatisfy { $0.environment == .sandbox })
            let books = try await merchant.send(.checkBooks, as: merchant.backendKey).decoded(BooksReport.self)
            #expect(books.balances && books.outstanding.map(\.environment) == [.production, .sandbox])
            var request = HTTPClientRequest(url: merchant.address + "/v1/balances?environment=Mars")
            request.headers.add(name: "Authorization", value: "Bearer \(token)")
            #expect(try await HTTPClient.shared.execute(request, timeout: .seconds(60)).status == .badRequest)
        }
    }

    @Test(arguments: [
        ("application/json", "{}", 400, "invalid_request"),
        ("application/json", "[", 400, "invalid_request"),
        ("application/x-www-form-urlencoded", "MIIT", 400, "invalid_request"),
        ("application/json", #"{"receipt": "AAAA", "signedTransaction": "a"}"#, 400, "invalid_request"),
        ("application/json", #"{"receipt": "!"}"#, 400, "invalid_request"),
        ("application/json", #"{"receipt": "AAAA"}"#, 422, "malformed_receipt"),
        ("application/json", #"{"signedTransaction": "a.b.c"}"#, 422, "malformed_receipt"),
        ("application/octet-stream", "", 422, "malformed_receipt"),
        ("application/jose", "nonsense", 422, "malformed_receipt"),
    ]) func `what is not understood is said`(_ type: String, _ body: String, _ status: Int, _ code: String) async throws
    {
        try await RunningMerchant.with { merchant async throws in
            let reply = try await merchant.send(
                .redemptions, as: try await merchant.token("ann"), Array(body.utf8), type: type)
            #expect(reply.status == status && reply.code == code)
        }
    }

    @Test func `content is delivered to whom it belongs, in parts`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let token = try await merchant.token("ann")
            let text = String(repeating: "All about monkeys. ", count: 10_000)
            let put = try await merchant.send(
                .putContent("issue-12"), as: merchant.backendKey, Array(text.utf8), type: "text/plain ; charset=utf-8")
            #expect(put.status == 201)
            let file = MerchantRoute.contentFile("issue-12")
            #expect(try await merchant.send(file, as: token).code == "not_entitled")
            // Against the proof, before it is redeemed.
            let proof = try merchant.signed("issue", "2000000000000001")
            let early = try await merchant.send(
                .contentFileByReceipt("issue-12"), as: token, proof, type: "application/jose",
                headers: [("Range", "bytes=0-8")])
            #expect(early.status == 206 && early.text == "All about")
            #expect(try await merchant.redeem("issue", "2000000000000001", as: token).status == 200)
            let another = try await merchant.send(
                .contentFileByReceipt("issue-12"), as: try await merchant.token("bob"), proof, type: "application/jose")
            #expect(another.status == 409 && another.code == "already_redeemed")
            let whole = try await merchant.send(file, as: token)
            #expect(whole.status == 200 && whole.text == text)
            #expect(whole.headers["content-type"] == "text/plain")
            #expect(whole.headers["repr-digest"] != nil)
            let tag = try #require(whole.headers["etag"])
            let part = try await merchant.send(
                file, as: token, headers: [("Range", "bytes=10-16"), ("If-Range", tag)])
            #expect(part.status == 206 && part.text == "monkeys")
            #expect(try await merchant.send(file, as: token, headers: [("If-None-Match", tag)]).status == 304)
            for range in ["bytes=10-16", "bytes=999999-"] {
                var request = HTTPClientRequest(url: merchant.address + file.path)
                request.method = .HEAD
                request.headers = ["Authorization": "Bearer \(token)", "Range": range]
                let head = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
                #expect(head.status == .ok && !head.headers.contains(name: "content-range"))
                #expect(head.headers["content-length"] == [String(text.utf8.count)])
            }
            let beyond = try await merchant.send(file, as: token, headers: [("Range", "bytes=999999-")])
            #expect(beyond.status == 416 && beyond.headers["x-request-id"]?.isEmpty == false)
            let version = try await merchant.send(.content("issue-12"), as: token).decoded(ContentVersion.self)
            #expect(version.size == Int64(text.utf8.count) && tag == "\"\(version.digest)\"")
            #expect(try await merchant.send(file, as: try await merchant.token("bob")).code == "not_entitled")
        }
    }

    @Test func `who sends no more after a request is answered, and a HEAD without a body`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let token = try await merchant.token("ann")
            // From now on the token is remembered, and balances are answered before the router.
            for _ in 0..<2 { #expect(try await merchant.send(.balances(), as: token).status == 200) }
            let port = try #require(URL(string: merchant.address)?.port.flatMap { UInt16(exactly: $0) })
            let field = "Host: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
            let answers = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                connection.write(String(repeating: "GET /v1/balances HTTP/1.1\r\n\(field)", count: 2))
                connection.endSending()
                return connection.read(until: "nothing")
            }
            #expect(answers.components(separatedBy: "HTTP/1.1 200 OK").count == 3, "\(answers)")
            #expect(answers.components(separatedBy: #"{"balances":[]}"#).count == 3, "\(answers)")
            for hosts in ["", "Host: x\r\nHost: x\r\n", "Host: x y\r\n"] {
                let refusal = try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write(
                        "GET /v1/balances HTTP/1.1\r\n\(hosts)Authorization: Bearer \(token)\r\nConnection: close\r\n\r\n"
                    )
                    return connection.read(until: "nothing")
                }
                #expect(refusal.hasPrefix("HTTP/1.1 400") && refusal.contains("invalid_request"), "\(refusal)")
            }
            for path in ["/v1/balances", "/health", "/v1/content/none/file", "/nowhere"] {
                let refusal = try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write("HEAD \(path) HTTP/1.1\r\n\(field)")
                    connection.endSending()
                    return connection.read(until: "nothing")
                }
                #expect(refusal.hasPrefix("HTTP/1.1 4") && refusal.hasSuffix("\r\n\r\n"), "\(refusal)")
                #expect(refusal.lowercased().contains("content-length: "), "\(refusal)")
            }
        }
    }

    @Test func `what is larger than its limit is refused, and the server goes on`() async throws {
        try await RunningMerchant.with { merchant async throws in
            let (token, key) = (try await merchant.token("ann"), merchant.backendKey)
            let requests: [(MerchantRoute, String?, String, Int)] = [
                (.spends, token, "application/json", MerchantLimits.request),
                (.redemptions, token, "application/json", MerchantLimits.redemption),
                (.redemptions, token, "application/octet-stream", MerchantLimits.evidence),
                (.contentFileByReceipt("issue-12"), token, "application/json", MerchantLimits.redemption),
                (.notifications, nil, "application/json", MerchantLimits.notification),
                (.userSpends("ann"), key, "application/json", MerchantLimits.request),
                (.userAdjustments("ann"), key, "application/json", MerchantLimits.request),
                (.putProduct("com.example.books", "coins"), key, "application/json", MerchantLimits.request),
            ]
            for (route, bearer, type, limit) in requests {
                let over = try await merchant.send(
                    route, as: bearer, [UInt8](repeating: 0x78, count: limit + 1), type: type)
                #expect(over.status == 413 && over.code == "too_large", "\(route) \(type): \(over.status)")
                // What it is then refused for is what is in it.
                let fits = try await merchant.send(
                    route, as: bearer, [UInt8](repeating: 0x78, count: limit), type: type)
                #expect([400, 422].contains(fits.status), "\(route) \(type): \(fits.status)")
            }
        }
    }

    @Test func `without its database it lives and is not ready`() async throws {
        try await RunningMerchant.with { merchant async throws in
            await merchant.application.merchant.database.close()
            #expect(try await merchant.send(.health).status == 200)
            let readiness = try await merchant.send(.readiness)
            #expect(readiness.status == 503 && readiness.headers["retry-after"] != nil)
        }
    }

    @Test func `it says how it is`() async throws {
        try await RunningMerchant.with { merchant async throws in
            #expect(try await merchant.send(.health).status == 200)
            #expect(try await merchant.send(.readiness).status == 200)
            let metrics = try await merchant.send(.metrics)
            #expect(metrics.status == 200 && metrics.text.contains("http_server_requests_total"))
            let nowhere = try await merchant.send(.testWebhook, as: merchant.backendKey)
            #expect(nowhere.status == 404 && nowhere.code == "not_found")
            let missing = try await merchant.send(.replayWebhook("none"), as: merchant.backendKey)
            #expect(missing.code == "not_found" && missing.headers["x-request-id"] != nil)
        }
    }
}
