import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Webhooks", .timeLimit(.minutes(1)))
struct WebhookTests {
    /// A time limit of an attempt that no test reaches.
    private static let never = Duration.seconds(3_600)

    private let clock = ManualPacing()
    private var milliseconds: Int64 { Int64(clock.now.timeIntervalSince1970 * 1000) }

    /// What a receiver was sent, and what it answers: one status for each request, the last again and again.
    final class Receiver: Sendable {
        struct Request: Sendable {
            var headers: HTTPFields
            var body: [UInt8]
        }

        private struct State {
            var answers: [(HTTPResponse.Status, HTTPFields)]
            var requests: [Request] = []
        }

        private let state: Mutex<State>

        init(_ answers: [(HTTPResponse.Status, HTTPFields)]) { state = Mutex(State(answers: answers)) }

        convenience init(_ answers: (HTTPResponse.Status, HTTPFields)...) { self.init(answers) }

        var requests: [Request] { state.withLock { $0.requests } }

        var router: Router<BasicRequestContext> {
            let router = Router()
            router.post("**") { request, _ in
                let body = try await request.body.collect(upTo: 1 << 20)
                let (status, headers) = self.state.withLock { state in
                    state.requests.append(Request(headers: request.headers, body: Array(body.readableBytesView)))
                    return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
                }
                return Response(
                    status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: "ok")))
            }
            return router
        }
    }

    private func delivery(
        _ url: URL, _ outbox: any WebhookOutbox, secrets: [WebhookSecret], policy: WebhookPolicy = WebhookPolicy(),
        metrics: PrometheusMetrics? = nil
    ) throws -> WebhookDelivery {
        WebhookDelivery(
            to: try WebhookReceiver(address: url.absoluteString + "hook", secrets: secrets), from: outbox,
            policy: policy, pacing: clock.pacing(), metrics: metrics, logger: .silent)
    }

    private static func isGenuine(_ request: Receiver.Request, _ secrets: [WebhookSecret], at now: Date) throws -> Bool
    {
        func header(_ name: String) throws -> String { request.headers[try #require(HTTPField.Name(name))] ?? "" }
        return WebhookSignature.isValid(
            id: try header("webhook-id"), timestamp: try header("webhook-timestamp"),
            signature: try header("webhook-signature"), body: request.body, secrets: secrets, at: now)
    }

    @Test func anEventArrivesSignedAndOnce() async throws {
        let receiver = Receiver((.noContent, [:]))
        let secret = try WebhookSecret(WebhookSecret.make())
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            outbox.add("one", #"{"type":"test"}"#, at: milliseconds)
            let metrics = PrometheusMetrics()
            let delivery = try delivery(url, outbox, secrets: [secret], metrics: metrics)
            #expect(try await delivery.deliverDue() == 1)
            #expect(try await delivery.deliverDue() == 0)
            #expect(outbox.entry("one")?.outcomes == [.delivered])
            let request = try #require(receiver.requests.first)
            #expect(request.body == Array(#"{"type":"test"}"#.utf8))
            #expect(request.headers[.contentType] == "application/json")
            #expect(try Self.isGenuine(request, [secret], at: clock.now))
            #expect(metrics.text.contains(#"merchant_webhooks_total{outcome="delivered"} 1"#))
        }
    }

    @Test func whileASecretIsReplacedEitherIsEnough() async throws {
        let receiver = Receiver((.ok, [:]))
        let (new, old) = (try WebhookSecret(WebhookSecret.make()), try WebhookSecret(WebhookSecret.make()))
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            outbox.add("one", at: milliseconds)
            try await delivery(url, outbox, secrets: [new, old]).deliverDue()
            let request = try #require(receiver.requests.first)
            #expect(try Self.isGenuine(request, [new], at: clock.now))
            #expect(try Self.isGenuine(request, [old], at: clock.now))
            #expect(try !Self.isGenuine(request, [try WebhookSecret(WebhookSecret.make())], at: clock.now))
        }
    }

    @Test func whatIsChangedOrOldIsNotGenuine() throws {
        let secret = try WebhookSecret(WebhookSecret.make())
        let body = Array("{}".utf8)
        let headers = WebhookSignature.headers(id: "e", seconds: 1_000, body: body, secrets: [secret])
        let signature = headers[2].1
        func isValid(
            _ id: String = "e", _ time: String = "1000", _ signature: String = signature, _ body: [UInt8] = body,
            at now: Double = 1_000
        ) -> Bool {
            WebhookSignature.isValid(
                id: id, timestamp: time, signature: signature, body: body, secrets: [secret],
                at: Date(timeIntervalSince1970: now))
        }
        #expect(isValid())
        #expect(isValid("e", "1000", "v1a,x \(signature) v1,", at: 1_300))
        #expect(!isValid("f"))
        #expect(!isValid("e", "1001"))
        #expect(!isValid("e", "x"))
        #expect(!isValid("e", "1000", ""))
        #expect(!isValid("e", "1000", String(signature.dropLast(2))))
        #expect(!isValid("e", "1000", signature, body + [0x20]))
        #expect(!isValid(at: 1_301))
        #expect(!isValid(at: 699))
    }

    /// The published example of "Standard Webhooks", which other languages' libraries check too.
    @Test func theSignatureIsThatOfTheStandard() throws {
        let secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        let headers = WebhookSignature.headers(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8),
            secrets: [secret])
        #expect(headers.last?.1 == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func aFailureIsRetriedWithGrowingPausesUntilItIsDead() async throws {
        let receiver = Receiver((.internalServerError, [:]))
        let secret = try WebhookSecret(WebhookSecret.make())
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            outbox.add("one", at: milliseconds)
            var policy = WebhookPolicy()
            policy.attempts = 4
            let delivery = try delivery(url, outbox, secrets: [secret], policy: policy)
            var pauses: [Int64] = []
            while case .some(let due) = try await outbox.nextDue() {
                clock.advance(by: Double(due - milliseconds) / 1000 + 0.001)
                let before = milliseconds
                #expect(try await delivery.deliverDue() == 1)
                // Too early: nothing is taken.
                #expect(try await delivery.deliverDue() == 0)
                if case .retry(let at, let reason) = outbox.entry("one")?.outcomes.last {
                    pauses.append(at - before)
                    #expect(reason == "HTTP 500")
                }
            }
            #expect(pauses == [3_750, 7_500, 15_000])
            #expect(outbox.entry("one")?.outcomes.last == .dead(reason: "HTTP 500"))
            #expect(receiver.requests.count == 4)
        }
    }

    @Test func theOutcomeOfEveryAnswer() {
        let policy = WebhookPolicy()
        func outcome(_ attempt: WebhookPolicy.Attempt, after attempts: Int = 1) -> WebhookOutcome {
            policy.outcome(of: attempt, attempts: attempts, now: 0, random: 0)
        }
        for status in [200, 201, 204, 299] { #expect(outcome(.answered(status, retryAfter: nil)) == .delivered) }
        #expect(outcome(.answered(410, retryAfter: nil)) == .dead(reason: "HTTP 410"))
        for status in [100, 301, 302, 307, 400, 401, 403, 404, 409, 429, 500, 503, 599] {
            #expect(outcome(.answered(status, retryAfter: nil)) == .retry(at: 2_500, reason: "HTTP \(status)"))
            #expect(
                outcome(.answered(status, retryAfter: nil), after: policy.attempts) == .dead(reason: "HTTP \(status)"))
        }
        #expect(outcome(.failed("no connection")) == .retry(at: 2_500, reason: "no connection"))
        // What the receiver asks for is kept within bounds, and only where the status means it.
        #expect(outcome(.answered(429, retryAfter: 60)) == .retry(at: 60_000, reason: "HTTP 429"))
        #expect(outcome(.answered(503, retryAfter: 1)) == .retry(at: 2_500, reason: "HTTP 503"))
        #expect(outcome(.answered(503, retryAfter: .max)) == .retry(at: 21_600_000, reason: "HTTP 503"))
        #expect(outcome(.answered(500, retryAfter: 60)) == .retry(at: 2_500, reason: "HTTP 500"))
        // The pauses grow to six hours, and the last attempt comes within a week.
        var total = 0.0
        for attempts in 1..<policy.attempts {
            guard case .retry(let at, _) = policy.outcome(of: .failed("x"), attempts: attempts, now: 0, random: 0.999)
            else {
                Issue.record("not retried after \(attempts) attempts")
                return
            }
            total += Double(at) / 1000
            #expect(at <= 21_600_000)
        }
        #expect((86_400...604_800).contains(total))
    }

    @Test func redirectionsAreNotFollowed() async throws {
        let receiver = Receiver((.temporaryRedirect, [.location: "/elsewhere"]))
        let secret = try WebhookSecret(WebhookSecret.make())
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            outbox.add("one", at: milliseconds)
            try await delivery(url, outbox, secrets: [secret]).deliverDue()
            #expect(receiver.requests.count == 1)
            #expect(outbox.entry("one")?.outcomes == [.retry(at: milliseconds + 3_750, reason: "HTTP 307")])
        }
    }

    @Test func aRunningDeliveryIsWokenAndStopped() async throws {
        let receiver = Receiver((.ok, [:]))
        let secret = try WebhookSecret(WebhookSecret.make())
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            var settled = outbox.settled.makeAsyncIterator()
            let pacing = clock.pacingWithoutEnd()
            let delivery = WebhookDelivery(
                to: try WebhookReceiver(address: url.absoluteString + "hook", secrets: [secret]), from: outbox,
                pacing: pacing,
                metrics: nil, logger: .silent)
            for number in 0..<20 { outbox.add("first-\(number)", at: milliseconds) }
            let running = Task { await delivery.run() }
            for _ in 0..<20 { _ = await settled.next() }
            for number in 0..<3 {
                outbox.add("later-\(number)", at: milliseconds)
                delivery.wake()
                #expect(await settled.next() == "later-\(number)")
            }
            running.cancel()
            await running.value
            #expect(receiver.requests.count == 23)
            #expect(outbox.entry("later-2")?.outcomes == [.delivered])
        }
    }

    @Test func anEventOnWhichTheReceiverHangsHoldsNoOtherUp() async throws {
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let secret = try WebhookSecret(WebhookSecret.make())
        let router = Router()
        router.post("**") { request, _ in
            let body = String(buffer: try await request.body.collect(upTo: 1 << 20))
            // Until the test is over, as far as this delivery can tell.
            if body == "hang" { for await _ in silence {} }
            return HTTPResponse.Status.ok
        }
        try await LoopbackServer.with(router) { [self] url in
            let outbox = OutboxInMemory()
            var settled = outbox.settled.makeAsyncIterator()
            let pacing = clock.pacingWithoutEnd()
            let delivery = WebhookDelivery(
                to: try WebhookReceiver(address: url.absoluteString + "hook", secrets: [secret]), from: outbox,
                timeout: Self.never, pacing: pacing, metrics: nil, logger: .silent)
            for number in 0..<3 { outbox.add("hangs-\(number)", "hang", at: milliseconds) }
            // More than there are places.
            for number in 0..<100 { outbox.add("early-\(number)", at: milliseconds) }
            let running = Task { await delivery.run() }
            for _ in 0..<100 { #expect(await settled.next()?.hasPrefix("early-") == true) }
            // So is one that comes while they hang.
            outbox.add("late", at: milliseconds)
            delivery.wake()
            #expect(await settled.next() == "late")
            #expect((0..<3).allSatisfy { outbox.entry("hangs-\($0)")?.outcomes == [] })
            end.finish()
            for _ in 0..<3 { #expect(await settled.next()?.hasPrefix("hangs-") == true) }
            running.cancel()
            await running.value
        }
    }

    /// An attempt ends, and its place is free, while the outbox is being read.
    @Test func aPlaceThatBecomesFreeWhileTheOutboxIsReadIsUsed() async throws {
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let (first, endFirst) = AsyncStream.makeStream(of: Void.self)
        let secret = try WebhookSecret(WebhookSecret.make())
        let router = Router()
        router.post("**") { request, _ in
            switch String(buffer: try await request.body.collect(upTo: 1 << 20)) {
            case "first": for await _ in first {}
            case "hang": for await _ in silence {}
            default: break
            }
            return HTTPResponse.Status.ok
        }
        try await LoopbackServer.with(router) { [self] url in
            let outbox = OutboxInMemory()
            var settled = outbox.settled.makeAsyncIterator()
            let slow = SlowOutbox(outbox)
            var reads = slow.reads.makeAsyncIterator()
            let pacing = clock.pacingWithoutEnd()
            let delivery = WebhookDelivery(
                to: try WebhookReceiver(address: url.absoluteString + "hook", secrets: [secret]), from: slow,
                timeout: Self.never, pacing: pacing, metrics: nil, logger: .silent)
            outbox.add("first", "first", at: milliseconds)
            let running = Task { await delivery.run() }
            _ = await reads.next()
            slow.goOn()
            for number in 1..<WebhookDelivery.places { outbox.add("hangs-\(number)", "hang", at: milliseconds) }
            outbox.add("last", at: milliseconds)
            delivery.wake()
            // The events for all places but one are read, and not handed over yet.
            _ = await reads.next()
            endFirst.finish()
            #expect(await settled.next() == "first")
            try await until { await delivery.sending == WebhookDelivery.places - 1 }
            slow.goOn()
            slow.goOn()
            #expect(await settled.next() == "last")
            running.cancel()
            end.finish()
            await running.value
        }
    }

    @Test func whatFailsAgainAndAgainLeavesThePlacesOfNewEvents() async throws {
        let receiver = Receiver((.internalServerError, [:]))
        let secret = try WebhookSecret(WebhookSecret.make())
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            for number in 0..<40 { outbox.add("old-\(number)", at: milliseconds) }
            let delivery = try delivery(url, outbox, secrets: [secret])
            while try await delivery.deliverDue() > 0 {}
            #expect(receiver.requests.count == 40)
            clock.advance(by: 60)
            for number in 0..<30 { outbox.add("new-\(number)", at: milliseconds) }
            #expect(try await delivery.deliverDue() == WebhookDelivery.places + WebhookDelivery.retryPlaces)
            #expect((0..<WebhookDelivery.places).allSatisfy { outbox.entry("new-\($0)")?.outcomes.count == 1 })
            #expect((0..<40).count { outbox.entry("old-\($0)")?.outcomes.count == 2 } == WebhookDelivery.retryPlaces)
        }
    }

    @Test func twoDeliveriesOverOneOutboxSendNothingTwice() async throws {
        let receiver = Receiver((.ok, [:]))
        let secret = try WebhookSecret(WebhookSecret.make())
        try await LoopbackServer.with(receiver.router) { [self] url in
            let outbox = OutboxInMemory()
            for number in 0..<40 { outbox.add("event-\(number)", at: milliseconds) }
            let deliveries = try (0..<2).map { _ in try delivery(url, outbox, secrets: [secret]) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for delivery in deliveries {
                    group.addTask { while try await delivery.deliverDue() > 0 {} }
                }
                try await group.waitForAll()
            }
            #expect(receiver.requests.count == 40)
        }
    }

    @Test func addressesAndSecretsAreChecked() throws {
        let secret = try WebhookSecret(WebhookSecret.make())
        for wrong in ["http://example.com/hook", "ftp://127.0.0.1", "", "https://a:b@example.com"] {
            #expect(throws: MerchantServerError.self) { try WebhookReceiver(address: wrong, secrets: [secret]) }
        }
        #expect(throws: MerchantServerError.self) { try WebhookReceiver(address: "https://example.com", secrets: []) }
        for wrong in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_*"] {
            #expect(throws: MerchantServerError.self) { try WebhookSecret(wrong) }
        }
        #expect(!"\(secret)".contains("+") && "\(secret)".count < 10)
    }
}
