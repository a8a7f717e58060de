import Foundation
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Files of token keys", .timeLimit(.minutes(1)))
struct TokenKeySetTests {
    private let now = TokenSamples.now

    private func write(_ text: String, _ name: String, mode: Int = 0o600, in directory: TemporaryDirectory) throws
        -> URL
    {
        let file = directory.url.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: mode)], ofItemAtPath: file.path)
        return file
    }

    @Test func theFirstStartMakesAKeyThatStays() async throws {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url
            let first = try UserTokens(try await TokenKeySet.open(directory: folder))
            let file = folder.appendingPathComponent(TokenKeySet.fileName)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [TokenKeySet.fileName])
            let token = try await first.makeToken(for: "ann", at: now)
            let second = try UserTokens(try await TokenKeySet.open(directory: folder))
            #expect(try second.user(token, at: now) == "ann")
            // Who makes the file second takes the first one's.
            #expect(try SecretFile.create(file, Data("{}".utf8)) == false)
            #expect(try UserTokens(try await TokenKeySet.open(directory: folder)).user(token, at: now) == "ann")
        }
    }

    @Test func yamlAndJSONSayTheSame() async throws {
        let pem = TokenSamples.p256.publicKey.pemRepresentation
        let secret = Data(TokenSamples.secret).base64EncodedString()
        let yaml = """
            issuer: login
            audience: app
            maximumLifetime: 3600
            keys:
              - id: a
                algorithm: HS256
                secret: \(secret)
                acceptedUntil: 2026-12-01T00:00:00Z
              - id: ec
                algorithm: ES256
                publicKey: |
            \(pem.split(separator: "\n").map { "      " + $0 }.joined(separator: "\n"))
            """
        let json = try JSONSerialization.data(withJSONObject: [
            "issuer": "login", "audience": "app", "maximumLifetime": 3600,
            "keys": [
                ["id": "a", "algorithm": "HS256", "secret": secret, "acceptedUntil": "2026-12-01T00:00:00Z"],
                ["id": "ec", "algorithm": "ES256", "publicKey": pem],
            ],
        ])
        try await TemporaryDirectory.with { directory in
            for file in [
                try write(yaml, "keys.yaml", in: directory),
                try write(String(decoding: json, as: UTF8.self), "keys.json", in: directory),
            ] {
                let set = try await TokenKeySet.read(file)
                #expect(set.rules == TokenSamples.rules)
                #expect(set.keys.map(\.id) == ["a", "ec"])
                #expect(set.keys.map(\.canSign) == [true, false])
                #expect(set.keys[0].acceptedUntil == Date(timeIntervalSince1970: 1_796_083_200))
                #expect(try UserTokens(set).user(TokenSamples.token(), at: now) == "ann")
            }
        }
    }

    @Test func aSecretThatOthersMayReadIsRefused() async throws {
        let secret = Data(TokenSamples.secret).base64EncodedString()
        let text = "issuer: a\naudience: b\nkeys: [{id: k, algorithm: HS256, secret: \(secret)}]"
        try await TemporaryDirectory.with { directory in
            let file = try write(text, "keys.yaml", mode: 0o640, in: directory)
            let error = await #expect(throws: MerchantServerError.self) { try await TokenKeySet.read(file) }
            #expect(error?.code == .exposedSecret)
            #expect(error?.detail.contains(secret) == false)
        }
    }

    @Test(arguments: [
        "", "[]", "issuer: a", "issuer: a\naudience: b\nkeys: []",
        "issuer: ''\naudience: b\nkeys: [{id: k, algorithm: HS256}]",
        "issuer: a\naudience: b\nkeys: [{id: k, algorithm: HS512, secret: c2VjcmV0}]",
        "issuer: a\naudience: b\nkeys: [{id: k, algorithm: HS256, secret: c2VjcmV0}]",
        "issuer: a\naudience: b\nkeys: [{id: k, algorithm: HS256, secret: '*'}]",
        "issuer: a\naudience: b\nkeys: [{id: k, algorithm: ES256, publicKey: x, privateKey: y}]",
        "issuer: a\naudience: b\nmaximumLifetime: 0\nkeys: [{id: k, algorithm: ES256, publicKey: x}]",
        "issuer: a\naudience: b\nkeys: [{id: k, algorithm: ES256, publicKey: x, acceptedUntil: tomorrow}]",
        "issuer: a\naudience: b\nkeys: [{id: k, algorithm: HS256, secret: "
            + "\(Data(repeating: 7, count: 32).base64EncodedString()), acceptedUntil: 2026-02-30T00:00:00Z}]",
        "{", "\u{0}", "keys: &a [*a]",
    ])
    func aFileThatIsNoneIsRefused(_ text: String) async throws {
        try await TemporaryDirectory.with { directory in
            for name in ["keys.yaml", "keys.json"] {
                let file = try write(text, name, in: directory)
                await #expect(throws: MerchantServerError.self) { try await TokenKeySet.read(file) }
            }
        }
    }
}
