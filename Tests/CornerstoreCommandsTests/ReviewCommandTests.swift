import Foundation
import StoreServer
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct ReviewCommandTests {
    private static let items = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.app
            products: []
        items:
          - number: 1000
            kind: app
            bundleID: com.example.app
            platforms: [iphone]
            creator: {number: 900, name: Example Games}
            genres: [{number: 6014, name: Games}]
            texts: [{locale: en_US, name: App}]
            versions: [{version: "1.1", releaseDate: "2026-01-02"}]
        """

    /// Writes a review as the sandbox's tester does on a device.
    private func write(_ store: RunningStore) async throws {
        func send(_ path: String, _ body: [String: Any], token: String? = nil) async throws -> String {
            let answer = try await PlainHTTP.send(
                "POST", store.addresses.sandbox + path, body: try JSONSerialization.data(withJSONObject: body),
                headers: token.map { [("Authorization", "Bearer \($0)")] } ?? [], limit: 1 << 20)
            #expect(answer.status == 200)
            return String(decoding: answer.body, as: UTF8.self)
        }
        let tester = try #require(SandboxTester.read(from: URL(fileURLWithPath: store.data)))
        let signedIn = try await send(
            "/device/v1/session",
            ["email": tester.email, "password": tester.password, "deviceId": UUID().uuidString]
        ).object()
        let review: [String: Any] = [
            "bundleId": "com.example.app", "stars": 2, "title": "Slow", "text": "One.\nTwo.",
        ]
        _ = try await send("/device/v1/review", review, token: try #require(signedIn["token"] as? String))
    }

    @Test func reviewsAreListedAnsweredAndHidden() async throws {
        try await RunningStore.with(yaml: Self.items) { store in
            #expect(await store.run("review").output == "No reviews.\n")
            #expect(await store.run("review list --hidden").output == "No hidden reviews.\n")
            try await write(store)
            let list = try await store.run("review list --json").output.objects()
            let id = try #require(list.first?["reviewId"] as? String)
            #expect(list.count == 1 && list[0]["stars"] as? Int == 2 && list[0]["environment"] as? String == "sandbox")
            let table = await store.run("review list --item 1000").output
            #expect(table.contains(id) && table.contains("Slow") && table.contains("shown"))
            #expect(await store.run("review list --item 1001").output == "No reviews.\n")
            let cursor = try #require(list[0]["cursor"] as? String)
            #expect(await store.run("review list --after \(cursor)").output == "No reviews.\n")
            #expect(await store.run("review list --after x").status == 1)

            #expect(await store.run("review answer \(id)", "Sorry\u{1B}[2J").output == "Answered.\n")
            let shown = await store.run("review show \(id)").output
            #expect(shown.contains("2 of 5 stars for item 1000, version 1.1, in USA (sandbox)"))
            #expect(shown.contains("\nSlow\n  One.\n  Two.\n") && shown.hasSuffix("  Sorry[2J\n"))
            #expect(await store.run("review list").output.contains("answered"))
            let removed = try await store.run("review answer \(id) --remove --json").output.object()
            #expect(removed["answer"] == nil && removed["title"] as? String == "Slow")

            #expect(await store.run("review hide \(id) --reason Rude.").output == "Hidden.\n")
            #expect(await store.run("review show \(id)").output.contains(": Rude."))
            #expect(try await store.run("review list --hidden --json").output.objects().count == 1)
            let unhidden = try await store.run("review unhide \(id) --json").output.object()
            #expect(unhidden["hiddenReason"] == nil)
            let unknown = await store.run("review show \(UUID())")
            #expect(unknown.status == 1 && unknown.errors.contains("There is no review with the id"))
        }
    }
}
