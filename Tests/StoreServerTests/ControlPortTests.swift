import ControlWire
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct ControlPortTests {
    @Test func onlyLoopbackNamesAndJSONGetIn() async throws {
        try await withServer { server async throws in
            let port = server.port(server.addresses.control)
            @Sendable func status(_ head: [String], _ body: String = "", _ line: String = "GET /control/v1/apps")
                async throws -> String
            {
                try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    let lines =
                        ["\(line) HTTP/1.1"] + head + [
                            "Content-Length: \(body.utf8.count)", "Connection: close", "", "",
                        ]
                    connection.write(lines.joined(separator: "\r\n") + body)
                    return String(connection.read().dropFirst(9).prefix(3))
                }
            }
            for host in ["127.0.0.1:\(port)", "localhost", "LOCALHOST:1", "[::1]:\(port)"] {
                #expect(try await status(["Host: \(host)"]) == "200", "\(host)")
            }
            for host in [
                "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", "",
            ] {
                #expect(try await status(["Host: \(host)"]) == "403", "\(host)")
            }
            for hosts in [[], ["Host: evil@localhost"], ["Host: localhost", "Host: localhost"]] {
                #expect(try await status(hosts) == "400", "\(hosts)")
            }
            // A page of another origin is known by its word.
            for origin in ["http://evil.example", "null", "http://localhost:1"] {
                #expect(try await status(["Host: localhost:\(port)", "Origin: \(origin)"]) == "403", "\(origin)")
            }
            for scheme in ["http", "https"] {
                let origin = "Origin: \(scheme)://localhost:\(port)"
                #expect(try await status(["Host: localhost:\(port)", origin]) == "200", "\(scheme)")
            }
            let line = "POST /control/v1/sandbox/faults"
            let body = #"{"operation":"finish","status":503,"count":1}"#
            for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
                #expect(try await status(["Host: localhost", "Content-Type: \(type)"], body, line) == "415", "\(type)")
            }
            #expect(try await status(["Host: localhost"], body, line) == "415")
            #expect(
                try await status(["Host: localhost", "Content-Type: application/json; charset=utf-8"], body, line)
                    == "201")
        }
    }

    @Test func anAdminTokenIsAskedForOfEveryone() async throws {
        let configure: @Sendable (inout StoreServerConfiguration) -> Void = { $0.adminToken = "s3cret-token" }
        try await withServer(configure) { server async throws in
            for token in [nil, "", "s3cret", "S3CRET-TOKEN", "s3cret-token2"] as [String?] {
                let reply = try await server.send("GET", server.addresses.control + "/control/v1/apps", token: token)
                #expect(reply.status == 401 && !reply.text.contains("s3cret"), "\(token ?? "none")")
            }
            let reply = try await server.send(
                "GET", server.addresses.control + "/control/v1/apps", token: "s3cret-token")
            #expect(reply.status == 200)
            // A load balancer has no token, and names what host it likes.
            for path in ["/health", "/ready"] {
                let reply = try await server.send(
                    "GET", server.addresses.control + path, headers: [("Host", "store-1.internal")])
                #expect(reply.status == 200 && reply.headers.first(name: "Cache-Control") == "no-store", "\(path)")
            }
            let metrics = server.addresses.control + "/metrics"
            #expect(try await server.send("GET", metrics).status == 401)
            #expect(try await server.send("GET", metrics, token: "s3cret-token").status == 200)
        }
    }

    @Test func aSheetsPageNeedsNoToken() async throws {
        let configure: @Sendable (inout StoreServerConfiguration) -> Void = { $0.adminToken = "s3cret-token" }
        try await withServer(configure) { server async throws in
            let question = SheetQuestion(kind: .confirm, title: String(repeating: "Hats ", count: 1000), lines: [])
            let body = [UInt8](try JSONEncoder().encode(question))
            func send(
                _ method: String, _ path: String, token: String? = nil, _ headers: [(String, String)] = [],
                _ body: [UInt8]? = nil, type: String = "application/json"
            ) async throws -> RunningServer.Reply {
                try await server.send(
                    method, server.addresses.control + path, token: token, headers: [("Content-Type", type)] + headers,
                    body: body)
            }
            let form = "application/x-www-form-urlencoded"
            #expect(try await send("POST", "/control/v1/sheets", [], body).status == 401)
            let posted = try await send("POST", "/control/v1/sheets", token: "s3cret-token", [], body)
            let sheet = try posted.decoded(SheetPosted.self)
            let answer = "/control/v1/sheets/\(sheet.id)/answer"
            #expect(try await send("GET", answer).status == 401)
            // The browser's three.
            let page = try await send("GET", sheet.path)
            #expect(page.status == 200 && page.text.contains("Hats Hats") && page.text.contains("…</h1>"))
            let style = try #require(page.text.firstMatch(of: /<link rel="stylesheet" href="([^"]+)">/)?.1)
            let sent = try await send("GET", String(style))
            #expect(sent.status == 200 && sent.text.contains(".environment") && sent.text.contains("--env:"))
            #expect(try await send("GET", "/assets/console.js").status == 404)
            let host = server.addresses.control.dropFirst("http://".count)
            let decline = Array("choice=decline".utf8)
            for headers in [
                [("Origin", "https://evil.example")], [("Origin", "null")], [("Sec-Fetch-Site", "cross-site")],
                [("Sec-Fetch-Site", "same-site"), ("Origin", "http://\(host)")],
            ] {
                let status = try await send("POST", sheet.path + "/answer", headers, decline, type: form).status
                #expect(status == 403, "\(headers)")
            }
            for type in ["application/json", "text/plain", "multipart/form-data", ""] {
                #expect(
                    try await send("POST", sheet.path + "/answer", [], decline, type: type).status == 415, "\(type)")
            }
            let own = [("Origin", "https://\(host)"), ("Sec-Fetch-Site", "same-origin")]
            let answered = try await send("POST", sheet.path + "/answer", own, decline, type: form)
            #expect(answered.status == 200 && answered.text.contains("Nothing was bought."))
            for (method, path) in [
                ("GET", "/sheets"), ("GET", "/sheets/\(sheet.id)/answer"), ("POST", sheet.path), ("DELETE", sheet.path),
                ("GET", "/sheets/../control/v1/apps"), ("GET", "/sheets/%2e%2e"), ("POST", sheet.path + "/answer/x"),
                ("GET", "/metrics"), ("GET", "/assets"), ("GET", "/assets/x/y"), ("POST", "/assets/x"),
            ] {
                let status = try await send(method, path, [], method == "POST" ? decline : nil).status
                // The guard does not take an unknown id for a reason to ask for the token.
                #expect(status == (path == "/sheets/%2e%2e" ? 404 : 401), "\(method) \(path)")
            }
            #expect(try await send("GET", sheet.path).text.contains("You answered “Cancel”."))
            for _ in 0..<2 {
                let reply = try await send("GET", answer + "?wait=5", token: "s3cret-token").decoded(SheetReply.self)
                #expect(reply.choice == .decline)
            }
        }
    }

    @Test(arguments: [nil, "s3cret-token"]) func aBrowserIsSentToTheConsole(token: String?) async throws {
        let console = "http://cornerstore.localhost:1"
        try await TemporaryDirectory.with { directory async throws in
            try await RunningServer.with(directory.url, console: console) {
                $0.adminToken = token
            } _: { server async throws in
                let port = server.port(server.addresses.control)
                @Sendable func answer(_ line: String, _ accept: String?) async throws -> String {
                    try await RawConnection.run {
                        let connection = try RawConnection(port: port)
                        let field = accept.map { "Accept: \($0)\r\n" } ?? ""
                        connection.write("\(line) HTTP/1.1\r\nHost: localhost\r\n\(field)Connection: close\r\n\r\n")
                        return connection.read()
                    }
                }
                let page = try await answer("GET /", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
                #expect(page.hasPrefix("HTTP/1.1 303 ") && page.contains("\r\nLocation: \(console)/\r\n"), "\(page)")
                #expect(try await answer("HEAD /", "text/html").hasPrefix("HTTP/1.1 303 "))
                // Programs get what they got before.
                let status = token == nil ? "404" : "401"
                for (line, accept) in [
                    ("GET /", nil), ("GET /", "*/*"), ("GET /", "application/json"), ("GET /control", "text/html"),
                    ("DELETE /", "text/html"),
                ] {
                    let reply = try await answer(line, accept)
                    #expect(reply.dropFirst(9).hasPrefix(status) && reply.contains("{\"code\":"), "\(line) \(reply)")
                }
            }
        }
        try await withServer { server async throws in
            let reply = try await server.send(
                "GET", server.addresses.control + "/", headers: [("Accept", "text/html")])
            #expect(reply.status == 404 && reply.code == "not_found")
        }
    }

    @Test func anOpenControlPortNeedsAToken() async throws {
        try await TemporaryDirectory.with { directory async throws in
            var configuration = try RunningServer.configuration(directory.url)
            for host in ["0.0.0.0", "::", "192.168.1.1", "127.evil.example", "example.com"] {
                configuration.host = host
                let changed = configuration
                let error = await #expect(throws: StoreServerError.self, "\(host)") {
                    _ = try await StoreApplication.open(changed, now: { Date() }, logger: .quiet)
                }
                #expect(error?.code == .unsafeControlPort)
            }
        }
    }

    @Test func theClockIsMovedThereAndShownBack() async throws {
        try await withServer { server async throws in
            let path = "/control/v1/sandbox/clock"
            let set = try await server.control("PUT", path, #"{"freeze":true,"set":"2026-01-31T12:00:00Z"}"#)
            #expect(set.status == 200)
            let clock = try set.decoded(ControlAPI.Clock.self)
            #expect(clock.now == "2026-01-31T12:00:00.000Z" && clock.milliseconds == 1_769_860_800_000 && clock.frozen)
            let far = try await server.control("PUT", path, #"{"set":"9999999999-01-01T00:00:00Z"}"#)
            #expect(far.status == 400)
            let advanced = try await server.control("PUT", path, #"{"advance":86400123}"#).decoded(
                ControlAPI.Clock.self)
            #expect(advanced.now == "2026-02-01T12:00:00.123Z")
            // What the port shows can be given back to it.
            let same = try await server.control("PUT", path, "{\"set\":\"\(advanced.now)\"}").decoded(
                ControlAPI.Clock.self)
            #expect(same.milliseconds == advanced.milliseconds)
            let token = try await server.signIn().token
            let bought = try await server.device(.purchases, token: token, body: server.purchase("club.monthly"))
            #expect(try bought.decoded(PurchaseResponse.self).transaction?.purchaseDate == advanced.milliseconds - 123)
            for good in ["2028-02-29T00:00:00Z", "2027-01-31T13:00:00+01:00", "2027-01-31T12:00:00.123456Z"] {
                #expect(try await server.control("PUT", path, "{\"set\":\"\(good)\"}").status == 200, "\(good)")
            }
            _ = try await server.control("PUT", path, "{\"set\":\"\(advanced.now)\"}")
            // The other store's clock is its own.
            let other = try await server.control("GET", "/control/v1/production/clock").decoded(ControlAPI.Clock.self)
            #expect(!other.frozen && other.offset == 0)
            for bad in [
                #"{"set":"tomorrow"}"#, #"{"set":"1999-01-01T00:00:00Z"}"#, #"{"set":"2100-01-02T00:00:00Z"}"#,
                #"{"set":""}"#, #"{"set":"2026-02-30T12:00:00Z"}"#, #"{"set":"2027-02-29T12:00:00.5Z"}"#,
                #"{"set":"2026-01-31T25:00:00Z"}"#, #"{"set":"2026-13-01T00:00:00Z"}"#,
                #"{"set":"2026-01-31T12:60:00Z"}"#,
                #"{"set":"2026-01-31T12:00:00+25:00"}"#,
                #"{"advance":9223372036854775807}"#, #"{"advance":-9223372036854775808}"#, #"{"advance":1.5}"#,
                #"{"advance":"1"}"#,
                #"{"reset":true,"set":"9999-01-01T00:00:00Z"}"#, "[]", "",
            ] {
                let reply = try await server.control("PUT", path, bad)
                #expect(reply.status == 400 && reply.code == "invalid_request", "\(bad): \(reply.text)")
            }
            let still = try await server.control("GET", path).decoded(ControlAPI.Clock.self)
            #expect(still.frozen && still.milliseconds == advanced.milliseconds)
            let back = try await server.control("PUT", path, #"{"reset":true}"#).decoded(ControlAPI.Clock.self)
            #expect(!back.frozen && back.offset == 0)
        }
    }

    @Test func faultsFailTheRequestsOfTheirOperation() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            let bought = try await server.device(.purchases, token: token, body: server.purchase("hats")).decoded(
                PurchaseResponse.self)
            let id = try #require(bought.transaction).transactionID
            let tester = try #require(SandboxTester.read(from: server.directory))
            let asked = ProductsRequest(bundleID: RunningServer.bundleID, productIDs: ["hats"], languages: [])
            let operations: [(String, StoreRoute, any Encodable & Sendable)] = [
                ("signIn", .signIn, SignInRequest(email: tester.email, password: tester.password, deviceID: UUID())),
                ("products", .products, asked), ("purchases", .purchases, server.purchase("credits5")),
                ("receipts", .appReceipt, RunningServer.receiptRequest),
                ("receipts", .transactionReceipt(id), RunningServer.receiptRequest),
                ("finish", .finish(id), ["": ""]),
            ]
            for (name, route, body) in operations {
                let order = try await server.control(
                    "POST", "/control/v1/sandbox/faults", "{\"operation\":\"\(name)\",\"status\":503,\"count\":2}")
                #expect(order.status == 201)
                for _ in 0..<2 {
                    let reply = try await server.device(route, token: token, body: body)
                    #expect(reply.status == 503 && reply.code == "unavailable", "\(name)")
                }
                let after = try await server.device(route, token: token, body: body)
                #expect(after.status == 200 || after.status == 204, "\(name): \(after.text)")
            }
            _ = try await server.control(
                "POST", "/control/v1/sandbox/faults", #"{"operation":"verifyReceipt","status":21005,"count":1}"#)
            #expect(try await server.verify([1, 2, 3]).json["status"] as? Int == 21005)
            #expect(try await server.verify([1, 2, 3]).json["status"] as? Int == 21002)
            for bad in [
                #"{"operation":"nothing","status":503,"count":1}"#, #"{"operation":"finish","status":200,"count":1}"#,
                #"{"operation":"finish","status":503,"count":0}"#, #"{"operation":"finish","status":503}"#,
            ] { #expect(try await server.control("POST", "/control/v1/sandbox/faults", bad).status == 400, "\(bad)") }
            _ = try await server.control(
                "POST", "/control/v1/sandbox/faults", #"{"operation":"finish","status":500,"count":9}"#)
            #expect(try await server.control("DELETE", "/control/v1/sandbox/faults").status == 204)
            #expect(try await server.control("GET", "/control/v1/sandbox/faults").text == "[]")
        }
    }

    @Test func accountsAreMadeChangedAndListed() async throws {
        try await withServer { server async throws in
            let path = "/control/v1/production/accounts"
            let made = try await server.control(
                "POST", path, #"{"email":"Kim+1@Example.com","password":"pw","storefront":"JPN"}"#)
            #expect(made.status == 201 && !made.text.contains("pw"))
            let account = try made.decoded(ControlAPI.Account.self)
            #expect(
                account.email == "kim+1@example.com" && account.storefront == "JPN" && account.paymentsAllowed
                    && !account.locked)
            #expect(
                try await server.control("POST", path, #"{"email":"kim+1@example.com","password":"x"}"#).status == 400)
            #expect(
                try await server.control(
                    "POST", path, #"{"email":"kim2@example.com","password":"x","storefront":"Mars"}"#
                ).status == 400)
            let signIn = SignInRequest(email: "kim+1@example.com", password: "pw", deviceID: UUID())
            let token = try await server.device(.signIn, .production, body: signIn).decoded(SignInResponse.self).token
            // An address as a path's component, plain and percent-encoded.
            for name in ["kim+1@example.com", "kim%2B1%40example.com"] {
                let changed = try await server.control("PATCH", "\(path)/\(name)", #"{"locked":true,"asksToBuy":true}"#)
                #expect(changed.status == 200, "\(name)")
            }
            let locked = try await server.device(.account, .production, token: token)
            #expect(locked.status == 403 && locked.code == "account_locked")
            _ = try await server.control(
                "PATCH", "\(path)/kim+1@example.com", #"{"locked":false,"paymentsAllowed":false}"#)
            let open = try await server.device(.account, .production, token: token).decoded(AccountDescription.self)
            #expect(!open.canMakePayments)
            let list = try await server.control("GET", path).decoded(ControlAPI.Page<ControlAPI.Account>.self).rows
            #expect(list.map(\.email) == ["kim+1@example.com"] && list[0].asksToBuy)
            #expect(try await server.control("PATCH", "\(path)/nobody@example.com", "{}").status == 404)
            #expect(
                try await server.control(
                    "POST", "/control/v1/sandbox/accounts", #"{"email":"a\u0000b@c.d","password":"x"}"#
                ).status == 400)
            // A token of one store is nothing to the other.
            #expect(try await server.device(.account, .sandbox, token: token).status == 401)
        }
    }

    @Test func approvalsRulesAndTheLedgerAreThere() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let email = session.account.email
            _ = try await server.control("PATCH", "/control/v1/sandbox/accounts/\(email)", #"{"asksToBuy":true}"#)
            let request = server.purchase("credits5", quantity: 2)
            let deferred = try await server.device(.purchases, token: session.token, body: request)
            #expect(try deferred.decoded(PurchaseResponse.self).state == .deferred)
            let pending = try await server.control("GET", "/control/v1/sandbox/pending-purchases").decoded(
                [ControlAPI.PendingPurchase].self)
            #expect(pending.map(\.key) == [request.idempotencyKey] && pending[0].quantity == 2)
            let approve = "/control/v1/sandbox/pending-purchases/\(request.idempotencyKey)/approve"
            #expect(try await server.control("POST", approve).status == 200)
            let twice = try await server.control("POST", approve)
            #expect(twice.status == 409 && twice.code == "wrong_state")
            #expect(try await server.control("POST", "/control/v1/sandbox/pending-purchases/x/decline").status == 400)
            for limit in ["0", "-1", "1001", "many"] {
                let refused = try await server.control("GET", "/control/v1/sandbox/transactions?limit=\(limit)")
                #expect(refused.status == 400, "\(limit)")
            }
            let ledger = try await server.control("GET", "/control/v1/sandbox/transactions?account=\(email)&limit=5")
                .decoded(ControlAPI.Page<ControlAPI.Transaction>.self).rows
            #expect(
                ledger.count == 1 && ledger[0].price == "1.98" && ledger[0].currency == "USD"
                    && ledger[0].kind == "consumable")
            #expect(ledger[0].purchaseDate.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            let before = try await server.control(
                "GET", "/control/v1/sandbox/transactions?before=\(ledger[0].transactionId)")
            #expect(before.text == #"{"rows":[]}"#)
            #expect(try await server.control("GET", "/control/v1/sandbox/transactions?before=x").status == 400)
            #expect(
                try await server.control("GET", "/control/v1/sandbox/transactions?account=no@example.com").status == 404
            )
            _ = try await server.control("PATCH", "/control/v1/sandbox/accounts/\(email)", #"{"asksToBuy":false}"#)

            let rules = "/control/v1/sandbox/payment-rules"
            #expect(
                try await server.control("POST", rules, "{\"name\":\"r\",\"account\":\"\(email)\",\"count\":1}").status
                    == 201)
            let declined = try await server.device(.purchases, token: session.token, body: server.purchase("hats"))
            #expect(declined.status == 200)
            #expect(try declined.decoded(PurchaseResponse.self).failure?.code == .paymentDeclined)
            #expect(try await server.control("GET", rules).text == "[]")
            #expect(try await server.control("POST", rules, #"{"name":"","count":1}"#).status == 400)
            #expect(try await server.control("POST", rules, #"{"name":"a\u0000"}"#).status == 400)
            #expect(try await server.control("POST", rules, #"{"name":"r","account":"no@example.com"}"#).status == 404)
            _ = try await server.control("POST", rules, "{\"name\":\"shown\",\"account\":\"\(email)\"}")
            // An empty name does not stand for all rules.
            #expect(try await server.control("DELETE", rules + "/").status == 400)
            // What the port shows can be given back to it.
            let shown = try await server.control("GET", rules).decoded([ControlAPI.PaymentRule].self)
            #expect(shown == [ControlAPI.PaymentRule(name: "shown", account: email)])
            #expect(try await server.control("DELETE", rules).status == 204)
        }
    }

    @Test func healthAppsAndStrangePaths() async throws {
        try await withServer { server async throws in
            #expect(try await server.control("GET", "/health").json["status"] as? String == "ok")
            let apps = try await server.control("GET", "/control/v1/apps").decoded([ControlAPI.App].self)
            #expect(
                apps.map(\.bundleId) == ["com.example.monkeys"] && apps[0].isInCatalog
                    && apps[0].sharedSecret.count == 32)
            #expect(apps[0].productIds == ["credits5", "hats", "club.monthly"])
            let files = try JSONDecoder().decode(
                [String: String].self,
                from: Data(contentsOf: server.directory.appendingPathComponent("shared-secrets.json")))
            #expect(files == ["com.example.monkeys": apps[0].sharedSecret])
            for path in [
                "/control/v1/moon/clock", "/control/v1/sandbox", "/control/v1/sandbox/nothing", "/control/v2/apps",
                "/verifyReceipt",
            ] {
                let reply = try await server.control("GET", path)
                #expect(reply.status == 404 && reply.code == "not_found", "\(path)")
            }
            #expect(try await server.control("GET", "/control/v1/Sandbox/clock").status == 200)
        }
    }
}
