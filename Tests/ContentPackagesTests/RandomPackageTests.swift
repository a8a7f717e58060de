import ContentPackages
import Foundation
import TestSupport
import Testing

@Suite("Random trees and random damage", .timeLimit(.minutes(1)))
struct RandomPackageTests {
    /// Names that are hard on a packer, and none that clash.
    private static let names = [
        "a", "B c", "ß", "日本", "x&y", "<tag>", "quote\"'", ".hidden", "-dash",
        "very long " + String(repeating: "n", count: 150),
        "emoji 🐒", "per%cent", "back\\slash", "tab?", "new-line", "e\u{301}",
    ]

    private func tree(_ generator: inout SeededGenerator) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for index in 0..<Int.random(in: 1...20, using: &generator) {
            let folders = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                "d" + Self.names[Int.random(in: 0..<Self.names.count, using: &generator)]
            }
            let name = "\(index)" + Self.names[Int.random(in: 0..<Self.names.count, using: &generator)]
            let size = [0, 1, 100, 5000, 70_000].randomElement(using: &generator) ?? 0
            let isNoise = Bool.random(using: &generator)
            files[(folders + [name]).joined(separator: "/")] = (0..<size).map { place in
                isNoise ? UInt8.random(in: 1...255, using: &generator) : UInt8(32 + place % 60)
            }
        }
        return files
    }

    @Test(arguments: 0..<25)
    func comeOutAsTheyWentIn(seed: Int) async throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let files = tree(&generator)
        try await TemporaryDirectory.with { directory in
            let source = directory.url.appending(path: "source")
            let file = directory.url.appending(path: "some.pkg")
            let folder = directory.url.appending(path: "content")
            try ContentFolder.make(files, at: source)
            let findings = try ContentCheck.findings(inFolder: source)
            #expect(findings.isEmpty, "\(findings)")
            try ContentPackageBuilder().build(folder: source, into: file)
            #expect(try ContentCheck.findings(inPackage: file).isEmpty)
            try ContentPackage.open(file: file).unpack(into: folder)
            #expect(try ContentFolder.areEqual(folder, source))
        }
    }

    /// Bytes changed anywhere: it is refused, or what comes out is what went in; it never goes on for ever or leaves
    /// anything behind.
    @Test(arguments: [0, 1, 2])
    func damagedAnywhere(kind: Int) async throws {
        let good: [UInt8] =
            switch kind {
            case 0: XarForge.content([.folder("d", [.file("b", "b"), .link("l", to: "b")])]).package()
            case 1: CpioForge.content([.file("./Contents/b", "b")]).product().package()
            // Sums that say nothing: the lengths and the packing are all that is left to see it by.
            default:
                {
                    var forge = XarForge.content([.folder("d", [.file("b", "b"), .link("l", to: "b")])])
                    (forge.style, forge.headerStyle) = ("none", 0)
                    return forge.package()
                }()
            }
        try await TemporaryDirectory.with { directory in
            var generator = SeededGenerator(seed: 7)
            let file = directory.url.appending(path: "some.pkg")
            for _ in 0..<200 {
                var bytes = good
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let place = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                    case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                    case 2: bytes.removeSubrange(place...)
                    default: bytes.insert(0, at: place)
                    }
                    if bytes.isEmpty { break }
                }
                try Data(bytes).write(to: file)
                try look(at: file, directory, isSummed: kind != 2)
            }
        }
    }

    /// Changes within the unpacked table, whose sum is made again: what an attacker would do.
    @Test func hostileTables() async throws {
        try await TemporaryDirectory.with { directory in
            var generator = SeededGenerator(seed: 8)
            let file = directory.url.appending(path: "some.pkg")
            let words = [
                "9", "-", "<file>", "</file>", "/", "..", "\u{0}", "&amp;", "<data>", "</data>", "symlink", "hardlink",
                "directory", "99999999999", "<!--", "]]>", "\"", "name", "size", ">", "<",
            ]
            for _ in 0..<200 {
                var forge = XarForge.content([.folder("d", [.file("b", "b"), .link("l", to: "b")])])
                let changes = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                    (generator.next(), words[Int.random(in: 0..<words.count, using: &generator)], generator.next() % 12)
                }
                forge.editXML = { xml in
                    for (place, word, length) in changes {
                        var bytes = Array(xml.utf8)
                        let start = Int(place % UInt64(bytes.count))
                        bytes.replaceSubrange(start..<min(bytes.count, start + Int(length)), with: Array(word.utf8))
                        xml = String(decoding: bytes, as: UTF8.self)
                    }
                }
                try Data(forge.package()).write(to: file)
                try look(at: file, directory, isSummed: false)
            }
        }
    }

    private func look(at file: URL, _ directory: TemporaryDirectory, isSummed: Bool) throws {
        let findings = try ContentCheck.findings(inPackage: file)
        let folder = directory.url.appending(path: "content")
        do {
            try ContentPackage.open(file: file).unpack(into: folder)
            if isSummed, findings.isEmpty {
                #expect(try ContentFolder.read(folder)["Contents/a.txt"]?.count == 650)
            }
            try FileManager.default.removeItem(at: folder)
        } catch let error as ContentPackageError {
            #expect(error.code == .refused)
            #expect(!findings.isEmpty)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["some.pkg"])
    }
}
