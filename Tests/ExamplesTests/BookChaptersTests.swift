import BookChapters
import Foundation
import PhotoFilters
import StoreKit
import Testing

@Suite("Book Chapters' words and pictures")
struct BookChaptersTests {
    @Test func `arguments are read`() throws {
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
    func `what makes no sense is refused`(arguments: [String]) {
        #expect(throws: BookChaptersOptions.Misuse.self) { try BookChaptersOptions(arguments: arguments) }
    }

    @Test func `the pictures of the chapters are pictures`() throws {
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

    static let content = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Examples/BookChapters/Content")
}
