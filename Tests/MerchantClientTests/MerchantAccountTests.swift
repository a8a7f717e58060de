import Foundation
import MerchantWire
import Synchronization
import Testing

@testable import MerchantClient

/// A user's token that comes when the test wants it to.
private struct HeldToken: Sendable {
    private let asked = AsyncStream.makeStream(of: Void.self)
    private let arrival = AsyncStream.makeStream(of: Void.self)

    /// Waits for ``come()`` and returns the token.
    func wait() async -> String {
        asked.continuation.finish()
        for await _ in arrival.stream {}
        return "token"
    }

    /// Waits until the client waits for the token.
    func isAsked() async { for await _ in asked.stream {} }

    /// Lets the token come.
    func come() { arrival.continuation.finish() }
}

@Suite("Products and the user's account", .timeLimit(.minutes(1)))
struct MerchantAccountTests {
    @Test func `the product list is transferred when it has changed, and is available offline`() async throws {
        try await withMerchant { merchant, device, log in
            let client = try await device.launch(log)
            #expect(client.cachedProducts.isEmpty)
            #expect(try await client.products().products.map(\.productID) == ["issue1", "gems"])
            #expect(try await client.products().problem == nil)
            merchant.offer("issue2", .content("two"))
            #expect(try await client.products().products.map(\.productID) == ["issue1", "gems", "issue2"])
            merchant.change {
                $0.products[0].isOnSale = false
                $0.revision += 1
            }
            #expect(try await client.products().products.map(\.productID) == ["gems", "issue2"])
            merchant.trouble(.products(""), .status(503), .garbage)
            for code in [MerchantClientError.Code.unreachable, .badAnswer] {
                let offline = try await client.products()
                #expect(offline.problem?.code == code && offline.products.count == 2)
            }
            await client.close()

        }
    }

    @Test func `without a saved list an unavailable merchant is an error`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.trouble(.products(""), .status(500))
            let client = try await device.launch(log)
            let error = await #expect(throws: MerchantClientError.self) { try await client.products() }
            #expect(error?.code == .unreachable)
            await client.close()
        }
    }

    @Test func `a spend whose answer is lost is made once`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.change { $0.gems = 10 }
            let client = try await device.launch(log)
            merchant.trouble(.spends, .lost, .status(503, retryAfter: 1))
            let answer = try await client.spend(3, of: "gems", key: "hat-1")
            #expect(answer.balance == 7)
            #expect(device.change { $0.delays } == [1, 2])
            // Who is to wait for long is told so at once.
            merchant.trouble(.balances(), .status(503, retryAfter: 60))
            let later = await #expect(throws: MerchantClientError.self) { try await client.balances() }
            #expect(later?.code == .unreachable && later?.retryAfter == 60)
            #expect(device.change { $0.delays } == [1, 2])
            #expect(try await client.spend(3, of: "gems", key: "hat-1") == answer)
            #expect(try await client.balances().amount(of: "gems") == 7)
            let error = await #expect(throws: MerchantClientError.self) {
                try await client.spend(8, of: "gems", key: "coat-1")
            }
            #expect(error?.reason == .insufficientBalance && error?.requestID == "request-1")
            #expect(error?.localizedDescription == "Your balance is too low.")
            await client.close()
        }
    }

    @Test func `a spend whose answer is lost is not repeated for a user who signs in meanwhile`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.change {
                $0.gems = 10
                $0.tokens["other"] = "bob"
            }
            let signIn = Mutex<(@Sendable () async -> Void)?>(nil)
            let client = try await device.launch(log) { configuration in
                configuration.wait = { _ in await signIn.withLock { $0 }?() }
            }
            signIn.withLock {
                $0 = {
                    device.change { $0.tokens = ["other"] }
                    await client.userChanged()
                }
            }
            merchant.trouble(.spends, .lost)
            let error = await #expect(throws: MerchantClientError.self) {
                try await client.spend(3, of: "gems", key: "hat-1")
            }
            #expect(error?.code == .cancelled && merchant.count(.spends) == 1)
            #expect(try await client.account().userID == "bob")
            await client.close()
        }
    }

    @Test func `a request before the first sign-in is made for the user who signs in`() async throws {
        try await withMerchant { merchant, device, log in
            let token = HeldToken()
            var configuration = device.configuration(log)
            configuration.token = { _ in await token.wait() }
            let client = try MerchantClient(configuration)
            await client.open()
            async let account = client.account()
            await token.isAsked()
            await client.userChanged()
            token.come()
            #expect(try await account.userID == "ape")
            await client.close()
        }
    }

    @Test func `a spend that waits for a token is not made for a user who signs in meanwhile`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.change { $0.gems = 10 }
            let token = HeldToken()
            var configuration = device.configuration(log)
            configuration.token = { _ in await token.wait() }
            let client = try MerchantClient(configuration)
            await client.open()
            let spend = Task { try await client.spend(3, of: "gems", key: "hat-17") }
            await token.isAsked()
            await client.userChanged()
            token.come()
            let error = await #expect(throws: MerchantClientError.self) { try await spend.value }
            #expect(error?.code == .cancelled && merchant.count(.spends) == 0)
            // Asked again, it is made.
            #expect(try await client.spend(3, of: "gems", key: "hat-17").balance == 7)
            await client.close()
        }
    }

    /// What an app's sign-in may throw while its server is away, and what is no such thing.
    @Test(arguments: [
        (URLError(.notConnectedToInternet) as any Error & Sendable, true), (URLError(.timedOut), true),
        (MerchantClientError(.unreachable, "later"), true), (URLError(.userAuthenticationRequired), false),
        (Device.NoToken(), false),
    ])
    func `a temporarily missing token is requested again`(
        _ thrown: any Error & Sendable, _ isTemporary: Bool
    ) async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            let failures = Mutex(4)
            let client = try await device.launch(log) { configuration in
                configuration.token = { _ in
                    let fails = failures.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    if fails { throw thrown }
                    return "token"
                }
            }
            // Somebody who waits is told after three attempts, or at once.
            let error = await #expect(throws: MerchantClientError.self) { try await client.balances() }
            #expect(error?.code == (isTemporary ? .unreachable : .notSignedIn))
            #expect(failures.withLock { $0 } == (isTemporary ? 1 : 3))
            failures.withLock { $0 = 1 }
            await client.begin(device.buy("1"))
            if isTemporary {
                await log.told("finished 1")
                #expect(log.lines.contains { $0.hasPrefix("waiting 1 unreachable") })
            } else {
                await log.told("waiting 1 notSignedIn")
                #expect(device.finished.isEmpty)
            }
            await client.close()
        }
    }

    @Test func `a request of one user is not made for the next user`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.change { $0.gems = 10 }
            let token = HeldToken()
            let count = Mutex(0)
            var configuration = device.configuration(log)
            configuration.token = { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number == 2 ? await token.wait() : "token"
            }
            let client = try MerchantClient(configuration)
            await client.open()
            _ = try await client.account()
            await client.userChanged()
            let spend = Task { try await client.spend(3, of: "gems", key: "hat-17") }
            await token.isAsked()
            await client.userChanged()
            token.come()
            let error = await #expect(throws: MerchantClientError.self) { try await spend.value }
            #expect(error?.code == .cancelled && merchant.count(.spends) == 0)
            await client.close()
        }
    }

    @Test func `a redemption that waits for a token uses the token of the user who signs in`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            let token = HeldToken()
            let isFirst = Mutex(true)
            var configuration = device.configuration(log)
            configuration.token = { _ in
                let waits = isFirst.withLock { first in
                    defer { first = false }
                    return first
                }
                guard waits else { return "token" }
                _ = await token.wait()
                throw Device.NoToken()
            }
            let client = try MerchantClient(configuration)
            await client.open()
            await client.begin(device.buy("1"))
            await token.isAsked()
            await client.userChanged()
            token.come()
            await log.told("finished 1")
            #expect(!log.lines.contains { $0.hasPrefix("waiting") })
            await client.close()
        }
    }

    @Test(arguments: [
        (0, "key", nil), (-1, "key", nil), (1, "", nil), (1, String(repeating: "k", count: 129), nil),
        (2_000_000_000, "key", nil), (1, "key", String(repeating: "n", count: 501)),
    ])
    func `a spend out of bounds is not sent`(amount: Int64, key: String, note: String?) async throws {
        try await withMerchant { merchant, device, log in
            let client = try await device.launch(log)
            let error = await #expect(throws: MerchantClientError.self) {
                try await client.spend(amount, of: "gems", key: key, note: note)
            }
            #expect(error?.reason == .invalidRequest && merchant.count(.spends) == 0)
            await client.close()
        }
    }

    @Test func `the merchant's account of the user can be read`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.change { $0.owners["1"] = "ape" }
            let client = try await device.launch(log)
            #expect(try await client.account() == UserDescription(userID: "ape", accountToken: "of ape"))
            #expect(try await client.entitlements().isEntitled(to: "reader"))
            #expect(try await client.history(of: "gems").entries.isEmpty)
            merchant.trouble(.account, .status(503), .status(503), .status(503))
            let error = await #expect(throws: MerchantClientError.self) { try await client.account() }
            #expect(error?.code == .unreachable)
            await client.close()
        }
    }
}
