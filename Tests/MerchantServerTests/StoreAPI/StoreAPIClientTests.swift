import CornerstoreEncoding
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Merchant
import NIOCore
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import MerchantServer

@Suite("The client of the App Store Server API", .timeLimit(.minutes(1)))
struct StoreAPIClientTests {
    private static let app: BundleID = "com.example.books"

    /// A host that notes the requests and gives one answer for each; the last is given again.
    private final class Host: Sendable {
        struct Answer: Sendable {
            var status = 200
            var headers: HTTPFields = [:]
            var body = "{}"
        }

        struct Seen: Sendable, Equatable {
            var method: String
            var path: String
            var authorization: String
            var body: String
        }

        private struct State {
            var answers: [Answer]
            var seen: [Seen] = []
        }

        private let state: Mutex<State>

        init(_ answers: [Answer]) { state = Mutex(State(answers: answers)) }

        var seen: [Seen] { state.withLock { $0.seen } }

        var router: Router<BasicRequestContext> {
            let router = Router()
            for method in [HTTPRequest.Method.get, .put] {
                router.on("**", method: method) { request, _ in
                    let body = try await request.body.collect(upTo: 1 << 20)
                    let seen = Seen(
                        method: request.method.rawValue, path: request.uri.path,
                        authorization: request.headers[.authorization] ?? "", body: String(buffer: body))
                    let answer = self.state.withLock { state in
                        state.seen.append(seen)
                        return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
                    }
                    return Response(
                        status: .init(code: answer.status), headers: answer.headers,
                        body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
                }
            }
            return router
        }
    }

    private let privateKey = P256.Signing.PrivateKey()
    private let pacing = ManualPacing()

    private func key(_ app: BundleID = app) throws -> StoreAPIKey {
        try StoreAPIKey(bundleID: app, keyID: "ABC1234567", issuerID: "an-issuer", pem: privateKey.pemRepresentation)
    }

    /// Sends a request to a sandbox that gives some answers.
    private func send(
        _ answers: [Host.Answer], _ request: StoreAPIRequest = .transaction("7"),
        _ check: @escaping @Sendable (Result<[UInt8], StoreAPIError>, Host) throws -> Void
    ) async throws {
        let host = Host(answers)
        let (key, pacing) = (try self.key(), self.pacing)
        try await LoopbackServer.with(host.router) { url in
            let client = StoreAPIClient(
                [try StoreAPIAccess(key, production: "http://127.0.0.1:9", sandbox: url.absoluteString)],
                pacing: pacing.pacing(), logger: .silent)
            do {
                try check(.success(try await client.send(request, for: Self.app, in: .sandbox)), host)
            } catch let error as StoreAPIError {
                try check(.failure(error), host)
            }
        }
    }

    private static func code(_ result: Result<[UInt8], StoreAPIError>) -> StoreAPIError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test func aTokenHasApplesClaimsAndIsGoodForFiveMinutes() throws {
        let parts = try key().token(at: 1_790_000_000).split(separator: ".").map { Array($0.utf8) }
        #expect(parts.count == 3)
        func object(_ part: [UInt8]) throws -> [String: Any] {
            let json = try #require(Base64URL.decoded(part[...]))
            return try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        }
        let head = try object(parts[0])
        #expect(head as? [String: String] == ["alg": "ES256", "kid": "ABC1234567", "typ": "JWT"])
        let claims = try object(parts[1])
        #expect(claims["iss"] as? String == "an-issuer" && claims["bid"] as? String == "com.example.books")
        #expect(claims["aud"] as? String == "appstoreconnect-v1" && claims.count == 5)
        #expect(claims["iat"] as? Int == 1_790_000_000 && claims["exp"] as? Int == 1_790_000_300)
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Base64URL.decoded(parts[2][...])))
        let signed = Data(parts[0] + [UInt8(ascii: ".")] + parts[1])
        #expect(privateKey.publicKey.isValidSignature(signature, for: signed))
        #expect(!"\(try key())".contains("PRIVATE"))
    }

    @Test func aSignedOfferHasApplesClaims() throws {
        let nonce = UUID()
        let jws = try key().promotionalOffer(
            "come-back", of: "club.monthly", transactionID: "7", nonce: nonce, at: 1_790_000_000)
        let parts = jws.split(separator: ".").map { Array($0.utf8) }
        #expect(parts.count == 3)
        let json = try #require(Base64URL.decoded(parts[1][...]))
        let claims = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        #expect(claims["iss"] as? String == "an-issuer" && claims["bid"] as? String == "com.example.books")
        #expect(claims["aud"] as? String == "promotional-offer" && claims["iat"] as? Int == 1_790_000_000)
        #expect(claims["nonce"] as? String == nonce.uuidString.lowercased() && claims.count == 8)
        #expect(claims["productId"] as? String == "club.monthly" && claims["transactionId"] as? String == "7")
        #expect(claims["offerIdentifier"] as? String == "come-back")
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Base64URL.decoded(parts[2][...])))
        let signed = Data(parts[0] + [UInt8(ascii: ".")] + parts[1])
        #expect(privateKey.publicKey.isValidSignature(signature, for: signed))
    }

    @Test func requestsHaveTheirPathsAndBodies() async throws {
        let requests: [(StoreAPIRequest, String)] = [
            (.transaction("7"), "GET /inApps/v1/transactions/7"), (.statuses("7"), "GET /inApps/v1/subscriptions/7"),
            (.consumption("7", body: Array("{}".utf8)), "PUT /inApps/v2/transactions/consumption/7"),
            (.accountToken("7", body: Array("{}".utf8)), "PUT /inApps/v1/transactions/7/appAccountToken"),
        ]
        for (request, line) in requests {
            try await send([.init(status: 202, body: "x")], request) { result, host in
                #expect(try result.get() == Array("x".utf8))
                let seen = try #require(host.seen.first)
                #expect("\(seen.method) \(seen.path)" == line)
                #expect(seen.authorization.hasPrefix("Bearer ey"))
                #expect(seen.body == (seen.method == "PUT" ? "{}" : ""))
            }
        }
        try await send([.init()], .transaction("../../control")) { result, host in
            #expect(Self.code(result) == .unknownTransaction && host.seen.isEmpty)
        }
    }

    @Test(arguments: [
        (401, "Unauthenticated", StoreAPIError.Code.unauthorized),
        (404, #"{"errorCode":4040010}"#, .unknownTransaction),
        (404, "<html>", .unknownTransaction), (400, #"{"errorCode":4000006}"#, .unknownTransaction),
        (400, #"{"errorCode":4000000}"#, .refused), (403, "", .refused), (302, "", .malformedAnswer),
    ]) func aFinalAnswerIsNotAskedForAgain(_ status: Int, _ body: String, _ expected: StoreAPIError.Code) async throws {
        try await send([.init(status: status, body: body)]) { result, host in
            #expect(Self.code(result) == expected && host.seen.count == 1)
        }
    }

    @Test func temporaryFailuresAreRepeatedAFewTimes() async throws {
        let busy = Host.Answer(status: 500, body: #"{"errorCode":5000001,"errorMessage":"Try again."}"#)
        try await send([busy, .init(status: 429, body: "{}"), .init(body: "good")]) { result, host throws in
            #expect(try result.get() == Array("good".utf8) && host.seen.count == 3)
            #expect(Set(host.seen.map(\.authorization)).count == 3)
        }
        try await send([busy]) { result, host in
            #expect(Self.code(result) == .unavailable && host.seen.count == StoreAPIClient.attempts)
        }
    }

    /// `Retry-After` is a date in milliseconds. One that is too far away ends the attempts.
    @Test func retryAfterIsInMilliseconds() async throws {
        let now = Int(pacing.now.timeIntervalSince1970)
        #expect(StoreAPIClient.Outcome.seconds((now + 90) * 1_000, from: Double(now)) == 90)
        #expect(StoreAPIClient.Outcome.seconds((now - 90) * 1_000, from: Double(now)) == 0)
        #expect(StoreAPIClient.Outcome.seconds(7, from: Double(now)) == 7)
        #expect(StoreAPIClient.Outcome.seconds(.max, from: Double(now)) == 3_600)
        let limited = Host.Answer(status: 429, headers: [.retryAfter: String((now + 90) * 1_000)])
        try await send([limited]) { result, host in
            #expect(Self.code(result) == .unavailable && host.seen.count == 1)
            if case .failure(let error) = result { #expect(error.retryAfter == 90) }
        }
    }

    @Test func anAnswerHasAtMostAMebibyte() async throws {
        let (most, more) = (StoreAPIClient.answerLimit, StoreAPIClient.answerLimit + 1)
        try await send([.init(body: String(repeating: "a", count: most))]) { result, _ throws in
            #expect(try result.get().count == most)
        }
        try await send([.init(body: String(repeating: "a", count: more))]) { result, host in
            #expect(Self.code(result) == .malformedAnswer && host.seen.count == 1)
        }
    }

    @Test func anAppWithoutAKeyAsksTheProvider() async throws {
        let client = StoreAPIClient([], pacing: pacing.pacing(), logger: .silent)
        #expect(!client.hasKeys)
        for _ in 0..<2 {
            let error = await #expect(throws: StoreAPIError.self) {
                try await client.send(.transaction("7"), for: Self.app, in: .sandbox)
            }
            #expect(error?.code == .noKey)
            client.provide { _ in nil }
        }
        #expect(client.hasKeys)
    }

    @Test func aFileNamesTheKeys() async throws {
        try await TemporaryDirectory.with { directory in
            let secret = directory.url.appendingPathComponent("key.p8")
            try StoreAPIKeysFile.create(secret, pem: privateKey.pemRepresentation)
            #expect(try StoreAPIKeysFile.pem(secret) == privateKey.pemRepresentation)
            let file = directory.url.appendingPathComponent("keys.yaml")
            func write(_ text: String) throws { try Data(text.utf8).write(to: file) }
            let entry = "{bundleId: com.example.books, keyId: K, issuerId: I, file: key.p8"
            try write("keys:\n  - \(entry)}\n")
            let access = try #require(try StoreAPIKeysFile.read(file).first)
            #expect(access.key.bundleID == Self.app && access.key.keyID == "K" && access.key.issuerID == "I")
            #expect(access.base(.production).absoluteString == "https://api.storekit.apple.com")
            #expect(access.base(.sandbox).absoluteString == "https://api.storekit-sandbox.apple.com")
            for bad in [
                "keys: []", "keys:\n  - \(entry)}\n  - \(entry)}\n", "keys:\n  - {bundleId: b, keyId: K}\n",
                "keys:\n  - \(entry), sandbox: \"http://store.example.com\"}\n", "a: [",
                "keys:\n  - {bundleId: b, keyId: K, issuerId: I, file: none.p8}\n",
            ] {
                try write(bad)
                #expect(throws: MerchantServerError.self, "\(bad)") { try StoreAPIKeysFile.read(file) }
            }
            // Others may read it.
            try write("keys:\n  - \(entry)}\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: secret.path)
            let error = #expect(throws: MerchantServerError.self) { try StoreAPIKeysFile.read(file) }
            #expect(error?.code == .exposedSecret && error?.detail.contains("PRIVATE") == false)
        }
    }
}
