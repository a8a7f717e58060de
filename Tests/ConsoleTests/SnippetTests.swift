import Foundation
import StoreReceipts
import TestSupport
import Testing

@testable import Console

/// The program in Swift that checks a signed payload: what the page shows is what runs here. The tests in a browser run
/// those of other languages.
@Suite(.timeLimit(.minutes(1))) struct SnippetTests {
    /// The shown program, with its files in `folder`.
    private func program(_ folder: String) async throws -> String {
        var printed = ""
        func print(_ text: String) { printed = text }
        // The program begins.
        let root = try Data(contentsOf: URL(fileURLWithPath: folder + "jws-root.der"))
        let text = try String(contentsOfFile: folder + "payload", encoding: .utf8)
        let verifier = try ReceiptVerifier(roots: [Array(root)])
        let expectation = ReceiptExpectation(bundleID: "com.example.monkeys")
        let payload = Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
        let verified = try await verifier.verifySignedPayload(payload, expecting: expectation).get()
        print(String(decoding: verified.content.payload, as: UTF8.self))
        // The program ends.
        return printed
    }

    @Test func theProgramThatIsShownRunsHere() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let begin = try #require(source.range(of: "// The program begins.\n")).upperBound
        let end = try #require(source.range(of: "        // The program ends.\n")).lowerBound
        let lines = source[begin..<end].split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let shown = Snippets.check(isProduction: false, bundle: "com.example.monkeys", app: 1_000_000)
            .first { $0.label == "Swift" }?.code
        #expect(shown?.hasSuffix(lines.joined(separator: "\n").replacing("folder + ", with: "")) == true)
        #expect(shown?.contains("import Foundation\nimport StoreReceipts\n\n") == true)
    }

    @Test func onlyTheStoresPayloadsAreTaken() async throws {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url.appendingPathComponent("authority")
            try await SharedAuthority.copy(to: folder)
            let authority = try await CertificateAuthority.open(directory: folder, at: Date())
            try Data(authority.jwsRoot).write(to: directory.url.appendingPathComponent("jws-root.der"))
            func printed(_ payload: String) async throws -> String {
                try Data((payload + "\n").utf8).write(to: directory.url.appendingPathComponent("payload"))
                return try await program(directory.url.path + "/")
            }
            let date = Int64(Date().timeIntervalSince1970 * 1000)
            let text = #"{"bundleId":"com.example.monkeys","environment":"Sandbox","signedDate":\#(date)}"#
            let good = try authority.jwsIdentity(for: .sandbox).sign(Array(text.utf8))
            #expect(try await printed(good) == text)
            await #expect(throws: ReceiptRejection.self) { try await printed(String(good.dropLast(2))) }
        }
    }
}
