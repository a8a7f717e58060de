import Crypto
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire
import NIOCore
import ServerSupport
import Synchronization
import TestSupport
import Testing

@testable import MerchantServer

/// Users who try identifiers of transactions that others may have made.
@Suite("Guessed identifiers of transactions", .timeLimit(.minutes(1)))
struct IdentifierGuessTests {
    /// A store's API that knows some transactions, and counts the requests.
    private final class Host: Sendable {
        private struct State {
            var signed: [String: String] = [:]
            var requests = 0
        }

        private let state = Mutex(State())

        var requests: Int { state.withLock { $0.requests } }

        func add(_ id: String, _ signed: [UInt8]) {
            state.withLock { $0.signed[id] = String(decoding: signed, as: UTF8.self) }
        }

        var router: Router<BasicRequestContext> {
            let router = Router()
            router.get("**") { request, _ -> Response in
                let id = request.uri.path.split(separator: "/").last.map(String.init) ?? ""
                let signed = self.state.withLock { state in
                    state.requests += 1
                    return state.signed[id]
                }
                let body = signed.map { #"{"signedTransactionInfo":"\#($0)"}"# } ?? #"{"errorCode":4040010}"#
                return Response(
                    status: signed == nil ? .notFound : .ok,
                    body: ResponseBody(byteBuffer: ByteBuffer(string: body)))
            }
            return router
        }
    }

    private func redeem(_ id: String, as token: String, _ merchant: RunningMerchant) async throws -> HTTPReply {
        let body = try JSONEncoder().encode(RedemptionRequest(transactionID: id))
        return try await merchant.send(.redemptions, as: token, [UInt8](body))
    }

    @Test func `transactions that the store does not know are counted by user and by address`() async throws {
        let (host, pem) = (Host(), P256.Signing.PrivateKey().pemRepresentation)
        let much = TokenRate(burst: 1_000, perSecond: 1_000)
        try await LoopbackServer.with(host.router) { url in
            let access = try StoreAPIAccess(
                StoreAPIKey(
                    bundleID: "com.example.books", keyID: "ABC1234567", issuerID: "an-issuer", pem: pem),
                production: "http://127.0.0.1:9", sandbox: url.absoluteString)
            try await RunningMerchant.with {
                $0.storeAPI = [access]
                $0.rates = RateLimits.Rates(
                    address: much, user: much, key: much, addressGuesses: .init(burst: 3, perSecond: 0.001),
                    userGuesses: .init(burst: 2, perSecond: 0.001))
            } _: { merchant async throws in
                let known = "2000000000000001"
                host.add(known, try merchant.signed("coins", known))
                let (ann, bob) = (try await merchant.token("ann"), try await merchant.token("bob"))
                for _ in 0..<4 { #expect(try await redeem(known, as: ann, merchant).status == 200) }
                for guess in ["2000000000000002", "2000000000000003"] {
                    #expect(try await redeem(guess, as: ann, merchant).code == "unknown_transaction")
                }
                #expect(host.requests == 6)
                // No identifier is asked about for the user now. The merchant still takes what the store has signed.
                for id in ["2000000000000004", known] {
                    let refused = try await redeem(id, as: ann, merchant)
                    #expect(refused.status == 429 && refused.code == "rate_limited", "\(refused.text)")
                    #expect(refused.headers["retry-after"] != nil)
                }
                #expect(try await merchant.redeem("coins", "2000000000000005", as: ann).status == 200)
                // Another account at the same address may make the guesses that are left to the address.
                #expect(try await redeem("2000000000000006", as: bob, merchant).code == "unknown_transaction")
                #expect(try await redeem("2000000000000007", as: bob, merchant).status == 429)
                #expect(host.requests == 7)
            }
        }
    }

    /// The sandbox did not answer, and production has no such transaction.
    private static var halfUnknown: MerchantError {
        var error = MerchantError(.storeUnavailable)
        error.isUnknownTransaction = true
        return error
    }

    @Test(arguments: [CancellationError(), halfUnknown] as [any Error])
    func `a request counts while the store is asked, and stays counted after a guess or when its client has left`(
        _ error: any Error
    ) async throws {
        let rate = TokenRate(burst: 1, perSecond: 0.001)
        let limits = RateLimits(.init(address: rate, user: rate, key: rate, addressGuesses: rate, userGuesses: rate))
        let authentication = Authentication(
            tokens: try await TokenSamples.tokens(), keys: APIKeys(KeysInMemory()), limits: limits,
            now: { Date(timeIntervalSince1970: 0) })
        func ask(_ body: () async throws -> Void) async throws {
            try await authentication.countingGuesses(of: "ann", at: NetworkAddress(nil)) { try await body() }
        }
        /// Asks once more, which is refused: after how many seconds it may be repeated.
        func wait() async throws -> Int? {
            do { try await ask {} } catch let problem as HTTPProblem { return problem.retryAfter }
            return nil
        }
        // The store may know the other request's transaction.
        try await ask {
            let pause = try await wait()
            #expect(pause == 1)
        }
        struct Failure: Error {}
        await #expect(throws: Failure.self) { try await ask { throw Failure() } }
        await #expect(throws: (any Error).self) { try await ask { throw error } }
        let pause = try await wait()
        #expect(pause == 1_000)
    }
}
