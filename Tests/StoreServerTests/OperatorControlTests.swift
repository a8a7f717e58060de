import AsyncHTTPClient
import ControlWire
import Foundation
import NIOCore
import Store
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("What the control port shows operators", .timeLimit(.minutes(1))) struct OperatorControlTests {
    private static let sandbox = "/control/v1/sandbox"

    private static func get<Value: Decodable>(
        _ server: RunningServer, _ route: ControlRoute, as type: Value.Type = Value.self
    ) async throws -> Value {
        let reply = try await server.control("GET", route.path)
        #expect(reply.status == 200, "\(route.path): \(reply.text)")
        return try reply.decoded(type)
    }

    @Test func aTransactionIsShownInFull() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            var request = server.purchase("credits5", quantity: 3)
            request.applicationUsername = "Kim"
            let bought = try await server.device(.purchases, token: session.token, body: request)
                .decoded(PurchaseResponse.self)
            let id = try #require(bought.transaction?.transactionID.description)
            let detail: ControlAPI.TransactionDetail = try await Self.get(server, .transaction(.sandbox, id: id))
            #expect(detail.email == session.account.email && detail.applicationUsername == "Kim")
            #expect(detail.storefront == "USA" && detail.transaction.price == "2.97" && detail.itemId > 0)
            #expect(detail.purchase?.key == request.idempotencyKey && detail.purchase?.state == .bought)
            #expect(detail.purchase?.paymentReference == "sandbox-\(request.idempotencyKey.uuidString)")
            #expect(detail.chain == [detail.transaction] && detail.deliveries.isEmpty)
            let receipt: ControlAPI.Receipt = try await Self.get(server, .transactionReceipt(.sandbox, id: id))
            let bytes = [UInt8](try #require(Data(base64Encoded: receipt.receipt)))
            #expect(try await server.verify(bytes).json["status"] as? Int == 0)
            for path in ["1", "x"] {
                let reply = try await server.control("GET", "\(Self.sandbox)/transactions/\(path)")
                #expect(reply.status == (path == "x" ? 400 : 404), "\(path)")
            }
        }
    }

    @Test func theLedgersFiltersAreChecked() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            for product in ["credits5", "hats"] as [ProductID] {
                _ = try await server.device(.purchases, token: session.token, body: server.purchase(product))
            }
            let all: ControlAPI.Page<ControlAPI.Transaction> = try await Self.get(server, .transactions(.sandbox))
            #expect(all.rows.map(\.email) == [session.account.email, session.account.email])
            func products(_ filter: LedgerFilter) async throws -> [String] {
                let page: ControlAPI.Page<ControlAPI.Transaction> = try await Self.get(
                    server, .transactions(.sandbox, filter))
                return page.rows.map(\.productId)
            }
            #expect(try await products(LedgerFilter(kind: "consumable")) == ["credits5"])
            #expect(try await products(LedgerFilter(product: "hats", state: .unfinished)) == ["hats"])
            #expect(try await products(LedgerFilter(state: .refunded)).isEmpty)
            #expect(try await products(LedgerFilter(from: "2100-01-01T00:00:00Z")).isEmpty)
            #expect(try await products(LedgerFilter(until: "2100-01-01T00:00:00Z")).count == 2)
            let account: ControlAPI.AccountDetail = try await Self.get(
                server, .account(.sandbox, email: session.account.email))
            #expect(try await products(LedgerFilter(account: account.account.accountId)).count == 2)
            for query in [
                "kind=gadget", "state=lost", "from=yesterday", "until=2026-02-30T00:00:00Z", "limit=0", "before=x",
            ] {
                let reply = try await server.control("GET", "\(Self.sandbox)/transactions?\(query)")
                #expect(reply.status == 400 && reply.code == "invalid_request", "\(query)")
            }
            #expect(try await server.control("GET", "\(Self.sandbox)/attempts?state=lost").status == 400)
            #expect(try await server.control("GET", "\(Self.sandbox)/accounts?flag=odd").status == 400)
            #expect(try await server.control("GET", "\(Self.sandbox)/search").status == 400)
        }
    }

    @Test func anAccountIsShownSignedOutAndCleared() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let email = session.account.email
            _ = try await server.device(.purchases, token: session.token, body: server.purchase("hats"))
            _ = try await server.control(
                "POST", "\(Self.sandbox)/payment-rules", "{\"name\":\"r\",\"account\":\"\(email)\",\"count\":1}")
            _ = try await server.device(.purchases, token: session.token, body: server.purchase("credits5"))
            let promoted = try await server.control(
                "POST", "\(Self.sandbox)/promoted",
                "{\"bundleId\":\"\(RunningServer.bundleID)\",\"productId\":\"credits5\",\"account\":\"\(email)\"}")
            let promotion = try promoted.decoded(ControlAPI.Promoted.self).promotionId

            let detail: ControlAPI.AccountDetail = try await Self.get(server, .account(.sandbox, email: email))
            #expect(detail.devices.map(\.deviceId) == [RunningServer.device.uuidString])
            #expect(detail.owned.map(\.productId) == ["hats"] && detail.unfinished.map(\.productId) == ["hats"])
            #expect(detail.promotions.map(\.promotionId) == [promotion])
            #expect(detail.account.lastPurchaseDate == detail.unfinished.first?.purchaseDate)
            let byID: ControlAPI.AccountDetail = try await Self.get(
                server, .account(.sandbox, email: detail.account.accountId))
            #expect(byID == detail)
            let attempts: ControlAPI.Page<ControlAPI.Attempt> = try await Self.get(
                server, .attempts(.sandbox, AttemptFilter(account: email)))
            #expect(attempts.rows.map(\.state) == [.declined])
            #expect(attempts.rows.first?.failure?.code == "payment_declined")
            let receipt: ControlAPI.Receipt = try await Self.get(
                server, .appReceipt(.sandbox, email: email, bundle: RunningServer.bundleID.rawValue))
            let bytes = [UInt8](try #require(Data(base64Encoded: receipt.receipt)))
            #expect(try await server.verify(bytes).json["status"] as? Int == 0)

            let withdraw = ControlRoute.withdrawPromotion(.sandbox, id: promotion, account: email).path
            #expect(try await server.control("DELETE", withdraw).status == 204)
            #expect(try await server.control("DELETE", withdraw).status == 409)
            let hits: [ControlAPI.SearchHit] = try await Self.get(
                server, .search(.sandbox, text: String(email.prefix(6))))
            #expect(hits.map(\.title) == [email] && hits.map(\.kind) == [.account])

            let signedOut = try await server.control(
                "DELETE", ControlRoute.signOut(.sandbox, email: email, device: UUID().uuidString).path)
            #expect(try signedOut.decoded(ControlAPI.SignedOut.self).tokens == 0)
            #expect(try await server.device(.account, token: session.token).status == 200)
            _ = try await server.control("DELETE", ControlRoute.signOut(.sandbox, email: email).path)
            #expect(try await server.device(.account, token: session.token).status == 401)

            let cleared = try await server.control("DELETE", ControlRoute.clearHistory(.sandbox, email: email).path)
            #expect(
                try cleared.decoded(ControlAPI.ClearedHistory.self)
                    == ControlAPI.ClearedHistory(transactions: 1, items: 0, attempts: 1))
            _ = try await server.control(
                "POST", "/control/v1/production/accounts", #"{"email":"a@example.com","password":"x"}"#)
            let kept = try await server.control(
                "DELETE", ControlRoute.clearHistory(.production, email: "a@example.com").path)
            #expect(kept.status == 403 && kept.code == "forbidden")
        }
    }

    @Test func aFaultSaysWhoMetIt() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let path = "\(Self.sandbox)/faults"
            _ = try await server.control("POST", path, #"{"operation":"finish","status":503,"count":2}"#)
            _ = try await server.control("POST", path, #"{"operation":"products","status":500,"count":1}"#)
            #expect(try await server.device(.account, token: session.token).status == 200)
            let finish = StoreRoute.finish(TransactionID(rawValue: 2_000_000_000_000_001))
            #expect(try await server.device(finish, token: session.token).status == 503)
            let faults: [ControlAPI.Fault] = try await Self.get(server, .faults(.sandbox))
            #expect(faults.map(\.hits) == [1, 0] && faults.map(\.count) == [1, 1])
            let hits: [ControlAPI.FaultHit] = try await Self.get(server, .faultHits(.sandbox))
            #expect(hits.map(\.account) == [session.account.email] && hits[0].fault.operation == "finish")
            #expect(try await server.control("DELETE", path + "/finish").status == 204)
            #expect(try await server.control("DELETE", path + "/finish").status == 404)
            #expect(try await server.control("DELETE", path + "/nothing").status == 400)
            #expect(try await server.control("GET", path).decoded([ControlAPI.Fault].self).count == 1)

            // A form can order each choice, and nothing else.
            let choices: [ControlAPI.FaultChoice] = try await Self.get(server, .faultChoices)
            #expect(choices.count == Faults.Operation.allCases.count)
            for choice in choices {
                let orders =
                    choice.statuses.flatMap { ["\"status\":\($0.from)", "\"status\":\($0.through)"] }
                    + choice.errors.prefix(2).map { "\"error\":\"\($0)\"" }
                    + (choice.cut ? ["\"cutAfter\":0"] : []) + choice.lies.map { "\"lie\":\"\($0)\"" }
                for order in orders {
                    let body = "{\"operation\":\"\(choice.operation)\",\(order),\"count\":1}"
                    #expect(try await server.control("POST", path, body).status == 201, "\(body)")
                }
                if choice.errors.isEmpty {
                    let body = "{\"operation\":\"\(choice.operation)\",\"error\":\"unknown\",\"count\":1}"
                    #expect(try await server.control("POST", path, body).status == 400, "\(body)")
                }
            }
        }
    }

    @Test func theCatalogIsShownWithItsProblems() async throws {
        try await withServer { server async throws in
            let app: ControlAPI.CatalogApp = try await Self.get(server, .app(bundle: RunningServer.bundleID.rawValue))
            #expect(app.products.map(\.productId) == ["credits5", "hats", "club.monthly"])
            #expect(app.groups.map(\.name) == ["Club"] && app.products[2].subscription?.period == "P1M")
            #expect(app.products[0].prices.map(\.storefront) == ["USA"] && app.products[0].prices[0].price == "0.99")
            let hats: ControlAPI.CatalogApp = try await Self.get(
                server, .app(bundle: RunningServer.bundleID.rawValue, product: "hats"))
            #expect(hats.products.count == 1 && hats.products[0].prices.count == Storefront.all.count)
            #expect(hats.products[0].line == 9)
            #expect(try await server.control("GET", "/control/v1/apps/no.such.app").status == 404)

            let file = try #require(hats.file)
            let before: ControlAPI.CatalogState = try await Self.get(server, .catalog)
            #expect(before.files == [file] && before.problems.isEmpty && before.problemsDate == nil)
            var reload = server.application.catalogReload
            let wrong = RunningServer.catalogText.replacing("displayPrice: 2.99", with: "displayPrice: free")
            try Data(wrong.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            await reload.look()
            await reload.look()
            let after: ControlAPI.CatalogState = try await Self.get(server, .catalog)
            #expect(after.problems.first?.line == 11 && after.problems.first?.keyPath.contains("displayPrice") == true)
            #expect(after.problemsDate != nil && after.loadedDate == before.loadedDate)
            // Another file, since both texts have the same length and could have the same time.
            try Data(RunningServer.catalogText.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            await reload.look()
            // The server looks at the file, too. It may report the problem later than this, and then loads the file.
            try await until {
                let mended: ControlAPI.CatalogState = try await Self.get(server, .catalog)
                return mended.problems.isEmpty
            }
        }
    }

    @Test func secretsAreShownOnlyWhenAskedFor() async throws {
        try await withServer { server async throws in
            let app = try #require(server.application.apps[RunningServer.bundleID])
            let tester = try #require(SandboxTester.read(from: server.directory))
            let settings = try await server.control("GET", ControlRoute.settings.path)
            let decoded = try settings.decoded(ControlAPI.Settings.self)
            #expect(decoded.addresses["sandbox"] == server.addresses.sandbox && decoded.database == "SQLite")
            #expect(decoded.rates?["signInsOfAccount"] == ControlAPI.Rate(burst: 20, perSecond: 0.2))
            #expect(decoded.roots.map(\.name) == ["receipts", "jws"] && decoded.roots[0].sha256.count == 64)
            #expect(!settings.text.contains(app.sharedSecret) && !settings.text.contains(tester.password))
            let reveal = ControlRoute.revealSecret(bundle: RunningServer.bundleID.rawValue).path
            #expect(try await server.control("GET", reveal).status == 404)
            let secret = try await server.control("POST", reveal)
            #expect(try secret.decoded(ControlAPI.SharedSecret.self).sharedSecret == app.sharedSecret)
            #expect(secret.headers.first(name: "cache-control") == "no-store")
            let shown = try await server.control("POST", ControlRoute.revealTester.path)
            #expect(try shown.decoded(ControlAPI.TesterPassword.self).password == tester.password)
        }
    }

    @Test func requestsAreLoggedWithoutTheirValues() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            #expect(try await server.send("PUT", server.addresses.sandbox + "/verifyReceipt").status == 200)
            _ = try await server.verify([1, 2, 3])
            let finish = StoreRoute.finish(TransactionID(rawValue: 2_000_000_000_000_001))
            #expect(try await server.device(finish, token: session.token).status == 404)
            #expect(try await server.control("GET", "\(Self.sandbox)/accounts/no%40example.com").status == 404)
            let reply = try await server.control("GET", ControlRoute.requests().path)
            let requests = try reply.decoded([ControlAPI.LoggedRequest].self)
            #expect(requests.map(\.status) == [404, 404, 200, 200])
            #expect(requests.map(\.environment) == [nil, "sandbox", "sandbox", "sandbox"])
            #expect(requests.map(\.number) == [4, 3, 2, 1])
            #expect(requests[0].route == "/control/v1/{environment}/accounts/{email}")
            #expect(requests[1].code == "unknown_transaction" && requests[1].reason != nil)
            #expect(requests[2].receiptStatus == 21002 && requests[2].route == "/verifyReceipt")
            #expect(requests[3].receiptStatus == 21000 && requests[3].method == "PUT")
            #expect(!reply.text.contains("no@example.com") && !reply.text.contains("2000000000000001"))
            let older: [ControlAPI.LoggedRequest] = try await Self.get(server, .requests(before: 3, limit: 1))
            #expect(older.map(\.number) == [2])
            for before in ["0", "-1", "\(Int64.min)", "\(UInt64.max)", "x"] {
                for route in [ControlRoute.requests(), .audit()] {
                    #expect(try await server.control("GET", "\(route.path)?before=\(before)").status == 400)
                }
            }
        }
    }

    @Test func theLogOfRequestsIsBounded() {
        let log = RequestLog(changes: Changes(), now: { 1 })
        #expect(log.list(before: nil, limit: 10).isEmpty)
        for _ in 0..<RequestLog.most + 5 {
            log.verified(.failure(VerifyReceiptFailure(.notPost, from: .sandbox)), .sandbox)
        }
        #expect(log.list(before: nil, limit: 1000).map(\.number) == (6...1005).reversed())
        #expect(log.list(before: 8, limit: 10).map(\.number) == [7, 6])
        #expect(log.list(before: 6, limit: 10).isEmpty && log.list(before: .min, limit: 10).isEmpty)
    }

    @Test func changesAreListedWithTheirOperator() async throws {
        try await withServer { server async throws in
            let json = [("Content-Type", "application/json"), ("X-Operator", "Kim")]
            _ = try await server.control(
                "PUT", "\(Self.sandbox)/clock", headers: json, #"{"freeze":true,"set":"2027-01-31T12:00:00Z"}"#)
            let account = #"{"email":"new@example.com","password":"hunter2-secret"}"#
            _ = try await server.control("POST", "/control/v1/production/accounts", account)
            _ = try await server.control(
                "PATCH", "/control/v1/production/accounts/new%40example.com", #"{"locked":true}"#)
            // Refused requests change nothing, and reading changes nothing.
            _ = try await server.control("POST", "\(Self.sandbox)/faults", "{}")
            _ = try await server.control("GET", "\(Self.sandbox)/clock")
            let reply = try await server.control("GET", ControlRoute.audit().path)
            let entries = try reply.decoded([ControlAPI.AuditEntry].self)
            #expect(
                entries.map(\.operation) == [
                    "PATCH /control/v1/{environment}/accounts/{email}", "POST /control/v1/{environment}/accounts",
                    "PUT /control/v1/{environment}/clock",
                ])
            #expect(entries.map(\.environment) == ["production", "production", "sandbox"])
            #expect(entries.map(\.operatorName) == [nil, nil, "Kim"])
            #expect(entries[0].subject == "new@example.com" && entries[0].before == "USA")
            #expect(entries[0].after == "USA, locked")
            #expect(entries[2].after == "2027-01-31T12:00:00.000Z, frozen")
            #expect(!reply.text.contains("hunter2"))
        }
    }

    @Test func appsOnPagesAreListed() async throws {
        try await withServer { server async throws in
            func announce(_ screen: ControlAPI.Screen, _ seconds: Int) async throws -> Int {
                let body = try JSONEncoder().encode(ControlAPI.ScreenAnnouncement(screen: screen, seconds: seconds))
                let text = String(decoding: body, as: UTF8.self)
                return Int(try await server.control("POST", ControlRoute.announceScreen.path, text).status)
            }
            var screen = ControlAPI.Screen(
                bundleId: "com.example.monkeys", name: "Monkeys", address: "http://monkeys.localhost:8431",
                device: "/phone", environment: "sandbox")
            #expect(try await announce(screen, 30) == 204)
            #expect(try await Self.get(server, .screens) == [screen])
            #expect(try await announce(screen, 0) == 204)
            #expect(try await Self.get(server, .screens, as: [ControlAPI.Screen].self).isEmpty)
            #expect(try await announce(screen, 121) == 400)
            screen.address = "http://example.com/"
            #expect(try await announce(screen, 30) == 400)
            // What apps say of themselves is no operator's change.
            #expect(try await Self.get(server, .audit(), as: [ControlAPI.AuditEntry].self).isEmpty)
        }
    }

    @Test func waitingSheetsAreListed() async throws {
        try await withServer { server async throws in
            let question = SheetQuestion(kind: .confirm, title: "Hats", lines: ["One"], email: "a@example.com")
            let body = String(decoding: try JSONEncoder().encode(question), as: UTF8.self)
            let posted = try await server.control("POST", SheetRoute.post.path, body).decoded(SheetPosted.self)
            let sheets: [ControlAPI.WaitingSheet] = try await Self.get(server, .sheets)
            #expect(sheets.map(\.path) == [posted.path] && sheets[0].title == "Hats" && sheets[0].kind == "confirm")
            #expect((0...60).contains(sheets[0].age))
            _ = try await server.control(
                "POST", SheetRoute.answer(posted.id).path,
                headers: [("Content-Type", "application/x-www-form-urlencoded")], "choice=decline")
            #expect(try await Self.get(server, .sheets, as: [ControlAPI.WaitingSheet].self).isEmpty)
            // Devices' sheets are not an operator's changes.
            #expect(try await Self.get(server, .audit(), as: [ControlAPI.AuditEntry].self).isEmpty)
        }
    }

    // MARK: Events

    /// The lines of a stream of events.
    private static func lines(_ response: HTTPClientResponse) -> AsyncThrowingStream<String, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                var rest = ""
                do {
                    for try await piece in response.body {
                        rest += String(buffer: piece)
                        while let end = rest.firstIndex(of: "\n") {
                            continuation.yield(String(rest[..<end]))
                            rest.removeSubrange(...end)
                        }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    @Test func eventsSayWhichTopicsChanged() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let request = HTTPClientRequest(url: server.addresses.control + ControlRoute.events.path)
            let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
            #expect(response.status == .ok && response.headers.first(name: "content-type") == "text/event-stream")
            var lines = Self.lines(response).makeAsyncIterator()
            #expect(try await lines.next() == "retry: 1000")
            _ = try await server.device(.purchases, token: session.token, body: server.purchase("hats"))
            _ = try await server.control("PUT", "\(Self.sandbox)/clock", #"{"freeze":true}"#)
            var topics: Set<String> = []
            while !topics.isSuperset(of: ["sandbox.transactions", "sandbox.clock", "audit"]),
                let line = try await lines.next()
            {
                guard line.hasPrefix("data: ") else { continue }
                let changed = try JSONDecoder().decode(ControlAPI.Changed.self, from: Data(line.dropFirst(6).utf8))
                topics.formUnion(changed.topics)
            }
            #expect(topics == ["sandbox.transactions", "sandbox.clock", "audit"])
        }
    }

    @Test func aPlaceForEventsIsGivenBack() async throws {
        let places = EventPlaces()
        var taken = (0..<EventPlaces.most).map { _ in places.take() }
        #expect(taken.allSatisfy { $0 != nil })
        #expect(places.take() == nil)
        taken.removeLast()
        #expect(places.take() != nil)
    }
}
