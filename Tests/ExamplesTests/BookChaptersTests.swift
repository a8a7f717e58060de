import BookChapters
import Foundation
import PhotoFilters
import StoreKit
import Testing

@Suite("Book Chapters", .timeLimit(.minutes(1)))
struct BookChaptersTests {
    @Test func `arguments are parsed`() throws {
        #expect(try BookChaptersOptions(arguments: []).action == .ask)
        let options = try BookChaptersOptions(arguments: ["--buy", "2", "--pause-at", "30"])
        #expect(options.action == .buy(.second))
        #expect(options.stop?.what == .pause && options.stop?.percent == 30)
        #expect(try BookChaptersOptions(arguments: ["--read", "1"]).action == .read(.first))
        #expect(try BookChaptersOptions(arguments: ["--update", "-h"]).action == .help)
    }

    @Test(arguments: [
        ["--buy"], ["--buy", "3"], ["--buy", "one"], ["--buy", "1", "--read", "1"], ["--what"], ["--pause-at", "100"],
        ["--crash-at", "-1"], ["--crash-at"],
    ])
    func `wrong arguments are refused`(arguments: [String]) {
        #expect(throws: BookChaptersOptions.Misuse.self) { try BookChaptersOptions(arguments: arguments) }
    }

    @Test func `the chapters' pictures can be read`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.content.path)
        #expect(folders.count == 3)
        for folder in folders {
            let file = Self.content.appendingPathComponent("\(folder)/Contents/picture.png")
            let picture = try Picture(png: Data(contentsOf: file))
            #expect(picture.width == 240 && picture.height == 160)
            let lines = TerminalPicture.text(picture, width: 72).split(separator: "\n")
            #expect(lines.count == 24)
            #expect(lines.allSatisfy { $0.hasSuffix("\u{1B}[0m") && $0.filter { $0 == "▀" }.count == 72 })
        }
    }

    @Test(
        .enabled(if: SampleProgram.isBuilt("book-chapters"), "book-chapters is not built"))
    @MainActor
    func `a chapter is bought, killed, paused, resumed, read, and replaced by a newer one`() async throws {
        try await SampleStore.with { store in
            let books = SampleProgram(name: "book-chapters", store: store, device: "device")
            let chapter = "com.example.bookchapters.chapter1"
            #expect(try await books.run("--buy", "1").output == "Chapter 1 is not out yet.\n")
            try await store.publish(chapter)
            let cuts = #"{"operation":"download","cutAfter":12000,"count":3}"#
            try await store.control("faults", cuts)
            let killed = try await books.run("--buy", "1", "--crash-at", "10")
            #expect(killed.status == 9, "\(killed)")
            let nothing = try await books.run("--read", "1")
            #expect(nothing.status == 1 && nothing.output.contains("is not here"))
            // What the three cuts have left over comes first.
            try await store.control("faults", cuts)
            let paused = try await books.run("--download", "--pause-at", "10")
            #expect(paused.status == 0 && paused.output.contains("paused") && !paused.output.contains(": 0 %"))
            #expect(try await store.finished() == [false])
            let done = try await books.run("--download")
            #expect(done.status == 0 && done.output.hasSuffix("Chapter 1 is yours, in version 1.0.\n"), "\(done)")
            #expect(try await store.finished() == [true])
            let text = try String(
                contentsOf: Self.content.appendingPathComponent("\(chapter)/Contents/chapter.txt"), encoding: .utf8)
            #expect(try await books.run("--read", "1").output == text)
            #expect(try await books.run("--buy", "1").output == "Chapter 1 is yours already.\n")

            try await store.publish("\(chapter)-2.0")
            #expect(
                try await books.run("--list").output
                    == "1  The Light  yours, version 1.0; 2.0 is there\n2  The Fog  $0.99\n")
            #expect(try await books.run("--read", "1").output == text)
            let updated = try await books.run("--update")
            #expect(updated.status == 0 && updated.output.contains("Chapter 1 is yours, in version 2.0."), "\(updated)")
            let newer = try await books.run("--read", "1").output
            #expect(newer != text && newer.hasPrefix("The Light"))
            #expect(try await books.run("--list").output.hasPrefix("1  The Light  yours, version 2.0\n"))

            let down = try await books.run("--buy", "2", isReachable: false)
            #expect(down.output == "Network down?\n" && down.status == 1)
        }
    }

    static let content = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Examples/BookChapters/Content")
}
