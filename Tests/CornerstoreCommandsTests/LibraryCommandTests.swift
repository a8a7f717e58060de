import Foundation
import StoreServer
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct LibraryCommandTests {
    private static let items = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.app
            products: []
        items:
          - number: 1001
            kind: album
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: Canopy}]
            releaseDate: "2020-01-01"
            displayPrice: 9.50
          - number: 1002
            kind: song
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: First Branch}]
            releaseDate: "2020-01-01"
            displayPrice: 0.69
            collection: 1001
            track: 1
            file: first.wav
          - number: 1003
            kind: song
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: Second Branch}]
            releaseDate: "2020-01-01"
            collection: 1001
            track: 2
            file: second.wav
        """

    private func with(_ body: @Sendable (RunningStore) async throws -> Void) async throws {
        try await RunningStore.with(
            yaml: Self.items, files: ["first.wav": Data("La la.".utf8), "second.wav": Data("Do re mi.".utf8)], body)
    }

    private func file(_ report: [String: Any], _ index: Int = 0) throws -> [String: Any] {
        try #require((report["files"] as? [[String: Any]])?[index])
    }

    @Test func aBoughtItemIsDownloadedAndListed() async throws {
        try await with { store in
            #expect(await store.run("library").output.hasPrefix("The library is empty."))
            let bought = try await store.run("buy --item 1002 --json").output.object()
            let path = try #require(try file(bought)["path"] as? String)
            #expect(path.hasPrefix(store.data + "/devices/") && path.hasSuffix("/1002/first.wav"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "La la.")
            #expect(bought["item"] as? Int == 1002 && bought["transactionId"] != nil)
            let table = await store.run("library").output
            #expect(table.contains("on device") && table.contains("First Branch"))
            #expect(table.contains("first.wav") && table.contains("6 bytes") && table.contains("yes"))
            let again = await store.run("buy --item 1002").output
            #expect(again.contains("Bought First Branch") && again.contains(path))
        }
    }

    @Test func `Found albums and songs have their prices`() async throws {
        try await with { store in
            let found = try await store.run("item find 1001 --json").output.objects()
            #expect(found.map { $0["number"] as? Int } == [1001, 1002, 1003])
            #expect(found.map { $0["price"] as? String } == ["$9.50", "$0.69", nil])
        }
    }

    @Test func whatIsMissingIsDownloadedOnce() async throws {
        try await with { store in
            let bought = try await store.run("buy --item 1001 --no-download --json").output.object()
            #expect(try file(bought)["state"] as? String == "missing" && file(bought, 1)["path"] == nil)
            #expect(await store.run("library").output.contains("0 of 2"))
            // A song of an owned album is owned.
            let song = await store.run("buy --item 1002 --no-download").output
            #expect(song.contains("Bought First Branch"))
            let one = try await store.run("library download 1003 --json").output.objects()
            #expect(one.map { $0["item"] as? Int } == [1003] && one[0]["state"] as? String == "downloaded")
            #expect(await store.run("library list").output.contains("1 of 2"))
            // A part that was interrupted does not stay.
            let all = await store.run("library download")
            #expect(all.status == 0 && all.output.contains("First Branch") && all.output.contains("Second Branch"))
            let items = try await store.run("library --json").output.objects()
            #expect(try file(items[0], 1)["state"] as? String == "downloaded")

            let unowned = await store.run("library download 77")
            #expect(unowned.status == 1 && unowned.errors.contains("does not own an item 77"))
            let elsewhere = await store.run("library download --device", store.directory.path("phone"))
            #expect(elsewhere.status == 0 && elsewhere.output.contains(store.directory.path("phone") + "/library/"))
        }
    }

    @Test func aFileThatTheStoreCannotReadIsReported() async throws {
        try await with { store in
            try FileManager.default.removeItem(atPath: store.directory.path("first.wav"))
            let bought = await store.run("buy --item 1002")
            #expect(bought.status == 1 && bought.errors.contains("Bought First Branch, transaction 2"))
            #expect(bought.errors.contains("cannot deliver the file of the item 1002"))
            #expect(await store.run("library").output.contains("no"))
        }
    }
}
