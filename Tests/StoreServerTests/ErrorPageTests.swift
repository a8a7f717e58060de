import Foundation
import HTTPSupport
import StoreWire
import Testing

@testable import StoreServer

@Suite("The page of the store's error codes", .timeLimit(.minutes(1)))
struct ErrorPageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The codes that the wire format declares.
    private static func codes() throws -> Set<String> {
        Set(
            try text("Sources/StoreWire/WireError.swift").matches(of: /static let \w+: Code = "([a-z_]+)"/)
                .map { String($0.1) })
    }

    /// Each row: a code, its status, its meaning, and what to do.
    @Test func itHasEveryCodeWithItsStatus() throws {
        let rows = try Self.text("Documentation/StoreErrors.md").matches(
            of: /\n\| `([a-z_]+)` \| ([0-9]{3}|purchase) \| ([^|]+) \| ([^|]+) \|/)
        #expect(try rows.map { String($0.1) }.sorted() == Self.codes().sorted())
        for row in rows {
            // A purchase's failure is no status: an answer has the code in its body alone.
            let status = row.2 == "purchase" ? 400 : Int(row.2)
            #expect(HTTPProblem.status(of: WireError.Code(rawValue: String(row.1))).code == status, "\(row.1)")
            #expect(row.3.count > 20 && row.4.count > 10, "\(row.1) needs a meaning and what to do")
        }
    }

    /// Whatever the store can answer is a code of the wire format, also where it is written as a bare word.
    @Test func everyCodeInTheSourcesIsOnIt() throws {
        var words: Set<String> = []
        for module in ["HTTPSupport", "Store", "StoreServer"] {
            let folder = Self.root.appending(path: "Sources/\(module)")
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: /code(?:: | = [A-Za-z.= ]*\? )"([a-z_]+)"(?: : "([a-z_]+)")?/) {
                    words.formUnion([match.1, match.2 ?? match.1].map { String($0) })
                }
            }
        }
        #expect(words.isSuperset(of: ["timeout", "not_found", "unavailable"]), "\(words)")
        // No client reads this one: it has closed its connection.
        words.remove("client_left")
        #expect(try words.isSubset(of: Self.codes()), "\(words)")
    }
}
