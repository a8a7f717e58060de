import Foundation
import Hummingbird
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// A control port that answers as the test says.
private final class ScriptedControl: Sendable {
    struct Dropped: Error {}

    enum Step: Sendable {
        /// The connection ends before the answer does.
        case lost
        case status(Int)
        case reply(SheetReply)
    }

    struct State {
        var steps: [Step]
        /// What the next questions are answered; after these, that they are shown.
        var posts: [Step]
        var posted: [SheetQuestion] = []
        var asked = 0
    }

    private let state: Mutex<State>

    init(_ steps: [Step] = [], posts: [Step] = []) { state = Mutex(State(steps: steps, posts: posts)) }

    var posted: [SheetQuestion] { state.withLock { $0.posted } }
    var asked: Int { state.withLock { $0.asked } }

    func serve(_ body: @escaping @Sendable (URL) async throws -> Void) async throws {
        let router = Router()
        router.post("/control/v1/sheets") { request, _ in
            let bytes = try await request.body.collect(upTo: 64 << 10)
            let question = try JSONDecoder().decode(SheetQuestion.self, from: Data(buffer: bytes))
            let step = self.state.withLock { state -> Step? in
                state.posted.append(question)
                return state.posts.isEmpty ? nil : state.posts.removeFirst()
            }
            if let step { return try Self.response(step) }
            return try Self.json(201, SheetPosted(id: "7", path: "/sheets/7"))
        }
        router.get("/control/v1/sheets/7/answer") { _, _ in
            let step = self.state.withLock { state in
                state.asked += 1
                return state.steps.isEmpty ? Step.status(404) : state.steps.removeFirst()
            }
            return try Self.response(step)
        }
        try await LoopbackServer.with(router, body)
    }

    private static func response(_ step: Step) throws -> Response {
        switch step {
        case .lost: Response(status: .ok, body: ResponseBody(contentLength: 10) { _ in throw Dropped() })
        case .status(let status): Response(status: .init(code: status))
        case .reply(let reply): try json(200, reply)
        }
    }

    private static func json(_ status: Int, _ value: some Encodable) throws -> Response {
        Response(
            status: .init(code: status), body: .init(byteBuffer: ByteBuffer(data: try JSONEncoder().encode(value))))
    }
}

@Suite("The web page's payment sheet", .timeLimit(.minutes(1)))
struct WebPaymentSheetTests {
    private static let request = PaymentSheetRequest(
        productIdentifier: "hats", productName: "Hats", unitPrice: 2.99, quantity: 1,
        priceLocale: Locale(identifier: "en_US@currency=USD"), account: "a@example.com")

    @Test func `a lost answer is requested again`() async throws {
        let control = ScriptedControl([.lost, .status(503), .reply(SheetReply(choice: .accept))])
        try await control.serve { url in
            let sheet = WebPaymentSheet(control: url) { _ in }
            #expect(await sheet.confirm(Self.request) == .buy)
        }
        #expect(control.asked == 3 && control.posted.count == 1)
    }

    @Test func `a rejected sheet is shown again with the reason`() async throws {
        let control = ScriptedControl([.reply(SheetReply(choice: .accept))], posts: [.lost, .status(503)])
        let said = Mutex<[String]>([])
        try await control.serve { url in
            let sheet = WebPaymentSheet(control: url, adminToken: nil) { line in
                said.withLock { $0.append(line) }
            } show: { _ in
            }
            #expect(await sheet.confirm(Self.request) == .buy)
        }
        #expect(control.posted.count == 3 && said.withLock { $0.isEmpty })
        let guarded = ScriptedControl(posts: [.status(401), .status(401)])
        try await guarded.serve { url in
            let sheet = WebPaymentSheet(control: url, adminToken: "no") { line in
                said.withLock { $0.append(line) }
            } show: { _ in
            }
            #expect(await sheet.confirm(Self.request) == .cancel)
        }
        #expect(guarded.posted.count == 1)
        let line = try #require(said.withLock { $0.first })
        #expect(line.contains("401") && line.contains("CORNERSTORE_ADMIN_TOKEN"))
    }

    @Test func `a port without a server cancels within seconds`() async throws {
        let said = Mutex<[String]>([])
        let control = try #require(URL(string: "http://127.0.0.1:1"))
        let sheet = WebPaymentSheet(control: control, adminToken: nil) { line in
            said.withLock { $0.append(line) }
        } show: { _ in
        }
        let start = ContinuousClock.now
        #expect(await sheet.confirm(Self.request) == .cancel)
        #expect(ContinuousClock.now - start < .seconds(50))
        #expect(said.withLock { $0.count } == 1 && said.withLock { $0.first?.contains("nothing answers") } == true)
    }

    @Test func `an expired sheet or a failing port cancels`() async throws {
        let over = ScriptedControl([.status(204), .status(404)])
        try await over.serve { url in
            #expect(await WebPaymentSheet(control: url) { _ in }.confirm(Self.request) == .cancel)
        }
        #expect(over.asked == 2)
        let failing = ScriptedControl(Array(repeating: .status(500), count: 20))
        try await failing.serve { url in
            #expect(await WebPaymentSheet(control: url) { _ in }.confirm(Self.request) == .cancel)
        }
        #expect(failing.asked == 6)
    }

    @Test func `a notice is shown without waiting for an answer`() async throws {
        let control = ScriptedControl()
        try await control.serve { url in
            let shown = Mutex<[URL]>([])
            let sheet = WebPaymentSheet(control: url) { page in shown.withLock { $0.append(page) } }
            await sheet.tell(PaymentSheetNotice(text: "No."))
            #expect(shown.withLock { $0.map(\.path) } == ["/sheets/7"])
        }
        #expect(control.posted.map(\.kind) == [.notice] && control.asked == 0)
    }

    @Test func `each question names the app, the environment, the way back and the question before`() async throws {
        let control = ScriptedControl([
            .reply(SheetReply(choice: .accept, email: "a@example.com", password: "x")),
            .reply(SheetReply(choice: .accept)),
        ])
        try await control.serve { url in
            var sheet = WebPaymentSheet(control: url) { _ in }
            sheet.environment = .production
            sheet.app = "com.example.monkeys"
            sheet.returnAddress = URL(string: "http://monkeys.localhost:8123/back")
            let prompt = SignInPrompt(email: nil, passwordWasWrong: true, enteredEmail: "a@example.com")
            #expect(await sheet.signIn(prompt) == StoreCredentials(email: "a@example.com", password: "x"))
            #expect(await sheet.confirm(Self.request) == .buy)
        }
        #expect(control.posted.map(\.environment) == [.production, .production])
        #expect(control.posted.map(\.app) == ["com.example.monkeys", "com.example.monkeys"])
        #expect(control.posted.map(\.returnAddress).allSatisfy { $0 == "http://monkeys.localhost:8123/back" })
        #expect(control.posted.map(\.previous) == [nil, "7"])
        #expect(control.posted.map(\.enteredEmail) == ["a@example.com", nil])
    }

    @Test func `texts that are too long are cut`() async throws {
        let control = ScriptedControl([.reply(SheetReply(choice: .accept))])
        var request = Self.request
        request.productName = String(repeating: "Hüte", count: 100_000)
        let long = request
        try await control.serve { url in
            #expect(await WebPaymentSheet(control: url) { _ in }.confirm(long) == .buy)
        }
        let title = try #require(control.posted.first?.title)
        #expect(title.utf8.count <= 1000 && title.hasPrefix("HüteHüte") && title.hasSuffix("…"))
    }
}
