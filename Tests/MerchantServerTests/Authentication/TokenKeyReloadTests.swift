import Foundation
import Logging
import MerchantWire
import Synchronization
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Keys of users' tokens that change while the server runs", .timeLimit(.minutes(1)))
struct TokenKeyReloadTests {
    /// A file of keys, and what follows it.
    private final class Scene {
        let file: URL
        let tokens: UserTokens
        let log: LogLines
        var reload: TokenKeyReload

        init(_ file: URL, now: @escaping @Sendable () -> Date) async throws {
            self.file = file
            let keySet = try await TokenKeySet.read(file)
            tokens = try UserTokens(keySet)
            log = LogLines()
            reload = TokenKeyReload(file, keySet, tokens, now: now, logger: log.logger)
        }

        func user(_ token: String) -> Result<UserID, TokenRejection> {
            Result { () throws(TokenRejection) in try tokens.user(token, at: TokenSamples.now) }
        }
    }

    private static func write(_ keys: [(id: String, secret: UInt8)], to file: URL, end: String? = nil) throws {
        let lines = keys.map { id, byte in
            "  - {id: \(id), algorithm: HS256, secret: \(Data(repeating: byte, count: 32).base64EncodedString())"
                + (end.map { ", acceptedUntil: \"\($0)\"" } ?? "") + "}"
        }
        try write("issuer: login\naudience: app\nkeys:\n\(lines.joined(separator: "\n"))\n", to: file)
    }

    private static func write(_ text: String, to file: URL) throws {
        let aside = file.appendingPathExtension("new")
        try Data(text.utf8).write(to: aside)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: aside.path)
        #expect(rename(aside.path, file.path) == 0)
    }

    private static func token(_ id: String, _ byte: UInt8) throws -> String {
        try TokenSamples.token(header: ["kid": id]) { TokenSamples.hmac($0, Array(repeating: byte, count: 32)) }
    }

    private func with(
        now: @escaping @Sendable () -> Date = { Date() }, _ body: (Scene) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let file = directory.url.appendingPathComponent("keys.yaml")
            try Self.write([("a", 1)], to: file)
            try await body(try await Scene(file, now: now))
        }
    }

    @Test func aKeyThatHasGoneIsGoodNoLonger() async throws {
        try await with { scene in
            let (old, new) = (try Self.token("a", 1), try Self.token("b", 2))
            #expect(scene.user(old) == .success("ann") && scene.user(new) == .failure(.unknownKey))
            await scene.reload.look()
            #expect(scene.tokens.rememberedUser(old, at: TokenSamples.now) == "ann")
            // The new one comes first, and the old one stays for a while.
            try Self.write([("b", 2), ("a", 1)], to: scene.file)
            await scene.reload.look()
            #expect(scene.user(old) == .success("ann") && scene.user(new) == .success("ann"))
            try Self.write([("b", 2)], to: scene.file)
            await scene.reload.look()
            #expect(scene.tokens.rememberedUser(old, at: TokenSamples.now) == nil)
            #expect(scene.user(old) == .failure(.unknownKey) && scene.user(new) == .success("ann"))
            // Another secret under the same id is another key.
            try Self.write([("b", 3)], to: scene.file)
            await scene.reload.look()
            #expect(scene.user(new) == .failure(.badSignature))
            #expect(scene.log.all.map(\.level) == [.notice, .notice, .notice])
            #expect(scene.log.all.first?.text.contains("b, a") == true)
        }
    }

    @Test func aFileThatIsBadLeavesTheOldKeysAndIsToldOfOnce() async throws {
        let problems: [(String, (URL) throws -> Void)] = [
            ("half written", { try Self.write("issuer: login\naudience: app\nkeys: [{id: a, alg", to: $0) }),
            ("two of one id", { try Self.write([("a", 1), ("a", 2)], to: $0) }),
            ("no key", { try Self.write("issuer: login\naudience: app\nkeys: []", to: $0) }),
            ("too large", { try Self.write(String(repeating: "#", count: SecretFile.maximumSize + 1), to: $0) }),
            (
                "readable by others",
                {
                    try FileManager.default.setAttributes(
                        [.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: $0.path)
                }
            ),
            ("gone", { try FileManager.default.removeItem(at: $0) }),
        ]
        for (name, spoil) in problems {
            try await with { scene in
                let token = try Self.token("a", 1)
                await scene.reload.look()
                #expect(scene.user(token) == .success("ann"))
                try spoil(scene.file)
                // It could be under way to something better.
                await scene.reload.look()
                #expect(scene.log.all.isEmpty, "\(name)")
                for _ in 0..<3 { await scene.reload.look() }
                #expect(scene.log.all.map(\.level) == [.error], "\(name)")
                #expect(scene.user(token) == .success("ann"), "\(name)")
                try Self.write([("b", 2)], to: scene.file)
                await scene.reload.look()
                #expect(scene.log.all.map(\.level) == [.error, .notice], "\(name)")
                #expect(scene.user(token) == .failure(.unknownKey), "\(name)")
                let secrets = [UInt8(1), 2].map { Data(repeating: $0, count: 32).base64EncodedString() }
                #expect(!scene.log.all.contains { line in secrets.contains { line.text.contains($0) } })
            }
        }
    }

    /// By its stamp alone: when the clock is far from the file's times, nothing else is looked at.
    @Test func aFileThatStaysIsNotReadAgain() async throws {
        let clock = ManualPacing(Date(timeIntervalSince1970: 1_000_000_000))
        try await with {
            clock.now
        } _: { scene in
            let token = try Self.token("a", 1)
            #expect(scene.user(token) == .success("ann"))
            for _ in 0..<3 { await scene.reload.look() }
            #expect(scene.tokens.rememberedUser(token, at: TokenSamples.now) == "ann")
            // The same bytes in a new file change nothing, a comment is a change, and the mode alone is one.
            try Self.write(try String(contentsOf: scene.file, encoding: .utf8), to: scene.file)
            await scene.reload.look()
            #expect(scene.tokens.rememberedUser(token, at: TokenSamples.now) == "ann" && scene.log.all.isEmpty)
            try Self.write(try String(contentsOf: scene.file, encoding: .utf8) + "# new\n", to: scene.file)
            await scene.reload.look()
            #expect(scene.tokens.rememberedUser(token, at: TokenSamples.now) == nil && scene.log.all.count == 1)
        }
    }

    @Test func aMountedSecretIsFollowedThroughItsLink() async throws {
        try await with { scene in
            let other = scene.file.deletingLastPathComponent().appendingPathComponent("other.yaml")
            try Self.write([("b", 2)], to: other)
            try FileManager.default.removeItem(at: scene.file)
            try FileManager.default.createSymbolicLink(at: scene.file, withDestinationURL: other)
            await scene.reload.look()
            #expect(scene.user(try Self.token("b", 2)) == .success("ann"))
        }
    }

    /// Both ways to a user: the router's, and the one for tokens that are remembered.
    @Test func aRunningServerFollows() async throws {
        let log = LogLines()
        try await RunningMerchant.with(logger: log.logger) { merchant async throws in
            let token = try await merchant.token("ann")
            for _ in 0..<2 { #expect(try await merchant.send(.balances(), as: token).status == 200) }
            let file = merchant.application.configuration.dataDirectory.appendingPathComponent(TokenKeySet.fileName)
            let text = try String(contentsOf: file, encoding: .utf8)
            let changed = try #require(text.firstMatch(of: /key-[A-Za-z0-9_-]+/)).output
            try Self.write(text.replacing(changed, with: "another"), to: file)
            for await line in log.arrivals where line.text.contains("tokens reloaded") { break }
            let gone = try await merchant.send(.balances(), as: token)
            #expect(gone.status == 401 && gone.code == "not_signed_in")
            #expect(try await merchant.send(.balances(), as: try await merchant.token("ann")).status == 200)
        }
    }
}
