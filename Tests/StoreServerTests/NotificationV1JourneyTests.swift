import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// A server that receives notifications of version 1. It takes the first and refuses the others.
private final class ReceiverV1: Sendable {
    let server: RawServer
    private let bodies: AsyncStream<String>

    init() throws {
        let (bodies, body) = AsyncStream.makeStream(of: String.self)
        self.bodies = bodies
        server = try RawServer { connection, number in
            // The unified receipt is the last member.
            let request = connection.read(until: #""status":0}}"#)
            guard let head = request.range(of: "\r\n\r\n") else { return }
            body.yield(String(request[head.upperBound...]))
            let status = number == 0 ? "200 OK" : "503 Busy"
            connection.write("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
        }
    }

    deinit { server.close() }

    /// The body of the next request.
    func next() async throws -> [String: Any] {
        var iterator = bodies.makeAsyncIterator()
        let text = try #require(await iterator.next())
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }
}

@Suite("Sending notifications of version 1", .timeLimit(.minutes(1))) struct NotificationV1JourneyTests {
    private static func sameJSON(_ left: Any?, _ right: Any?) throws -> Bool {
        let (one, other) = (try #require(left as? [[String: Any]]), try #require(right as? [[String: Any]]))
        return try !one.isEmpty
            && JSONSerialization.data(withJSONObject: one, options: .sortedKeys)
                == JSONSerialization.data(withJSONObject: other, options: .sortedKeys)
    }

    @Test(arguments: Backend.available)
    func aReceiverOfVersion1GetsItsBodies(_ backend: Backend) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
                let log = LogLines()
                let change: (inout StoreServerConfiguration) -> Void = { configuration in
                    (configuration.databaseURL, configuration.schemaPrefix) = (url, prefix)
                }
                try await RunningServer.with(directory.url, logger: log.logger, change) { server async throws in
                    try await Self.journey(server, log)
                }
            }
        }
    }

    private static func journey(_ server: RunningServer, _ log: LogLines) async throws {
        func control(_ route: NotificationRoute, _ body: String? = nil) async throws -> RunningServer.Reply {
            let route = ControlRoute.notifications(route)
            return try await server.control(route.method.rawValue, route.path, body)
        }
        let bundle = RunningServer.bundleID.rawValue
        let receiver = try ReceiverV1()
        let url = "http://127.0.0.1:\(receiver.server.port)/apple"
        #expect(
            try await control(.setReceiver(.sandbox, bundle: bundle), #"{"url": "\#(url)", "version": 3}"#).status
                == 400)
        let set = try await control(.setReceiver(.sandbox, bundle: bundle), #"{"url": "\#(url)", "version": 1}"#)
        let expected = ControlAPI.NotificationReceiver(bundleId: bundle, url: url, redirectOrigins: [], version: 1)
        #expect(try set.decoded(ControlAPI.NotificationReceiver.self) == expected)
        #expect(
            try await control(.receivers(.sandbox)).decoded([ControlAPI.NotificationReceiver].self) == [expected])
        #expect(try await control(.test(.sandbox, bundle: bundle)).status == 409)

        let secret = try #require(server.application.apps[RunningServer.bundleID]?.sharedSecret)
        let token = try await server.signIn().token
        _ = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
        _ = try await server.device(.purchases, token: token, body: server.purchase("club.monthly"))
        let first = try await receiver.next()
        #expect(first["notification_type"] as? String == "INITIAL_BUY")
        #expect(first["password"] as? String == secret && first["environment"] as? String == "Sandbox")
        let unified = try #require(first["unified_receipt"] as? [String: Any])
        let text = try #require(unified["latest_receipt"] as? String)
        let receipt = [UInt8](try #require(Data(base64Encoded: text)))
        let answer = try await server.verify(receipt, password: secret).json
        #expect(answer["status"] as? Int == 0)
        #expect(try sameJSON(unified["latest_receipt_info"], answer["latest_receipt_info"]))
        #expect(try sameJSON(unified["pending_renewal_info"], answer["pending_renewal_info"]))

        // The next one is refused, and the sandbox gives up.
        try await server.application.sandbox.changeClock { try $0.advance(by: 32 * 86_400_000) }
        #expect(try await receiver.next()["notification_type"] as? String == "DID_RENEW")
        for await line in log.arrivals where line.text.contains("not sent any more") {
            #expect(line.text.contains("DID_RENEW"))
            break
        }
        let listed = try await control(.list(.sandbox))
        let rows = try listed.decoded(ControlAPI.Page<ControlAPI.Notification>.self).rows
        #expect(rows.map(\.notificationType) == ["DID_RENEW", "INITIAL_BUY"])
        #expect(rows.map(\.state) == ["failed", "delivered"] && rows.allSatisfy { $0.version == 1 && $0.body == nil })
        let shown = try await control(.notification(.sandbox, id: try #require(rows.first).notificationUUID))
        let notification = try shown.decoded(ControlAPI.Notification.self)
        #expect(notification.signedPayload == nil && notification.body?.contains("unified_receipt") == true)
        for text in [listed.text, shown.text] + log.all.map(\.text) {
            #expect(!text.contains(secret), "\(text.prefix(200))")
        }
    }
}
