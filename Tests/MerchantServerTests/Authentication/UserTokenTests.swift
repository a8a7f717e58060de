import Crypto
import CryptoExtras
import Foundation
import MerchantWire
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Users' tokens", .timeLimit(.minutes(1)))
struct UserTokenTests {
    private let now = TokenSamples.now

    @Test func aGoodTokenNamesItsUser() async throws {
        let tokens = try await TokenSamples.tokens()
        #expect(try tokens.user(TokenSamples.token(), at: now) == UserID("ann"))
    }

    /// One thing wrong at a time.
    struct Wrong: Sendable, CustomTestStringConvertible {
        var what: String
        var rejection: TokenRejection
        var make: @Sendable () throws -> String
        var testDescription: String { what }

        init(_ what: String, _ rejection: TokenRejection, _ make: @escaping @Sendable () throws -> String) {
            self.what = what
            self.rejection = rejection
            self.make = make
        }
    }

    private static let seconds = Int(TokenSamples.now.timeIntervalSince1970)

    static let wrong: [Wrong] = [
        Wrong("nothing", .malformed) { "" },
        Wrong("two parts", .malformed) { "a.b" },
        Wrong("four parts", .malformed) { try TokenSamples.token() + ".x" },
        Wrong("padding", .malformed) { try TokenSamples.token() + "=" },
        Wrong("too long", .tooLarge) { try TokenSamples.token(claims: ["x": String(repeating: "y", count: 4_096)]) },
        Wrong("no algorithm", .malformed) { try TokenSamples.token(header: ["alg": nil]) },
        Wrong("none", .wrongAlgorithm) { try TokenSamples.token(header: ["alg": "none"]) { _ in Data() } },
        Wrong("another algorithm", .wrongAlgorithm) { try TokenSamples.token(header: ["alg": "ES256"]) },
        Wrong("something critical", .malformed) { try TokenSamples.token(header: ["crit": ["exp"]]) },
        Wrong("another type", .malformed) { try TokenSamples.token(header: ["typ": "JWE"]) },
        Wrong("unknown key", .unknownKey) { try TokenSamples.token(header: ["kid": "b"]) },
        Wrong("key id of another type", .malformed) { try TokenSamples.token(header: ["kid": 1]) },
        Wrong("another secret", .badSignature) {
            try TokenSamples.token { TokenSamples.hmac($0, Array(repeating: 8, count: 32)) }
        },
        Wrong("no signature", .badSignature) { try TokenSamples.token { _ in Data() } },
        Wrong("half a signature", .badSignature) {
            try TokenSamples.token { TokenSamples.hmac($0, TokenSamples.secret).prefix(16) }
        },
        Wrong("other issuer", .wrongIssuer) { try TokenSamples.token(claims: ["iss": "login2"]) },
        Wrong("no issuer", .malformed) { try TokenSamples.token(claims: ["iss": nil]) },
        Wrong("other audience", .wrongAudience) { try TokenSamples.token(claims: ["aud": ["x", "y"]]) },
        Wrong("empty audience", .wrongAudience) { try TokenSamples.token(claims: ["aud": [String]()]) },
        Wrong("no audience", .malformed) { try TokenSamples.token(claims: ["aud": nil]) },
        Wrong("expired just now", .expired) { try TokenSamples.token(claims: ["exp": seconds]) },
        Wrong("no end", .malformed) { try TokenSamples.token(claims: ["exp": nil]) },
        Wrong("no beginning", .malformed) { try TokenSamples.token(claims: ["iat": nil]) },
        Wrong("begins later", .notYetValid) { try TokenSamples.token(claims: ["iat": seconds + 61]) },
        Wrong("not before later", .notYetValid) { try TokenSamples.token(claims: ["nbf": seconds + 61]) },
        Wrong("lives too long", .livesTooLong) {
            try TokenSamples.token(claims: ["iat": seconds, "exp": seconds + 3_601])
        },
        Wrong("no subject", .malformed) { try TokenSamples.token(claims: ["sub": nil]) },
        Wrong("empty subject", .unusableSubject) { try TokenSamples.token(claims: ["sub": ""]) },
        Wrong("long subject", .unusableSubject) {
            try TokenSamples.token(claims: ["sub": String(repeating: "a", count: 256)])
        },
        Wrong("subject with a line end", .unusableSubject) { try TokenSamples.token(claims: ["sub": "a\nb"]) },
        Wrong("number as subject", .malformed) { try TokenSamples.token(claims: ["sub": 1]) },
    ]

    @Test(arguments: wrong) func aTokenThatIsWrongIsRefused(_ wrong: Wrong) async throws {
        let tokens = try await TokenSamples.tokens()
        let token = try wrong.make()
        #expect(throws: wrong.rejection) { try tokens.user(token, at: now) }
        #expect(tokens.rememberedUser(token, at: now) == nil)
    }

    @Test func whatIsAlmostWrongIsTaken() async throws {
        let tokens = try await TokenSamples.tokens()
        let changes: [[String: Any?]] = [
            ["aud": ["x", "app"]], ["exp": Self.seconds + 1], ["iat": Self.seconds + 60], ["nbf": Self.seconds + 60],
            ["iat": Self.seconds, "exp": Self.seconds + 3_600], ["iat": Double(Self.seconds) - 0.5],
        ]
        for change in changes {
            #expect(try tokens.user(TokenSamples.token(claims: change), at: now) == UserID("ann"))
        }
        // Without a key id the only key is meant, and the type may be left out.
        #expect(try tokens.user(TokenSamples.token(header: ["kid": nil, "typ": nil]), at: now) == UserID("ann"))
    }

    @Test func noByteOfATokenCanBeChanged() async throws {
        let tokens = try await TokenSamples.tokens()
        let token = try TokenSamples.token()
        var generator = SeededGenerator(seed: 5)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+ ".utf8)
        // The last character carries bits that nothing says.
        for index in token.utf8.indices.dropLast() {
            var bytes = Array(token.utf8)
            let position = token.utf8.distance(from: token.utf8.startIndex, to: index)
            bytes[position] = alphabet.filter { $0 != bytes[position] }.randomElement(using: &generator) ?? 0
            let changed = String(decoding: bytes, as: UTF8.self)
            #expect(throws: TokenRejection.self) { try tokens.user(changed, at: now) }
        }
    }

    // MARK: Remembering

    @Test func aVerifiedTokenIsRememberedUntilItExpires() async throws {
        let tokens = try await TokenSamples.tokens()
        let token = try TokenSamples.token()
        #expect(tokens.rememberedUser(token, at: now) == nil)
        _ = try tokens.user(token, at: now)
        #expect(tokens.rememberedUser(token, at: now.addingTimeInterval(599.9)) == UserID("ann"))
        #expect(tokens.rememberedUser(token, at: now.addingTimeInterval(600)) == nil)
        #expect(throws: TokenRejection.expired) { try tokens.user(token, at: now.addingTimeInterval(600)) }
    }

    @Test func otherKeysForgetWhatTheOldOnesVerified() async throws {
        let tokens = try await TokenSamples.tokens()
        let token = try TokenSamples.token()
        _ = try tokens.user(token, at: now)
        let other = try await TokenKey(
            id: "a", algorithm: .hs256, material: .secret(Array(repeating: 9, count: 32)))
        try tokens.replace(with: TokenKeySet(rules: TokenSamples.rules, keys: [other]))
        #expect(tokens.rememberedUser(token, at: now) == nil)
        #expect(throws: TokenRejection.badSignature) { try tokens.user(token, at: now) }
        // What was being verified meanwhile is not remembered either.
        let remembered = RememberedTokens(capacity: 10)
        let epoch = remembered.epoch
        remembered.removeAll()
        remembered.insert(token, user: "ann", expiresAt: now + 1, epoch: epoch)
        #expect(remembered.count == 0)
    }

    @Test func theMemoryIsBoundedAndNeverWrong() {
        let remembered = RememberedTokens(capacity: 64)
        var generator = SeededGenerator(seed: 11)
        var truth: [String: (UserID, Date)] = [:]
        var hits = 0
        for step in 0..<5_000 {
            let moment = now.addingTimeInterval(Double(step) / 10)
            let number = Int.random(in: 0..<100, using: &generator)
            let name = "token-\(number)"
            if let user = remembered.user(of: name, at: moment) {
                hits += 1
                #expect(truth[name].map { $0.0 == user && moment < $0.1 } == true)
            } else {
                let end = moment.addingTimeInterval(Double.random(in: 0..<60, using: &generator))
                truth[name] = (UserID("user-\(number)"), end)
                remembered.insert(name, user: UserID("user-\(number)"), expiresAt: end, epoch: 0)
            }
            #expect(remembered.count <= 64)
        }
        #expect(hits > 1_000)
    }

    // MARK: Keys

    @Test func severalKeysAreGoodAtOnceUntilTheirEnd() async throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let keys = [
            try await TokenKey(
                id: "ec", algorithm: .es256, material: .publicKey(TokenSamples.p256.publicKey.pemRepresentation)),
            try await TokenKey(id: "rsa", algorithm: .rs256, material: .publicKey(rsa.publicKey.pemRepresentation)),
            try await TokenSamples.hmacKey("old", until: now.addingTimeInterval(100)),
        ]
        let tokens = try UserTokens(TokenKeySet(rules: TokenSamples.rules, keys: keys))
        let ec = try TokenSamples.token(header: ["kid": "ec", "alg": "ES256"]) {
            try TokenSamples.p256.signature(for: $0).rawRepresentation
        }
        let rs = try TokenSamples.token(header: ["kid": "rsa", "alg": "RS256"]) {
            try rsa.signature(for: SHA256.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation
        }
        let old = try TokenSamples.token(header: ["kid": "old"])
        for token in [ec, rs, old] { #expect(try tokens.user(token, at: now) == UserID("ann")) }
        // Remembered or not, a key ends when it ends.
        #expect(tokens.rememberedUser(old, at: now.addingTimeInterval(99)) == UserID("ann"))
        #expect(throws: TokenRejection.unknownKey) { try tokens.user(old, at: now.addingTimeInterval(100)) }
        // Who does not say which key is meant is known by any of the algorithm, as long as it is good.
        let nameless = try TokenSamples.token(header: ["kid": nil])
        #expect(try tokens.user(nameless, at: now) == UserID("ann"))
        #expect(throws: TokenRejection.wrongAlgorithm) { try tokens.user(nameless, at: now.addingTimeInterval(100)) }
        let forged = try TokenSamples.token(header: ["kid": nil]) { TokenSamples.hmac($0, Array("another".utf8)) }
        #expect(throws: TokenRejection.badSignature) { try tokens.user(forged, at: now) }
        let publicSecret = try TokenSamples.token(header: ["kid": nil]) {
            TokenSamples.hmac($0, Array(TokenSamples.p256.publicKey.pemRepresentation.utf8))
        }
        #expect(throws: TokenRejection.badSignature) { try tokens.user(publicSecret, at: now) }
        // A public key is no secret to sign with.
        let confused = try TokenSamples.token(header: ["kid": "ec"]) {
            TokenSamples.hmac($0, Array(TokenSamples.p256.publicKey.pemRepresentation.utf8))
        }
        #expect(throws: TokenRejection.wrongAlgorithm) { try tokens.user(confused, at: now) }
        // Nor is a token made that would not be taken.
        let made = try await tokens.makeToken(for: "bob", at: now)
        #expect(try tokens.user(made, at: now) == UserID("bob"))
        await #expect(throws: MerchantServerError.self) {
            try await tokens.makeToken(for: "ann", at: now.addingTimeInterval(100))
        }
    }

    @Test func aTokenForTryingOutIsGood() async throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let keys = [
            try await TokenSamples.hmacKey(),
            try await TokenKey(
                id: "ec", algorithm: .es256, material: .privateKey(TokenSamples.p256.pemRepresentation)),
            try await TokenKey(id: "rsa", algorithm: .rs256, material: .privateKey(rsa.pemRepresentation)),
        ]
        for key in keys {
            let tokens = try UserTokens(TokenKeySet(rules: TokenSamples.rules, keys: [key]))
            let moment = now.addingTimeInterval(0.7)
            let token = try await tokens.makeToken(for: "b b/ü", at: moment)
            #expect(try tokens.user(token, at: moment) == UserID("b b/ü"))
            #expect(throws: TokenRejection.expired) { try tokens.user(token, at: now.addingTimeInterval(3_600)) }
            let short = try await tokens.makeToken(for: "ann", at: now, lifetime: 5)
            #expect(throws: TokenRejection.expired) { try tokens.user(short, at: now.addingTimeInterval(5)) }
            for user in [UserID(""), "a\u{7}"] {
                await #expect(throws: MerchantServerError.self) { try await tokens.makeToken(for: user, at: now) }
            }
            for lifetime in [0, 3_601, .nan, .infinity] {
                await #expect(throws: MerchantServerError.self) {
                    try await tokens.makeToken(for: "ann", at: now, lifetime: lifetime)
                }
            }
        }
    }

    @Test func aKeyOfAnotherKindIsRefused() async throws {
        let small = Array(repeating: UInt8(1), count: 31)
        let pem = TokenSamples.p256.publicKey.pemRepresentation
        let cases: [(TokenKey.Algorithm, TokenKey.Material)] = [
            (.hs256, .secret(small)), (.hs256, .publicKey(pem)), (.es256, .secret(TokenSamples.secret)),
            (.es256, .publicKey("x")), (.rs256, .publicKey(pem)), (.es256, .privateKey(pem)),
            (.es256, .publicKey(P384.Signing.PrivateKey().publicKey.pemRepresentation)),
        ]
        for (algorithm, material) in cases {
            await #expect(throws: MerchantServerError.self) {
                try await TokenKey(id: "a", algorithm: algorithm, material: material)
            }
        }
        await #expect(throws: MerchantServerError.self) { try await TokenSamples.hmacKey("a b") }
        #expect(throws: MerchantServerError.self) { try UserTokens(TokenKeySet(rules: TokenSamples.rules, keys: [])) }
        let twice = [try await TokenSamples.hmacKey(), try await TokenSamples.hmacKey()]
        #expect(throws: MerchantServerError.self) {
            try UserTokens(TokenKeySet(rules: TokenSamples.rules, keys: twice))
        }
    }
}
