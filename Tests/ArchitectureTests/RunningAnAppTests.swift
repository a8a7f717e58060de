import Foundation
import Testing

@Suite("The page on running an app names every variable", .timeLimit(.minutes(1)))
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
}
