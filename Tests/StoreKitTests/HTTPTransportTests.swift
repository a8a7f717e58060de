import Foundation
import Hummingbird
import StoreWire
import Testing

@testable import StoreKit

/// Serves a ``FakeStore`` over HTTP on a free port.
func withServer(_ store: FakeStore, _ body: @escaping @Sendable (URL) async throws -> Void) async throws {
    let router = Router()
    let routes: [StoreRoute] = [.signIn, .products, .purchases, .appReceipt]
    for route in routes {
        router.on(RouterPath(route.template), method: .init(route.method.rawValue) ?? .get) { request, _ in
            try await respond(store, route, request)
        }
    }
    router.get("/device/v1/transactions/unfinished") { request, _ in
        let after = request.uri.queryParameters["after"].flatMap { TransactionID($0) }
        return try await respond(store, .unfinishedTransactions("com.example.monkeys", after: after), request)
    }
    router.post("/device/v1/transactions/:id/finish") { request, context in
        try await respond(
            store, .finish(TransactionID(try context.parameters.require("id")) ?? TransactionID(rawValue: 0)), request)
    }
    router.post("/device/v1/transactions/:id/receipt") { request, context in
        try await respond(
            store,
            .transactionReceipt(TransactionID(try context.parameters.require("id")) ?? TransactionID(rawValue: 0)),
            request)
    }
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { port.yield($0.localAddress?.port ?? 0) })
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await application.run() }
        var iterator = ports.makeAsyncIterator()
        let number = try #require(await iterator.next())
        let url = try #require(URL(string: "http://127.0.0.1:\(number)/"))
        try await body(url)
        group.cancelAll()
    }
}

private func respond(_ store: FakeStore, _ route: StoreRoute, _ request: Request) async throws -> Response {
    let body = try await request.body.collect(upTo: StoreLimits.deviceRequest)
    let token = request.headers[.authorization].map { String($0.dropFirst("Bearer ".count)) }
    let answer = try await store.send(
        StoreTransportRequest(route: route, body: body.readableBytes > 0 ? Data(buffer: body) : nil, token: token))
    return Response(status: .init(code: answer.status), body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
}

@Suite("Over HTTP", .timeLimit(.minutes(1)))
struct HTTPTransportTests {
    @Test func `a purchase goes through sockets as it does without`() async throws {
        let device = try TestDevice()
        try await withServer(device.store) { url in
            var configuration = device.configuration()
            configuration.store = url
            let transport = try #require(HTTPTransport(store: url))
            let engine = device.launch(configuration, transport: transport)
            let queue = SKPaymentQueue(engine: engine)
            let observer = GrantBook().observer()
            queue.add(observer)
            queue.add(payment(quantity: 2))
            await observer.wait(count: 3)
            #expect(device.store.finished.count == 1)
            #expect(device.store.change { $0.vendors } == [try DeviceFolder(device.folder).vendorIdentifier])
            await engine.stop()
        }
    }

    @Test func `a port where nobody listens is unreachable`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let transport = try #require(HTTPTransport(store: url))
        await #expect(throws: StoreFailure.unreachable) {
            _ = try await StoreClient(transport: transport).products(
                ProductsRequest(bundleID: "a", productIDs: [], languages: []), token: nil)
        }
    }

    @Test(arguments: ["ftp://a", "file:///etc", "http://", "http://user:pass@a", "http://a?b", "nonsense"])
    func `other addresses are refused`(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(HTTPTransport(store: url) == nil)
    }
}

@Suite("The monkey-credits command", .timeLimit(.minutes(1)))
struct MonkeyCreditsCommandTests {
    private static var command: URL? {
        Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("monkey-credits")
    }

    private static func run(_ device: TestDevice, _ store: URL, _ arguments: String...) async throws -> (Int32, String)
    {
        let passwordFile = device.folder.appendingPathComponent("password")
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
        try Data("bananas\n".utf8).write(to: passwordFile)
        let process = Process()
        let command: URL = try #require(Self.command)
        process.executableURL = command
        process.arguments = arguments
        process.environment = [
            "CORNERSTORE_STORE": store.absoluteString,
            "CORNERSTORE_DEVICE": device.folder.appendingPathComponent("device").path,
            "CORNERSTORE_SHEET": "approve", "CORNERSTORE_ACCOUNT": "monkey@example.com",
            "CORNERSTORE_PASSWORD_FILE": passwordFile.path,
            "MONKEY_CREDITS_FOLDER": device.folder.appendingPathComponent("app").path,
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { process in
                let text = (try? output.fileHandleForReading.readToEnd()) ?? Data()
                continuation.resume(returning: (process.terminationStatus, String(decoding: text, as: UTF8.self)))
            }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }

    @Test func `a crash after delivery loses nothing, and grants once`() async throws {
        let device = try TestDevice()
        try await withServer(device.store) { store in
            let bought = try await Self.run(device, store, "--buy", "credits5", "--quantity", "2")
            #expect(bought == (0, "10 credits bought.\nMonkey credits: 10\n"))
            let crashed = try await Self.run(device, store, "--buy", "credits10", "--crash-after", "purchased")
            #expect(crashed.0 == 9)
            #expect(try await Self.run(device, store, "--balance") == (0, "10\n"))
            #expect(device.store.unfinishedCount == 1)
            let second = try await Self.run(device, store, "--exit-when-idle")
            #expect(second.0 == 0)
            #expect(second.1.contains("10 credits bought.\nMonkey credits: 20\n"))
            #expect(try await Self.run(device, store, "--exit-when-idle") == (0, "Monkey credits: 20\n"))
            #expect(device.store.unfinishedCount == 0)
            #expect(device.store.purchases.count == 2)
            device.store.change { $0.isDown = true }
            #expect(try await Self.run(device, store, "--buy", "credits5") == (1, "Network down?\n"))
        }
    }
}
