import Foundation
import Logging
import Store
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct AuthorityCommandTests {
    @Test func certificatesAreShownAndReplaced() async throws {
        try await RunningStore.with { store async throws in
            let shown = await store.run("authority").output
            #expect(shown.contains("receipt-root") && shown.contains("jws-sandbox"))
            let rotated = await store.run("authority rotate")
            #expect(rotated.status == 0 && rotated.output != shown)
            #expect(await store.run("authority show").output == rotated.output)
            let document = try await store.run("authority show --json").output.object()
            #expect((document["certificates"] as? [Any])?.count == 8)
        }
    }

    @Test func aKeyIsMadeEachTime() async throws {
        let made = await Capture.run(["authority", "key"])
        let key = try StoreKey(base64: made.output)
        #expect(made.status == 0 && made.output == key.base64 + "\n")
        let other = try await Capture.run(["authority", "key", "--json"]).output.object()
        #expect(try StoreKey(base64: try #require(other["storeKey"] as? String)) != key)
    }

    @Test func theKeyComesFromAFileOrTheEnvironment() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let (key, other) = (StoreKey(), StoreKey())
            let file = directory.path("store.key")
            Self.write(key, to: file)
            #expect(try StoreKey(option: nil, environment: [:]) == nil)
            #expect(try StoreKey(option: nil, environment: [StoreKey.variable: ""]) == nil)
            #expect(try StoreKey(option: file, environment: [:]) == key)
            #expect(try StoreKey(option: nil, environment: [StoreKey.variable: other.base64]) == other)
            #expect(try StoreKey(option: file, environment: [StoreKey.variable: key.base64]) == key)
            let error = #expect(throws: CommandError.self) {
                _ = try StoreKey(option: file, environment: [StoreKey.variable: other.base64])
            }
            #expect(error?.code == .usage)
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql))) func secretsAreSealedWithAnotherKey() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let (old, new) = (StoreKey(), StoreKey())
            Self.write(old, to: directory.path("old.key"))
            Self.write(new, to: directory.path("new.key"))
            try await Backend.postgresql.withServerDatabase { url, prefix async throws in
                let address = try #require(url)
                func open(_ key: StoreKey) async throws {
                    let databases = try await StoreDatabases.open(
                        .postgresql(url: address, schemaPrefix: prefix), logger: .silent)
                    let outcome: Result<StoreSecrets, any Error>
                    do { outcome = .success(try await StoreSecrets.open(databases, key: key)) } catch {
                        outcome = .failure(error)
                    }
                    await databases.close()
                    _ = try outcome.get()
                }
                let arguments = [
                    "authority", "reseal", "--store-key", directory.path("old.key"), "--new-key",
                    directory.path("new.key"), "--schema-prefix", prefix,
                ]
                // There is no store yet, and the command makes none.
                let early = await Capture.run(arguments, environment: ["CORNERSTORE_DATABASE": address])
                #expect(early.status == 1 && early.errors.contains("no store under this prefix"), "\(early.errors)")
                try await open(old)
                let result = await Capture.run(arguments, environment: ["CORNERSTORE_DATABASE": address])
                #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
                try await open(new)
                let error = await #expect(throws: StoreSecretsError.self) { try await open(old) }
                #expect(error?.code == .keyWrong)
                // The key now is the new one.
                #expect(await Capture.run(arguments, environment: ["CORNERSTORE_DATABASE": address]).status == 1)
            }
        }
    }

    private static func write(_ key: StoreKey, to path: String) {
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(key.base64.utf8), attributes: [.posixPermissions: NSNumber(value: 0o600)])
    }
}
