import Foundation
import StoreServer
import Testing

@testable import CornerstoreCommands

/// Commands that were pointed to the wrong place say so, and leave nothing behind there.
@Suite(.timeLimit(.minutes(1))) struct DevicePlaceTests {
    private func names(_ url: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).sorted()
    }

    @Test func aFolderThatIsNotADeviceIsRefusedAndNotChanged() async throws {
        try await RunningStore.with { store in
            let folder = store.directory.url.appendingPathComponent("photos")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: folder.appendingPathComponent("one.png"))
            for command in [
                "queue", "queue --finish", "restore", "buy com.example.app.coins", "device payments off",
            ] {
                let result = await store.run("\(command) --device", folder.path)
                #expect(result.status == 1, "\(command)")
                #expect(result.errors.contains(folder.path) && result.errors.contains("device"), "\(result.errors)")
                #expect(try names(folder) == ["one.png"])
            }
            let missing = store.directory.path("misspelt")
            for command in ["queue", "device payments on"] {
                let result = await store.run("\(command) --device", missing)
                #expect(result.status == 1 && result.errors.contains("There is no device in \(missing)"))
                #expect(!FileManager.default.fileExists(atPath: missing))
            }
            // Neither bought or restored anything, nor made the tester's device by looking.
            let queue = try await store.run("queue --json").output.object()
            #expect((queue["transactions"] as? [Any])?.isEmpty == true)
            #expect(!FileManager.default.fileExists(atPath: store.data + "/devices"))
            #expect(await store.run("transaction list").output == "No transactions in sandbox.\n")
        }
    }

    @Test func aMisspeltAccountGetsNoDevice() async throws {
        try await RunningStore.with { store in
            for state in ["off", "on"] {
                let result = await store.run("device payments \(state) --account nobody@example.com")
                #expect(result.status == 1 && result.errors.contains("nobody@example.com has no device"))
            }
            #expect(!FileManager.default.fileExists(atPath: store.data + "/devices"))
            let tester = try #require(SandboxTester.read(from: URL(fileURLWithPath: store.data)))
            #expect(await store.run("device payments off").status == 0)
            #expect(await store.run("device payments on --account", tester.email).status == 0)
        }
    }

    @Test func theReceiptsPathIsCheckedBeforeThePurchase() async throws {
        try await RunningStore.with { store in
            let file = store.directory.path("file")
            try Data("x".utf8).write(to: URL(fileURLWithPath: file))
            for place in [store.directory.path("no/such/receipt"), store.directory.url.path, file + "/receipt"] {
                let result = await store.run("buy com.example.app.coins --receipt-out", place)
                #expect(result.status == 1)
                #expect(result.errors.contains(place) && result.errors.contains("Cannot write"))
            }
            #expect(await store.run("transaction list").output == "No transactions in sandbox.\n")
        }
    }

    @Test func anEmptyOrMissingFolderCanBecomeADevice() async throws {
        try await RunningStore.with { store in
            let folder = store.directory.url.appendingPathComponent("new")
            #expect(try DevicePlace.usable(folder.path).path == folder.path)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            #expect(try DevicePlace.usable(folder.path).path == folder.path)
            try Data("x".utf8).write(to: folder.appendingPathComponent("device-id"))
            #expect(try DevicePlace.existing(folder.path).path == folder.path)
        }
    }
}
