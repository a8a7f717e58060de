import ControlWire
import Database
import Foundation
import Store
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreServer

/// A server that receives notifications, as badly as it is told, and what it was sent.
private final class Receiver: Sendable {
    /// What it answers to a request.
    enum Answer: Sendable {
        /// These bytes; then it ends the connection.
        case text(String)
        /// These bytes again and again, until the client leaves.
        case endless(head: String)
        /// These bytes, and then nothing until the client leaves.
        case silent(String)
    }

    let server: RawServer
    /// Whole requests, in the order in which they came.
    let requests: AsyncStream<String>
    /// The address, without a slash at its end.
    var origin: String { "http://127.0.0.1:\(server.port)" }

    /// The `notificationUUID` of the next request.
    func next() async throws -> String {
        var iterator = requests.makeAsyncIterator()
        return try Received(try #require(await iterator.next())).notificationID
    }

    init(_ answer: @escaping @Sendable (_ request: String) -> Answer) throws {
        let (requests, request) = AsyncStream.makeStream(of: String.self)
        self.requests = requests
        server = try RawServer { connection, _ in
            // The body ends with the only brace of its kind.
            let text = connection.read(until: "}")
            guard text.contains("}") else { return }
            request.yield(text)
            switch answer(text) {
            case .text(let answer): connection.write(answer)
            case .endless(let head):
                connection.write(head)
                while connection.write([UInt8](repeating: 0x61, count: 1 << 16)) {}
            case .silent(let start):
                connection.write(start)
                _ = connection.readToEnd()
            }
        }
    }

    convenience init(_ answer: Answer) throws { try self.init { _ in answer } }

    deinit { server.close() }

    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    static func redirect(_ location: String, status: Int = 307) -> Answer {
        .text("HTTP/1.1 \(status) Elsewhere\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
    }
}

/// What a request says.
private struct Received {
    let type: String
    let notificationID: String
    let transactionID: String?
    let bundleVersion: String?

    init(_ request: String) throws {
        let body = try #require(request.range(of: "\r\n\r\n").map { request[$0.upperBound...] })
        let object = try Self.object(Data(body.utf8))
        #expect(Set(object.keys) == ["signedPayload"])
        let payload = try Self.payload(object["signedPayload"])
        type = try #require(payload["notificationType"] as? String)
        notificationID = try #require(payload["notificationUUID"] as? String)
        let data = try #require(payload["data"] as? [String: Any])
        bundleVersion = data["bundleVersion"] as? String
        transactionID =
            try data["signedTransactionInfo"].map { try Self.payload($0)["transactionId"] as? String } ?? nil
    }

    private static func object(_ json: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    private static func payload(_ signed: Any?) throws -> [String: Any] {
        let text = try #require(signed as? String)
        return try object(Data(try SignedPayload.parse(Array(text.utf8)).payload))
    }
}

// Each server that does not answer occupies one of the few threads that answer for all servers.
@Suite("An attempt to send a notification", .serialized, .timeLimit(.minutes(1))) struct NotificationPostTests {
    private func send(
        to url: String, origins: [String] = [], limit: Duration = .seconds(30)
    ) async throws -> SendAttemptResult? {
        let receiver = try NotificationReceiver(url: url, redirectOrigins: origins)
        return await NotificationPost(limit: limit).send(
            body: #"{"signedPayload":"e30.e30.e30"}"#, to: receiver)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .success),
            ("HTTP/1.1 204 No Content\r\n\r\n", .success),
            ("HTTP/1.1 206 Partial\r\nContent-Type: text/html; charset=\"UTF-8\"\r\n\r\nhello", .success),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .success),
            ("HTTP/1.1 207 Multi\r\nContent-Length: 0\r\n\r\n", .unsuccessfulStatus),
            ("HTTP/1.1 303 See Other\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", .unsuccessfulStatus),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot all", .unsuccessfulStatus),
            ("HTTP/1.1 500 Error\r\nContent-Type: text/html; charset=klingon\r\n\r\n", .unsuccessfulStatus),
            ("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=klingon\r\n\r\nhello", .unsupportedCharset),
            ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", .prematureClose),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .prematureClose),
            ("", .noResponse), ("HTTP/1.1 200 OK\r\nContent-", .noResponse),
            ("hello, this is no HTTP\r\n\r\n", .invalidResponse),
            ("HTTP/1.1 307 Elsewhere\r\nContent-Length: 0\r\n\r\n", .invalidResponse),
            ("HTTP/1.1 307 Elsewhere\r\nLocation: ftp://127.0.0.1/\r\nContent-Length: 0\r\n\r\n", .invalidResponse),
            ("HTTP/1.1 307 Elsewhere\r\nLocation: https://a@127.0.0.1/\r\nContent-Length: 0\r\n\r\n", .invalidResponse),
            ("HTTP/1.1 307 Elsewhere\r\nLocation: https://example.com/\r\nContent-Length: 0\r\n\r\n", .other),
            ("HTTP/1.1 307 Elsewhere\r\nLocation: /hook\r\nContent-Length: 0\r\n\r\n", .circularRedirect),
        ] as [(String, SendAttemptResult)])
    func anAnswerHasApplesWord(answer: String, word: SendAttemptResult) async throws {
        let receiver = try Receiver(.text(answer))
        #expect(try await send(to: receiver.origin + "/hook") == word)
        #expect(receiver.server.connections == 1)
    }

    @Test func theRequestIsAPostOfTheSignedPayload() async throws {
        let receiver = try Receiver(.text(Receiver.ok))
        #expect(try await send(to: receiver.origin + "/hook?a=b") == .success)
        var requests = receiver.requests.makeAsyncIterator()
        let request = try #require(await requests.next())
        #expect(request.hasPrefix("POST /hook?a=b HTTP/1.1\r\n"))
        #expect(request.hasSuffix("\r\n\r\n" + #"{"signedPayload":"e30.e30.e30"}"#))
        #expect(request.contains("Content-Type: application/json\r\n") && !request.contains("Expect:"))
    }

    @Test func anAnswerThatDoesNotComeInTimeHasTimedOut() async throws {
        for start in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1"] {
            let receiver = try Receiver(.silent(start))
            #expect(try await send(to: receiver.origin, limit: .milliseconds(300)) == .timedOut)
        }
    }

    @Test func anEndlessAnswerIsCutOff() async throws {
        let receiver = try Receiver(.endless(head: "HTTP/1.1 200 OK\r\n\r\n"))
        #expect(try await send(to: receiver.origin) == .success)
        let line = "X-Long: " + String(repeating: "a", count: 1_000) + "\r\n"
        let long = try Receiver(.text("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 100) + "\r\n"))
        #expect(try await send(to: long.origin) == .invalidResponse)
        // One field that does not end.
        let field = try Receiver(.endless(head: "HTTP/1.1 200 OK\r\nX-Long: "))
        let result = try await send(to: field.origin)
        #expect(result == .invalidResponse || result == .other)
    }

    @Test func aServerThatIsNotThereOrSpeaksNoTLS() async throws {
        let nobody = try RawServer(nil)
        nobody.close()
        #expect(try await send(to: "http://127.0.0.1:\(nobody.port)") == .socketIssue)
        // The plain server takes the beginning of TLS for a request.
        let plain = try RawServer { connection, _ in
            _ = connection.read(1)
            connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        defer { plain.close() }
        #expect(try await send(to: "https://127.0.0.1:\(plain.port)") == .tlsIssue)
    }

    @Test(arguments: [301, 302, 307, 308]) func fiveRedirectsAreFollowed(status: Int) async throws {
        let target = try Receiver(.text(Receiver.ok))
        let end = target.origin + "/end"
        let receiver = try Receiver { request in
            let step = request.firstMatch(of: /^POST \/(\d)/).flatMap { Int($0.1) } ?? 0
            return step < 4 ? Receiver.redirect("\(step + 1)", status: status) : Receiver.redirect(end, status: status)
        }
        #expect(try await send(to: receiver.origin + "/0", origins: [target.origin]) == .success)
        #expect(receiver.server.connections == 5 && target.server.connections == 1)
        var requests = target.requests.makeAsyncIterator()
        let request = try #require(await requests.next())
        #expect(request.hasSuffix(#"{"signedPayload":"e30.e30.e30"}"#))
    }

    @Test func aSixthRedirectIsOneTooMany() async throws {
        let receiver = try Receiver { request in
            let step = request.firstMatch(of: /^POST \/(\d)/).flatMap { Int($0.1) } ?? 0
            return Receiver.redirect("/\(step + 1)")
        }
        #expect(try await send(to: receiver.origin + "/0") == .circularRedirect)
        #expect(receiver.server.connections == 6)
    }

    @Test func nothingIsSentToAnOriginThatIsNotListed() async throws {
        let other = try Receiver(.text(Receiver.ok))
        let receiver = try Receiver(Receiver.redirect(other.origin))
        #expect(try await send(to: receiver.origin) == .other)
        #expect(try await send(to: receiver.origin, origins: ["https://127.0.0.1:\(other.server.port)"]) == .other)
        #expect(other.server.connections == 0)
    }

    @Test func aCancelledAttemptHasNoResult() async throws {
        let receiver = try Receiver(.silent(""))
        let origin = receiver.origin
        let task = Task { try await send(to: origin) }
        var requests = receiver.requests.makeAsyncIterator()
        _ = await requests.next()
        task.cancel()
        #expect(try await task.value == nil)
    }
}

@Suite("Sending notifications", .timeLimit(.minutes(1))) struct NotificationSenderTests {
    /// An attempt that may take this long ends after every test.
    private static let never = Duration.seconds(600)

    private static func set(
        _ server: RunningServer, _ url: String, _ bundle: BundleID = RunningServer.bundleID,
        _ environment: StoreEnvironment = .sandbox
    ) async throws {
        let route = ControlRoute.notifications(.setReceiver(environment, bundle: bundle.rawValue))
        let body = try JSONEncoder().encode(ControlAPI.NotificationReceiverChange(url: url))
        let reply = try await server.control("PUT", route.path, String(decoding: body, as: UTF8.self))
        #expect(reply.status == 200, "\(reply.text)")
    }

    private static func list(_ server: RunningServer) async throws -> [ControlAPI.Notification] {
        let route = ControlRoute.notifications(.list(.sandbox))
        return try await server.control("GET", route.path).decoded(ControlAPI.Page<ControlAPI.Notification>.self).rows
    }

    /// Waits until no notification waits. The result of an attempt is recorded after the receiver has answered.
    private static func settled(_ server: RunningServer) async throws -> [ControlAPI.Notification] {
        let changes = server.application.changes
        while true {
            let snapshot = changes.snapshot
            let rows = try await list(server)
            if rows.allSatisfy({ $0.state != "waiting" }) { return rows }
            _ = try await changes.wait(since: snapshot, upTo: .milliseconds(250))
        }
    }

    @Test func whatHappensReachesTheReceiverInOrder() async throws {
        try await withServer { server async throws in
            let receiver = try Receiver(.text(Receiver.ok))
            try await Self.set(server, receiver.origin + "/apple")
            let session = try await server.signIn()
            var bought: [String?] = []
            for product in ["club.monthly", "credits5"] as [ProductID] {
                let response = try await server.device(
                    .purchases, token: session.token, body: server.purchase(product)
                ).decoded(PurchaseResponse.self)
                bought.append(response.transaction?.transactionID.description)
            }
            try await server.application.sandbox.changeClock { try $0.advance(by: 100 * 86_400_000) }
            var received: [Received] = []
            for await request in receiver.requests {
                received.append(try Received(request))
                if received.count == 5 { break }
            }
            let club = received.filter { $0.type != "ONE_TIME_CHARGE" }
            #expect(club.map(\.type) == ["SUBSCRIBED", "DID_RENEW", "DID_RENEW", "DID_RENEW"])
            #expect(club.first?.transactionID == bought[0])
            #expect(Set(received.map(\.notificationID)).count == 5)
            #expect(received.first { $0.type == "ONE_TIME_CHARGE" }?.transactionID == bought[1])
            let rows = try await Self.settled(server)
            #expect(rows.count == 5)
            #expect(rows.allSatisfy { $0.state == "delivered" })
            #expect(rows.allSatisfy { $0.sendAttempts.map(\.sendAttemptResult) == ["SUCCESS"] })
        }
    }

    @Test func aReceiverThatHangsDelaysNoOtherApp() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let catalog =
                RunningServer.catalogText + """

                      - bundleID: com.example.second
                        products: [{ productID: thing, type: Consumable, displayPrice: 1 }]
                    """
            try Data(catalog.utf8).write(to: directory.url.appendingPathComponent("catalog.yaml"))
            try await RunningServer.with(
                directory.url, { $0.notificationLimit = Self.never }
            ) { server async throws in
                let (hanging, good) = (try Receiver(.silent("")), try Receiver(.text(Receiver.ok)))
                try await Self.set(server, hanging.origin)
                try await Self.set(server, good.origin, "com.example.second")
                let token = try await server.signIn().token
                for _ in 0..<20 {
                    _ = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
                }
                var hung = hanging.requests.makeAsyncIterator()
                for _ in 0..<NotificationSender.placesOfApp { _ = await hung.next() }
                // No more than its places at the same time.
                #expect(hanging.server.connections == NotificationSender.placesOfApp)
                var request = server.purchase("thing")
                request.bundleID = "com.example.second"
                _ = try await server.device(.purchases, token: token, body: request)
                var received = good.requests.makeAsyncIterator()
                let text = try #require(await received.next())
                #expect(try Received(text).type == "ONE_TIME_CHARGE")
            }
        }
    }

    /// Forty apps whose servers are gone, never stop to answer, or never answer, and eight whose servers are well.
    @Test func manyDeadReceiversDelayNoOtherApp() async throws {
        let (bad, good) = (Self.apps("bad", 20), Self.apps("good", 4))
        try await TemporaryDirectory.with { directory async throws in
            let catalog =
                RunningServer.catalogText
                + (bad + good).map { bundle in
                    "\n  - bundleID: \(bundle)\n    products:\n"
                        + "      - { productID: \(bundle).thing, type: Consumable, displayPrice: 1 }\n"
                }.joined()
            try Data(catalog.utf8).write(to: directory.url.appendingPathComponent("catalog.yaml"))
            try await RunningServer.with(
                directory.url, { $0.notificationLimit = Self.never }
            ) { server async throws in
                let gone = try RawServer(nil)
                gone.close()
                let endless = try Receiver(.endless(head: "HTTP/1.1 200 OK\r\n\r\n"))
                let silent = try bad.dropFirst(10).map { _ in try Receiver(.silent("HTTP/1.1 200 OK\r\n")) }
                let well = try good.map { _ in try Receiver(.text(Receiver.ok)) }
                let field = try Receiver(.endless(head: "HTTP/1.1 200 OK\r\nX-Long: "))
                let cutOff = [endless, field, endless, field, endless].map(\.origin)
                let dead = [String](repeating: gone.url, count: 5) + cutOff
                for (bundle, url) in zip(bad, dead + silent.map(\.origin)) { try await Self.set(server, url, bundle) }
                for (bundle, receiver) in zip(good, well) { try await Self.set(server, receiver.origin, bundle) }
                // One more than the places of an app among so many.
                let count = NotificationSender.places / (bad.count + good.count) + 1
                for (number, bundle) in bad.enumerated() {
                    // The others' attempts end at once.
                    for _ in 0..<(number < dead.count ? 1 : count) { _ = try await Self.sendTest(server, bundle) }
                }
                for receiver in silent { _ = try await receiver.next() }
                // An app that waited for an attempt without an answer would wait until the test ends.
                for (bundle, receiver) in zip(good, well) {
                    let sent = try await Self.sendTest(server, bundle)
                    #expect(try await receiver.next() == sent.notificationUUID)
                }
                #expect(try await Self.list(server).contains { $0.state == "waiting" })
            }
        }
    }

    private static func apps(_ name: String, _ count: Int) -> [BundleID] {
        (0..<count).map { BundleID("com.example.\(name)\($0)") }
    }

    /// Has a test notification sent to an app's server.
    private static func sendTest(
        _ server: RunningServer, _ bundle: BundleID
    ) async throws -> ControlAPI.Notification {
        let route = ControlRoute.notifications(.test(.sandbox, bundle: bundle.rawValue))
        return try await server.control("POST", route.path).decoded(ControlAPI.Notification.self)
    }

    @Test func anAppWhoseNotificationsCannotBeReadDelaysNoOther() async throws {
        try await withServer { server async throws in
            let receiver = try Receiver(.text(Receiver.ok))
            let file = server.directory.appendingPathComponent("databases/sandbox.sqlite").path
            let database = try await Database.open(
                .sqlite(path: file), migrations: StoreSchema.migrations, logger: .silent)
            // The sandbox's app comes before production's.
            try await database.write { connection in
                try connection.execute(
                    """
                    INSERT INTO notifications (number, notification_id, bundle_id, lane, type, date, transaction_id,
                        state, due_at, attempts, send_log)
                    VALUES (1, 'broken', $1, 1, 'TEST', 1, 'no number', 'waiting', 0, 0, '')
                    """, [RunningServer.bundleID.rawValue])
            }
            await database.close()
            try await Self.set(server, receiver.origin)
            try await Self.set(server, receiver.origin, RunningServer.bundleID, .production)
            let route = ControlRoute.notifications(.test(.production, bundle: RunningServer.bundleID.rawValue))
            let sent = try await server.control("POST", route.path).decoded(ControlAPI.Notification.self)
            #expect(try await receiver.next() == sent.notificationUUID)
        }
    }

    @Test func theVersionOfTheAppThatAskedForAReceiptIsSaid() async throws {
        try await withServer { server async throws in
            let receiver = try Receiver(.text(Receiver.ok))
            try await Self.set(server, receiver.origin)
            let token = try await server.signIn().token
            var requests = receiver.requests.makeAsyncIterator()
            for version in [nil, "1.2"] {
                _ = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
                let request = try #require(await requests.next())
                #expect(try Received(request).bundleVersion == version)
                let receipt = try await server.device(
                    .appReceipt, token: token, body: RunningServer.receiptRequest)
                #expect(receipt.status == 200)
            }
        }
    }

    @Test func anAttemptThatAStopCutsOffIsMadeAgain() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let count = Mutex(0)
            // The first request has no answer.
            let receiver = try Receiver { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number == 1 ? .silent("") : .text(Receiver.ok)
            }
            let first = try await RunningServer.with(directory.url) { server async throws in
                try await Self.set(server, receiver.origin)
                let token = try await server.signIn().token
                _ = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
                return try await receiver.next()
            }
            try await RunningServer.with(directory.url) { server async throws in
                #expect(try await receiver.next() == first)
                let rows = try await Self.settled(server)
                #expect(rows.map(\.state) == ["delivered"] && rows[0].sendAttempts.count == 1)
            }
        }
    }

    @Test func theOperatorSetsTestsResendsAndRemoves() async throws {
        try await withServer { server async throws in
            func control(_ route: NotificationRoute, _ body: String? = nil) async throws -> RunningServer.Reply {
                let route = ControlRoute.notifications(route)
                return try await server.control(route.method.rawValue, route.path, body)
            }
            let bundle = RunningServer.bundleID.rawValue
            #expect(try await control(.test(.sandbox, bundle: bundle)).status == 409)
            for (body, status) in [
                (#"{"url": "http://example.com"}"#, 400), (#"{}"#, 400),
                (#"{"url": "https://example.com", "redirectOrigins": ["x"]}"#, 400),
                (#"{"url": "https://example.com", "redirectOrigins": ["https://a.example"]}"#, 200),
            ] {
                #expect(try await control(.setReceiver(.production, bundle: bundle), body).status == status, "\(body)")
            }
            let unknown = try await control(.setReceiver(.sandbox, bundle: "x"), #"{"url": "https://a.example"}"#)
            #expect(unknown.status == 404)
            let listed = try await control(.receivers(.production)).decoded([ControlAPI.NotificationReceiver].self)
            #expect(
                listed == [
                    ControlAPI.NotificationReceiver(
                        bundleId: bundle, url: "https://example.com/", redirectOrigins: ["https://a.example"])
                ])
            #expect(try await control(.receivers(.sandbox)).decoded([ControlAPI.NotificationReceiver].self).isEmpty)

            let receiver = try Receiver(.text("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
            try await Self.set(server, receiver.origin)
            let sent = try await control(.test(.sandbox, bundle: bundle)).decoded(ControlAPI.Notification.self)
            #expect(sent.notificationType == "TEST" && sent.state == "waiting")
            #expect(try await receiver.next() == sent.notificationUUID)
            #expect(try await Self.settled(server).map(\.state) == ["failed"])
            // Identifiers are found in any letter case.
            let identifier = sent.notificationUUID.uppercased()
            #expect(try await control(.resend(.sandbox, id: identifier)).status == 200)
            #expect(try await receiver.next() == sent.notificationUUID)
            _ = try await Self.settled(server)
            let shown = try await control(.notification(.sandbox, id: identifier))
                .decoded(ControlAPI.Notification.self)
            #expect(shown.notificationUUID == sent.notificationUUID)
            #expect(
                shown.sendAttempts.map(\.sendAttemptResult)
                    == Array(
                        repeating: "UNSUCCESSFUL_HTTP_RESPONSE_CODE", count: 2))
            #expect(shown.signedPayload?.split(separator: ".").count == 3 && shown.nextAttemptDate == nil)
            #expect(try await control(.notification(.sandbox, id: "x")).status == 404)
            #expect(try await control(.list(.sandbox, state: "lost")).status == 400)
            #expect(try await control(.list(.sandbox, before: "x")).status == 400)
            #expect(try await control(.list(.sandbox, type: "LOST")).status == 400)
            for (type, count) in [("TEST", 1), ("DID_RENEW", 0)] {
                let page = try await control(.list(.sandbox, type: type))
                    .decoded(ControlAPI.Page<ControlAPI.Notification>.self)
                #expect(page.rows.count == count, "\(type)")
            }

            for (body, status) in [
                (#"{}"#, 400), (#"{"notificationType": "DID_RENEW"}"#, 400), (#"{"notificationType": "X"}"#, 400),
                (#"{"notificationType": "PRICE_CHANGE", "subtype": "X"}"#, 400),
                (#"{"notificationType": "PRICE_CHANGE"}"#, 200),
            ] {
                #expect(try await control(.sample(.sandbox, bundle: bundle), body).status == status, "\(body)")
            }
            let rows = try await Self.settled(server)
            #expect(rows.filter(\.isSample).map(\.notificationType) == ["PRICE_CHANGE"])

            #expect(try await control(.removeReceiver(.sandbox, bundle: bundle)).status == 204)
            #expect(try await control(.test(.sandbox, bundle: bundle)).status == 409)
            let audit = try await server.control("GET", ControlRoute.audit().path).text
            #expect(audit.contains("notification-urls") && audit.contains("sample PRICE_CHANGE"))
        }
    }
}
