import ControlWire
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// A refund request from the app's call to the store's decision, on sockets.
@Suite("Refund requests from the app to the store", .timeLimit(.minutes(1)))
struct RefundJourneyTests {
    /// The requests of the store.
    private static func requests(_ store: JourneyStore) async throws -> [ControlAPI.RefundRequest] {
        let reply = try await store.control("GET", "refund-requests")
        return try JSONDecoder().decode(ControlAPI.Page<ControlAPI.RefundRequest>.self, from: Data(reply.body)).rows
    }

    /// A launch on a device whose customer gives a reason, or cancels.
    private static func launch(
        _ device: JourneyDevice, _ answer: @escaping @Sendable (RefundPrompt) -> RefundPrompt.Reason?
    ) -> JourneyApp {
        let credentials = StoreCredentials(email: device.email, password: JourneyDevice.password)
        var sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy }, signIn: { $0.passwordWasWrong ? nil : credentials })
        sheet.onRefundRequest = { answer($0) }
        var configuration = device.configuration()
        configuration.sheet = sheet
        return JourneyApp(device.launch(configuration), grants: Grants())
    }

    private static func buy(_ product: String, _ app: JourneyApp, calls: Int) async throws -> UInt64 {
        app.queue.add(payment(product))
        #expect(await app.told(calls).last == "removed purchased \(product)")
        return try #require(app.latest?.transactionIdentifier.flatMap { UInt64($0) })
    }

    /// The error of a refund request; nil for a request that was sent or cancelled.
    private static func problem(_ app: JourneyApp, _ id: UInt64) async -> Transaction.RefundRequestError? {
        do {
            _ = try await app.engine.beginRefundRequest(for: id)
            return nil
        } catch {
            return error as? Transaction.RefundRequestError
        }
    }

    @Test(arguments: Backend.available)
    func `the customer gives a reason, and the store decides`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let prompts = Mutex<[RefundPrompt]>([])
            let app = Self.launch(device) { prompt in
                prompts.withLock { $0.append(prompt) }
                return .unsatisfied
            }
            let id = try await Self.buy("credits5", app, calls: 3)
            #expect(try await app.engine.beginRefundRequest(for: id) == .success)
            let first = prompts.withLock { $0.first }
            let prompt = try #require(first)
            #expect(prompt.productName == "Five Credits" && prompt.productIdentifier == "credits5")
            #expect(prompt.formattedPrice == "$0.99" && prompt.account == device.email)
            let made = try #require(try await Self.requests(store).first)
            #expect(made.transactionId == "\(id)" && made.reason == "UNSATISFIED_WITH_PURCHASE")
            #expect(made.state == "waiting" && made.email == device.email)

            // Another request for it is refused before the customer is asked.
            #expect(await Self.problem(app, id) == .duplicateRequest)
            let count = prompts.withLock { $0.count }
            #expect(count == 1)
            #expect(try await store.control("POST", "refund-requests/\(made.requestId)/approve", "{}").status == 200)
            #expect(await Self.problem(app, id) == .failed)
            #expect(try await Self.requests(store).map(\.state) == ["approved"])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a cancelled sheet requests nothing, and strangers request nothing`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let app = Self.launch(device) { _ in nil }
            let id = try await Self.buy("hats", app, calls: 3)
            #expect(try await app.engine.beginRefundRequest(for: id) == .userCancelled)
            await app.stop()

            let stranger = try await JourneyDevice(store, email: "gibbon@example.com")
            let asked = Mutex(0)
            let other = Self.launch(stranger) { _ in
                asked.withLock { $0 += 1 }
                return .other
            }
            for wrong in [id, 0, 7, UInt64.max] { #expect(await Self.problem(other, wrong) == .failed, "\(wrong)") }
            let count = asked.withLock { $0 }
            #expect(count == 0)
            await other.stop()
            #expect(try await Self.requests(store).isEmpty)
        }
    }

    /// Every reason that a sheet can give is one of the store's.
    @Test func `the store knows every reason`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            let reasons = Mutex(RefundPrompt.Reason.allCases)
            let app = Self.launch(device) { _ in reasons.withLock { $0.popLast() } }
            for number in 1...RefundPrompt.Reason.allCases.count {
                let id = try await Self.buy("credits5", app, calls: 3 * number)
                #expect(try await app.engine.beginRefundRequest(for: id) == .success)
            }
            await app.stop()
            let made = try await Self.requests(store).map(\.reason)
            #expect(made == RefundPrompt.Reason.allCases.map(\.rawValue))
        }
    }
}
