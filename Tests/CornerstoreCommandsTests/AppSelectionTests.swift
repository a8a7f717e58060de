import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct AppSelectionTests {
    @Test func `a store without apps or products names the command that adds one`() async throws {
        try await RunningStore.with(yaml: "cornerstore-catalog: 1\napps: []\n") { store in
            for line in ["buy coins", "buy coins --app com.example.app", "redeem SPRING26", "restore"] {
                let refused = await store.run(line)
                #expect(refused.status == 1 && refused.output.isEmpty, "\(line)")
                #expect(refused.errors.contains("The store has no apps. Register one"), "\(line): \(refused.errors)")
                #expect(refused.errors.contains("cornerstore app register"))
            }
            #expect(await store.run("app register com.example.app").status == 0)
            for line in ["buy coins", "buy coins --app com.example.app"] {
                let refused = await store.run(line)
                #expect(refused.status == 1 && refused.errors.contains("no products yet"), "\(refused.errors)")
                #expect(refused.errors.contains("cornerstore product create"))
            }
        }
    }
}
