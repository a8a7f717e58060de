import ControlWire
import Foundation
import Merchant
import MerchantServer
import MerchantWire
import ServiceLifecycle
import StoreServer
import StoreWire
import Synchronization

/// The merchant of Magazine, in this process. It asks the store's `verifyReceipt` about receipts, and so learns of
/// refunds and renewals. It runs by the sandbox's clock, because the steps move that.
struct DemoMerchant: Sendable {
    /// The machine's clock and how far the sandbox's is ahead of it.
    private final class Clock: Sendable {
        private let ahead = Mutex<TimeInterval>(0)

        var now: Date { Date(timeIntervalSinceNow: ahead.withLock { $0 }) }

        func follow(_ clock: ControlAPI.Clock) { ahead.withLock { $0 = Double(clock.offset) / 1000 } }
    }

    static let user: UserID = "reader"

    /// The merchant's base URL.
    let address: String
    private let application: MerchantApplication
    private let clock: Clock
    private let token: URL

    /// Runs `body` while the merchant runs.
    static func run(
        _ places: DemoPlaces, _ addresses: Addresses, _ control: ControlClient,
        _ body: @Sendable (DemoMerchant) async throws -> Void
    ) async throws {
        let secret: ControlAPI.SharedSecret = try await control.send(
            .revealSecret(bundle: DemoSample.magazine.bundleID))
        let store = try TrustedStore.cornerstore(in: places.data)
        let configuration = MerchantServerConfiguration(
            dataDirectory: places.path("magazine-merchant"), port: 0, stores: [store],
            policy: MerchantPolicy(environments: [.sandbox]), productsFiles: [places.plans],
            remote: .init(
                hosts: try .cornerstore(production: addresses.production, sandbox: addresses.sandbox),
                sharedSecret: secret.sharedSecret, anchor: store.anchor), rates: nil)
        let clock = Clock()
        let application = try await MerchantApplication.open(
            configuration, now: { clock.now }, logger: ServeAction.logger(.error))
        let (ready, isReady) = AsyncStream.makeStream(of: String.self)
        let serving = ServiceGroup(
            configuration: .init(
                services: [.init(service: MerchantService(application: application) { isReady.yield($0) })],
                logger: ServeAction.logger(.error)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { isReady.finish() }
                try await serving.run()
            }
            var addresses = ready.makeAsyncIterator()
            guard let address = await addresses.next() else {
                try await group.waitForAll()
                throw CommandError(.failed, "The merchant stopped before it answered.")
            }
            let merchant = DemoMerchant(
                address: address, application: application, clock: clock, token: places.path("magazine-token"))
            do { try await body(merchant) } catch {
                await serving.triggerGracefulShutdown()
                try? await group.waitForAll()
                throw error
            }
            await serving.triggerGracefulShutdown()
            try await group.waitForAll()
        }
    }

    /// The variables with which an app finds the merchant and its user's token.
    var variables: [String: String] {
        ["CORNERSTORE_MERCHANT": address, "CORNERSTORE_USER_TOKEN_FILE": token.path]
    }

    /// Sets the clock to the sandbox's, and makes a token that is valid now.
    func follow(_ sandbox: ControlAPI.Clock) async throws {
        clock.follow(sandbox)
        let text = try await application.tokens.makeToken(for: Self.user, at: clock.now)
        unlink(token.path)
        guard
            FileManager.default.createFile(
                atPath: token.path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(.failed, "Cannot write \(token.path).") }
    }

    /// The user's entitlement; nil when there is none.
    func entitlement() async throws -> Entitlement? {
        try await application.merchant.entitlements(of: Self.user).entitlements.first
    }
}
