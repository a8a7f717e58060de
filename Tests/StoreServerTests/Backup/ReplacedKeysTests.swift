import Foundation
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct ReplacedKeysTests {
    private static let tester = "sandbox-tester.json"

    /// A data directory and an assembled folder whose files tell where they come from.
    private struct Place {
        let data: URL
        let new: URL
        let staging: URL

        init(_ directory: TemporaryDirectory, hadTester: Bool) throws {
            data = directory.url.appendingPathComponent("data")
            staging = data.appendingPathComponent("restore")
            new = staging.appendingPathComponent("new")
            try Self.write("old", in: data, hasTester: hadTester)
            try Self.write("new", in: new, hasTester: true)
        }

        private static func write(_ text: String, in folder: URL, hasTester: Bool) throws {
            let authority = folder.appendingPathComponent("authority")
            try FileManager.default.createDirectory(at: authority, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: authority.appendingPathComponent("jws-root.pem"))
            guard hasTester else { return }
            try Data(text.utf8).write(to: folder.appendingPathComponent(ReplacedKeysTests.tester))
        }

        private func text(_ name: String) -> String? {
            try? String(contentsOf: data.appendingPathComponent(name), encoding: .utf8)
        }

        /// What the authority's file and the tester's say.
        var texts: [String?] { [text("authority/jws-root.pem"), text(ReplacedKeysTests.tester)] }

        func replace() throws { try ReplacedKeys.replace(in: data, by: new, staging: staging, schema: "17") }

        func end(_ schema: String?) async throws { try await ReplacedKeys.end(in: data) { schema } }
    }

    @Test(arguments: [true, false]) func theRestoredFilesStayWithTheRestoredSchema(_ hadTester: Bool) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let place = try Place(directory, hadTester: hadTester)
            try place.replace()
            #expect(place.texts == ["new", "new"] && StoreFiles.isUnfinished(place.data))
            for _ in 0..<2 {
                try await place.end("17")
                #expect(place.texts == ["new", "new"] && !StoreFiles.isUnfinished(place.data))
            }
        }
    }

    @Test(arguments: ["16", nil] as [String?]) func theOldFilesComeBackToTheOldSchema(_ schema: String?) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let place = try Place(directory, hadTester: true)
            try place.replace()
            for _ in 0..<2 {
                try await place.end(schema)
                #expect(place.texts == ["old", "old"] && !StoreFiles.isUnfinished(place.data))
            }
        }
    }

    @Test func aFileThatTheStoreLackedIsRemoved() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let place = try Place(directory, hadTester: false)
            try place.replace()
            try await place.end("16")
            #expect(place.texts == ["old", nil])
        }
    }

    /// A process that is killed while it moves files has moved some of them.
    @Test func aReplacementThatWasKilledBetweenTwoFilesIsTakenBack() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let place = try Place(directory, hadTester: true)
            try place.replace()
            // The tester has neither been moved away nor replaced.
            let kept = place.data.appendingPathComponent("replaced").appendingPathComponent(Self.tester)
            let tester = place.data.appendingPathComponent(Self.tester)
            try FileManager.default.removeItem(at: tester)
            try FileManager.default.moveItem(at: kept, to: tester)
            try await place.end("16")
            #expect(place.texts == ["old", "old"] && !StoreFiles.isUnfinished(place.data))
        }
    }

    @Test func aDatabaseThatDoesNotAnswerChangesNothing() async throws {
        struct Unavailable: Error {}
        try await TemporaryDirectory.with { directory async throws in
            let place = try Place(directory, hadTester: true)
            try place.replace()
            await #expect(throws: Unavailable.self) {
                try await ReplacedKeys.end(in: place.data) { throw Unavailable() }
            }
            #expect(place.texts == ["new", "new"] && StoreFiles.isUnfinished(place.data))
            try await place.end("16")
            #expect(place.texts == ["old", "old"])
        }
    }
}
