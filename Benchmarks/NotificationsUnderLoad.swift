import AsyncHTTPClient
import Foundation

/// A store whose notifications wait, their receiver, and the store's HTTP client alone. The receiver runs on the load
/// generator's core, and the store and the client take turns on one of the servers'.
struct NotificationsUnderLoad: Sendable {
    /// The requests that the receiver got, and the time in nanoseconds.
    private struct Received {
        var count: Int
        var time: Int
    }

    /// The notifications that a store can send in a second, at most.
    private static let mostPerSecond = 4_000.0
    /// The seconds of a turn that are not counted.
    private static let warmUp = 0.2

    private let store: StoreUnderLoad
    private let receiver: (child: ChildProcess, port: Int)
    private let url: String

    /// Starts the receiver of a store's notifications.
    init(_ store: StoreUnderLoad) throws {
        self.store = store
        receiver = try BareServer.start(answerBytes: 0, on: .forLoad)
        url = "http://127.0.0.1:\(receiver.port)\(BareServer.path)"
    }

    /// Stops the receiver.
    func stop() { receiver.child.stop() }

    /// The counted turns of each, and the seconds of one.
    private static func turns(_ setting: Setting) -> (count: Int, seconds: Double) {
        (setting.rounds * 2, min(1, setting.seconds / 2))
    }

    /// More notifications than a measurement can send.
    static func count(_ setting: Setting) -> Int {
        let (count, seconds) = turns(setting)
        // A turn takes half a second more, and the one that is not counted is twice as long.
        return Int(Double(count + 2) * (seconds + 0.5) * mostPerSecond)
    }

    /// The notifications that the store sends in a second, and the same bodies that its HTTP client posts in a second
    /// without the store, in each of several turns.
    func measured(_ setting: Setting) async throws -> (store: [Double], client: [Double]) {
        let turns = Self.turns(setting)
        _ = try await storeTurn(2 * turns.seconds)
        let body = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        try await firstBody().write(to: body)
        defer { try? FileManager.default.removeItem(at: body) }
        var (sent, posted): ([Double], [Double]) = ([], [])
        for turn in 0..<turns.count {
            if turn % 2 == 1 { posted.append(try await clientTurn(body, turns.seconds)) }
            sent.append(try await storeTurn(turns.seconds))
            if turn % 2 == 0 { posted.append(try await clientTurn(body, turns.seconds)) }
        }
        return (sent, posted)
    }

    /// Lets the store send for some seconds.
    private func storeTurn(_ seconds: Double) async throws -> Double {
        try await setReceiver(url)
        let rate = try await self.rate(seconds)
        try await setReceiver(nil)
        try await settle()
        guard try await isWaiting(store.ledger.notifications - 1) else {
            throw BenchmarkError("the \(store.ledger.notifications) notifications did not suffice")
        }
        return rate
    }

    /// Lets the client post for some seconds.
    private func clientTurn(_ body: URL, _ seconds: Double) async throws -> Double {
        let client = try ChildProcess(
            try ChildProcess.ownExecutable(), [PostProcess.subcommand, url, body.path], on: .forOneServer)
        let rate: Double
        do {
            rate = try await self.rate(seconds)
            client.stop()
        } catch {
            client.stop()
            throw error
        }
        try await settle()
        return rate
    }

    // MARK: The receiver

    /// The requests that the receiver gets in a second.
    private func rate(_ seconds: Double) async throws -> Double {
        let idle = try await received()
        let deadline = ContinuousClock.now + .seconds(20)
        while try await received().count == idle.count {
            guard .now < deadline else { throw BenchmarkError("no notification arrived in 20 s") }
            try await Task.sleep(for: .milliseconds(5))
        }
        try await Task.sleep(for: .seconds(Self.warmUp))
        let first = try await received()
        try await Task.sleep(for: .seconds(seconds))
        let last = try await received()
        return Double(last.count - first.count) / Double(last.time - first.time) * 1e9
    }

    /// Waits until no more requests arrive.
    private func settle() async throws {
        var count = -1
        while true {
            let next = try await received().count
            guard next != count else { return }
            count = next
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func received() async throws -> Received {
        let text = String(
            decoding: try await OneRequest.answer(
                port: receiver.port, request: LoadGenerator.get(BareServer.countPath)), as: UTF8.self)
        let numbers = text.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { throw BenchmarkError("the receiver says “\(text)” instead of two numbers") }
        return Received(count: numbers[0], time: numbers[1])
    }

    // MARK: The store

    /// Sets the URL of the app's notifications, or removes it.
    private func setReceiver(_ url: String?) async throws {
        let port = try store.store.port("control")
        let path = "/control/v1/sandbox/notification-urls/\(SampleReceipts.bundleID)"
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = url == nil ? .DELETE : .PUT
        if let url {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(Array(#"{"url":"\#(url)"}"#.utf8))
        }
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        guard (200..<300).contains(answer.status.code) else {
            throw BenchmarkError("\(path) answered \(answer.status.code)")
        }
    }

    /// The members of the store's answer about a notification.
    private struct Notification: Decodable {
        var state: String
        var signedPayload: String?
    }

    private func notification(_ number: Int) async throws -> Notification {
        let path = "/control/v1/sandbox/notifications/\(Ledger.notificationID(number))"
        let answer = try await OneRequest.answer(
            port: try store.store.port("control"), request: LoadGenerator.get(path))
        return try JSONDecoder().decode(Notification.self, from: Data(answer))
    }

    /// Whether a notification is still to be sent.
    private func isWaiting(_ number: Int) async throws -> Bool {
        try await notification(number).state == "waiting"
    }

    /// The body of the first notification. All have the same size.
    private func firstBody() async throws -> Data {
        let first = try await notification(0)
        guard first.state == "delivered", let payload = first.signedPayload else {
            throw BenchmarkError("the first notification is \(first.state)")
        }
        return Data("{\"signedPayload\":\"\(payload)\"}".utf8)
    }
}
