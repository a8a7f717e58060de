import Foundation
import Testing

@Suite("The page on running an app", .timeLimit(.minutes(1)))
struct RunningAnAppTests {
    private func variables(in text: String) -> Set<String> {
        Set(text.matches(of: /CORNERSTORE_[A-Z]+(?:_[A-Z]+)*/).map { String($0.output) })
    }

    @Test func thePageHasTheVariablesThatAppsRead() throws {
        let folders = ["Sources/StoreKit", "Sources/PurchaseVault", "Examples"]
        let code = try folders.flatMap { SourceTree.files(below: $0) }.filter { $0.hasSuffix(".swift") }
            .reduce(into: Set<String>()) { $0.formUnion(variables(in: try SourceTree.text(of: $1))) }
        #expect(code.count > 10)
        let page = variables(in: try SourceTree.text(of: "Documentation/RunningAnApp.md"))
        #expect(code.subtracting(page).sorted() == [], "read by apps, and not on the page")
        #expect(page.subtracting(code).sorted() == [], "on the page, and read by nobody")
    }

    @Test func theAppOnThePageCompilesAgainstStoreKit() throws {
        let page = try SourceTree.text(of: "Documentation/RunningAnApp.md")
        let app = try #require(
            page.matches(of: /```swift\n((?s).*?)```/).map { String($0.1) }.first { $0.hasPrefix("import StoreKit\n") })
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "main.swift")
        try Data(app.utf8).write(to: file)
        let built = try #require(CommandLine.arguments.first { $0.hasSuffix(".xctest") })
        let modules = URL(filePath: built).deletingLastPathComponent().appending(path: "Modules").path
        let maps = SourceTree.files(below: "Sources").filter { $0.hasSuffix("/module.modulemap") }
            .flatMap { ["-Xcc", "-fmodule-map-file=\(SourceTree.root.appending(path: $0).path)"] }
        let options = ["-typecheck", "-swift-version", "6", "-warnings-as-errors", "-I", modules] + maps

        let (status, said) = try Shell.run(
            ["-c", #"exec swiftc "$@""#, "sh"] + options + [file.path], environment: ProcessInfo.processInfo.environment
        )

        #expect(status == 0, "\(said)")
    }
}
