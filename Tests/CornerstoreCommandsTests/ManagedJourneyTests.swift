import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

/// The whole way from a store without files to a purchase, as programs.
@Suite(.enabled(if: Program.folder != nil, "cornerstore is not built"), .timeLimit(.minutes(1)))
struct ManagedJourneyTests {
    private static let coins = "com.example.new.coins"

    @Test func aProductIsCreatedBoughtReviewedAndKeptOverAPowerFailure() async throws {
        try await TemporaryDirectory.with { directory in
            let data = directory.path("data")
            func run(_ line: String, _ words: String...) async throws -> ChildProcess.Result {
                try await Program.run(line.split(separator: " ").map(String.init) + words + ["--data", data])
            }
            func succeed(_ line: String, _ words: String...) async throws -> String {
                let result = try await Program.run(
                    line.split(separator: " ").map(String.init) + words + ["--data", data])
                try #require(result.status == 0, "\(line): \(result.all)")
                return result.output
            }
            var serve = try await ServeProcess([], data: data)
            defer { _ = serve.stop() }
            _ = try await succeed("app register com.example.new --by anna")
            _ = try await succeed("app set --review manual --by anna")
            _ = try await succeed(
                "product create consumable \(Self.coins) --price 0.99 --by anna --name", "en_US=Coins", "--description",
                "en_US=Five coins.")
            let receipt = directory.path("receipt")
            _ = try await succeed("buy \(Self.coins) --receipt-out \(receipt)")
            #expect(try await succeed("receipt verify \(receipt)").contains("com.example.new"))

            // A customer of production finds it after its approval only.
            let password = directory.path("password")
            try Data("banana-split".utf8).write(to: URL(fileURLWithPath: password))
            _ = try await succeed(
                "account create ann@example.com --environment production --password-file \(password)")
            let buy = "buy \(Self.coins) --environment production --account ann@example.com --password-file \(password)"
            #expect(try await run(buy).status == 1)
            _ = try await succeed("product submit \(Self.coins) --by anna")

            serve.kill()
            serve = try await ServeProcess([], data: data)
            #expect(try await succeed("product approve \(Self.coins) --by rita").contains("production yes"))
            #expect(try await run(buy).status == 0)
            let history = try await succeed("product history --json").objects()
            #expect(
                history.map { "\($0["action"] ?? "") \($0["by"] ?? "")" } == [
                    "approve rita", "review rita", "submit anna", "create anna", "change anna", "register anna",
                ])
        }
    }
}
