import Foundation
import Hummingbird
import Logging
import NIOCore
import StoreWire
import TestSupport
import Testing

@testable import HTTPSupport
@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct BadInputTests {
    /// The paths that take JSON, with what is first missing from an empty object.
    private static let doors: [(StoreRoute, String)] = [
        (.signIn, "email"), (.products, "bundleId"), (.purchases, "idempotencyKey"), (.appReceipt, "bundleId"),
        (.transactionReceipt(TransactionID(rawValue: 2_000_000_000_000_001)), "bundleId"), (.writeReview, "bundleId"),
    ]

    @Test func malformedJSONIsRefusedAtEachDoor() async throws {
        let deep = String(repeating: "[", count: 15_000)
        let bodies = [
            "", "{", "nonsense", "\u{0}", "null", "[]", "\"x\"", "7", "{\"a\":}", deep, "{\"a\":" + deep,
            "{\"email\":\"\u{1}",
            "{\"email\": 1e999}", "\u{FEFF}{",
        ]
        try await withServer { server async throws in
            let token = try await server.signIn().token
            for (route, key) in Self.doors {
                let url = server.addresses.sandbox + route.path
                for body in bodies.map({ Array($0.utf8) }) + [
                    [0xFF, 0xFE, 0x00], [0x7B, 0x22, 0xC3, 0x28, 0x22, 0x7D],
                ] {
                    let reply = try await server.send("POST", url, token: token, body: body)
                    #expect(reply.status == 400 && reply.code == "invalid_request", "\(route) \(body.prefix(20))")
                    #expect(reply.headers.first(name: "x-request-id") == reply.json["requestId"] as? String)
                }
                let empty = try await server.send("POST", url, token: token, body: Array("{}".utf8))
                #expect(empty.json["message"] as? String == "“\(key)” is missing.", "\(route)")
                let null = try await server.send("POST", url, token: token, body: Array("{\"\(key)\":null}".utf8))
                #expect((null.json["message"] as? String)?.contains("“\(key)”") == true, "\(route): \(null.text)")
                let wrong = try await server.send("POST", url, token: token, body: Array("{\"\(key)\":[1]}".utf8))
                #expect((wrong.json["message"] as? String)?.contains("“\(key)") == true, "\(route): \(wrong.text)")
            }
            let bad = try await server.send(
                "GET", server.addresses.sandbox + "/device/v1/transactions/unfinished", token: token)
            #expect(bad.status == 400 && (bad.json["message"] as? String)?.contains("“bundle”") == true)
            for after in ["x", "-1", "99999999999999999999", "1e3", ""] {
                let path = "/device/v1/transactions/unfinished?bundle=a&after=\(after)"
                #expect(
                    try await server.send("GET", server.addresses.sandbox + path, token: token).status == 400,
                    "\(after)")
            }
            for id in ["x", "0", "-5", "9007199254740992", "%00"] {
                let path = "/device/v1/transactions/\(id)/finish"
                #expect(
                    try await server.send("POST", server.addresses.sandbox + path, token: token).status == 400, "\(id)")
            }
            let unknown = try await server.device(.finish(TransactionID(rawValue: 5)), token: token)
            #expect(unknown.status == 404 && unknown.code == "unknown_transaction")
        }
    }

    @Test func bodiesOverTheLimitAre413AndTheServerGoesOn() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            for (route, limit) in [
                (StoreRoute.signIn, 16 << 10), (.purchases, 16 << 10), (.products, StoreLimits.deviceRequest),
            ] {
                let reply = try await server.send(
                    "POST", server.addresses.sandbox + route.path, token: token,
                    body: [UInt8](repeating: 0x20, count: limit + 1))
                #expect(reply.status == 413 && reply.code == "too_large", "\(route)")
                let fits = try await server.send(
                    "POST", server.addresses.sandbox + route.path, token: token,
                    body: [UInt8](repeating: 0x20, count: limit))
                #expect(fits.status == 400, "\(route)")
            }
            // Not announced, but sent in pieces.
            let port = server.port(server.addresses.sandbox)
            let answer = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                connection.write(
                    "POST /device/v1/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
                let piece = "1000\r\n" + String(repeating: " ", count: 4096) + "\r\n"
                for _ in 0..<5 where !connection.isReadable(within: 0) { connection.write(piece) }
                return connection.read()
            }
            #expect(answer.hasPrefix("HTTP/1.1 413"))
            let big = try await server.send(
                "POST", server.addresses.sandbox + "/verifyReceipt",
                body: [UInt8](repeating: 0x20, count: StoreLimits.verifyReceiptRequest + 1))
            #expect(big.status == 200 && big.text == #"{"status":21002}"#)
            let broken = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                connection.write(
                    "POST /verifyReceipt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n")
                return connection.read()
            }
            #expect(broken.hasPrefix("HTTP/1.1 200") && broken.contains(#"{"status":21000}"#), "\(broken)")
            #expect(try await server.device(.account, token: token).status == 200)
        }
    }

    @Test func verifyReceiptAnswers200Throughout() async throws {
        try await withServer { server async throws in
            let url = server.addresses.sandbox + "/verifyReceipt"
            for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
                let reply = try await server.send(method, url)
                #expect(reply.status == 200 && reply.text == #"{"status":21000}"#, "\(method)")
            }
            for type in [
                "application/json", "application/x-www-form-urlencoded", "text/plain", "image/png", "nonsense", "",
            ] {
                let reply = try await server.send(
                    "POST", url, headers: [("Content-Type", type)], body: Array(#"{"receipt-data":"AAAA"}"#.utf8))
                #expect(reply.status == 200 && reply.text == #"{"status":21002}"#, "\(type)")
                #expect(reply.headers.first(name: "content-type")?.hasPrefix("application/json") == true)
            }
            for body in ["", "{", "x=y", "{}", "[[[["] {
                #expect(try await server.send("POST", url, body: Array(body.utf8)).status == 200)
            }
        }
    }

    /// RFC 9112, section 9.3: such clients wait for the connection's end.
    @Test(
        arguments: [
            "GET /nowhere HTTP/1.0\r\n\r\n", "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: Close\r\n\r\n",
            "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: TE, close\r\n\r\n",
            "POST /verifyReceipt HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
            "POST /verifyReceipt HTTP/1.0\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        ])
    func theLastRequestOfAConnectionIsAnsweredAndTheConnectionClosed(request: String) async throws {
        try await withServer { server in
            let port = server.port(server.addresses.sandbox)
            let (answer, isClosed) = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                connection.write(request)
                let answer = connection.read(until: "HTTP/1.1 200 OK\r\nis never sent twice")
                return (answer, connection.isAtEnd)
            }
            #expect(answer.hasPrefix(request.hasPrefix("GET") ? "HTTP/1.1 404" : "HTTP/1.1 200"))
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
            #expect(isClosed)
        }
    }

    @Test func onlyTheLastOfSeveralRequestsEndsTheConnection() async throws {
        try await withServer { server in
            let port = server.port(server.addresses.sandbox)
            let answers = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                let request = "GET /verifyReceipt HTTP/1.1\r\nHost: localhost\r\n"
                // All in one go, so that the last is read before the first is answered.
                connection.write(request + "\r\n" + request + "\r\n" + request + "Connection: Close\r\n\r\n")
                return connection.read(until: "HTTP/1.1 200 OK\r\nis never sent twice")
            }
            let closes = answers.lowercased().components(separatedBy: "http/1.1 200").dropFirst().map {
                $0.contains("\r\nconnection: close\r\n")
            }
            #expect(closes == [false, false, true], "\(answers)")
        }
    }

    @Test func aRequestNamesItsHostOnce() async throws {
        let get = "GET /verifyReceipt HTTP/1.1\r\n"
        let requests: [(String, String)] = [
            (get + "Host: localhost\r\n", "200"), (get, "400"), (get + "Host: localhost\r\nHost: localhost\r\n", "400"),
            (get + "Host: a\r\nhost: b\r\n", "400"), (get + "Host: a b\r\n", "400"), (get + "Host: a/b\r\n", "400"),
            ("GET /nowhere HTTP/1.1\r\n", "400"), ("GET /verifyReceipt HTTP/1.0\r\n", "200"),
            ("GET /verifyReceipt HTTP/1.0\r\nHost: a\r\nHost: a\r\n", "400"),
        ]
        try await withServer { server async throws in
            let port = server.port(server.addresses.sandbox)
            for (request, status) in requests {
                let answer = try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write(request + "Connection: close\r\n\r\n")
                    return connection.read()
                }
                #expect(answer.dropFirst(9).prefix(3) == status, "\(request): \(answer.prefix(200))")
            }
        }
    }

    @Test func hostileHeadersCloseOneConnectionOnly() async throws {
        let long = String(repeating: "a", count: 100_000)
        let requests = [
            "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: \(long)\r\n\r\n",
            "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET / HTTP/1.1\r\n" + (0..<2000).map { "X-\($0): y\r\n" }.joined() + "\r\n", "nonsense\r\n\r\n",
            "\r\n\r\n\r\n",
            "GET / HTTP/9.9\r\n\r\n", "POST /device/v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
            "POST /device/v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "POST /device/v1/session HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
            "\u{16}\u{3}\u{1}\u{0}",
            "GET /device/v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(String(repeating: "x", count: 9000))\r\nConnection: close\r\n\r\n",
        ]
        try await withServer { server async throws in
            let port = server.port(server.addresses.sandbox)
            for (index, request) in requests.enumerated() {
                let answer = try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write(request)
                    // Nothing more comes: what is incomplete is never answered, and the other end need not be waited
                    // for.
                    return connection.isReadable(within: 3000) ? connection.read() : ""
                }
                #expect(
                    !answer.hasPrefix("HTTP/1.1 200") && !answer.hasPrefix("HTTP/1.1 500"),
                    "\(index): \(answer.prefix(60))")
            }
            #expect(try await server.device(.account, token: try await server.signIn().token).status == 200)
        }
    }

    @Test func manyIdleConnectionsDoNotStopTheServer() async throws {
        try await withServer { server async throws in
            let port = server.port(server.addresses.sandbox)
            let answer = try await RawConnection.run {
                // Below the bound, which is well below what the process may open.
                let idle = try (0..<min(200, ServerLimits.Values().connections - 1)).map { index in
                    let connection = try RawConnection(port: port)
                    if index % 2 == 0 { connection.write("POST /device/v1/session HTTP/1.1\r\nHost: a\r\nContent-Le") }
                    return connection
                }
                let connection = try RawConnection(port: port)
                connection.write("GET /verifyReceipt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return withExtendedLifetime(idle) { connection.read(until: "21000") }
            }
            #expect(answer.contains(#"{"status":21000}"#))
        }
    }

    @Test func theConnectionsOfAPortAreBounded() {
        for ports in [-1, 0, 1, 3, 1000, .max] {
            #expect((32...4096).contains(ServerLimits.mostConnections(sharedBy: ports)))
        }
        for (files, ports) in [(1_024, 6), (1_024, 1), (4_096, 5), (20_000, 4), (1_048_576, 6)] {
            for databases in [0, 400] {
                let most = ServerLimits.mostConnections(
                    sharedBy: ports, databaseConnections: databases, files: files)
                // Each connection may have a file that it sends.
                #expect(most == 32 || 2 * ports * most + databases + 256 <= files, "\(files) \(ports) \(databases)")
            }
        }
    }

    /// Servers that are stopped while connections come in, as many as the clients can open.
    @Test func aServerStopsUnderARushOfConnections() async throws {
        for _ in 0..<20 {
            let (rush, stop) = AsyncStream.makeStream(of: Never.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (ports, port) = AsyncStream.makeStream(of: UInt16.self)
                group.addTask {
                    let router = Router()
                    router.get("/") { _, _ in "here" }
                    try await LoopbackServer.with(router) { url in
                        port.yield(UInt16(url.port ?? 0))
                        for await _ in rush {}
                    }
                }
                var iterator = ports.makeAsyncIterator()
                let number = try #require(await iterator.next())
                group.addTask {
                    try await RawConnection.run {
                        let end = ContinuousClock.now + .seconds(60)
                        var opened = 0
                        while (try? RawConnection(port: number)) != nil, ContinuousClock.now < end {
                            opened += 1
                            if opened == 50 { stop.finish() }
                        }
                        #expect(ContinuousClock.now < end)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private struct Secret: Error, CustomStringConvertible { var description: String { "the password is banana" } }

    @Test(arguments: [Logger.quiet, Logger.silent]) func anUnknownErrorShowsNothingOfItself(_ logger: Logger)
        async throws
    {
        let router = Router()
        router.add(middleware: ProblemMiddleware { _ in nil })
        router.get("/broken") { _, _ -> String in throw Secret() }
        let (ready, tell) = AsyncStream.makeStream(of: UInt16.self)
        let application = Application(
            router: router, server: ServerLimits().server(),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { tell.yield(UInt16($0.localAddress?.port ?? 0)) }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.runService(gracefulShutdownSignals: []) }
            for await port in ready {
                let answer = try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write("GET /broken HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    return connection.read(until: "}")
                }
                #expect(
                    answer.hasPrefix("HTTP/1.1 500") && answer.contains("internal_error")
                        && answer.contains("requestId"))
                #expect(!answer.contains("banana") && !answer.contains("Secret"))
                break
            }
            group.cancelAll()
        }
    }
}
