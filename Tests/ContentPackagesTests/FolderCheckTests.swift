import ContentPackages
import Foundation
import TestSupport
import Testing

@Suite("Folders are checked before they are packed", .timeLimit(.minutes(1)))
struct FolderCheckTests {
    private func rules(
        _ directory: TemporaryDirectory, expecting expectation: ContentExpectation = ContentExpectation(),
        limits: ContentLimits = .hosted, _ change: (URL) throws -> Void
    ) throws -> Set<String> {
        let source = directory.url.appending(path: "source")
        try? FileManager.default.removeItem(at: source)
        try ContentFolder.make(at: source)
        try change(source)
        return ContentFolder.rules(
            try ContentCheck.findings(inFolder: source, expecting: expectation, limits: limits))
    }

    @Test func aGoodFolder() async throws {
        try await TemporaryDirectory.with { directory in
            let found = try rules(directory) { _ in }
            #expect(found.isEmpty)
        }
    }

    @Test func filesOfAllBadKinds() async throws {
        func path(_ root: URL, _ name: String) -> String { root.appending(path: "Contents/" + name).path }
        func remove(_ root: URL, _ name: String) throws {
            try FileManager.default.removeItem(at: root.appending(path: name))
        }
        let cases: [(Set<String>, (URL) throws -> Void)] = [
            (["special-file"], { mkfifo(path($0, "pipe"), 0o644) }),
            (["executable-bit"], { chmod(path($0, "a.txt"), 0o755) }),
            (["setuid"], { chmod(path($0, "a.txt"), 0o4644) }),
            (["outside-link"], { symlink("/etc", path($0, "l")) }),
            (["outside-link"], { symlink("../..", path($0, "l")) }),
            ([], { symlink("a.txt", path($0, "l")) }),
            (["name-clash"], { try ContentFolder.write(["Contents/A.TXT": [1]], to: $0) }),
            (["name"], { try ContentFolder.write(["Contents/a\nb": [1]], to: $0) }),
            (
                ["name"],
                {
                    let name = path($0, "b").utf8CString.dropLast() + [CChar(bitPattern: 0xFF), 0]
                    close(open(Array(name), O_CREAT | O_WRONLY, 0o644))
                }
            ),
            (["layout"], { try ContentFolder.write([".DS_Store": [1]], to: $0) }),
            (["code-bundle"], { try ContentFolder.write(["Contents/x.app/y": [1]], to: $0) }),
            (["empty"], { try remove($0, "Contents/a.txt") }),
            (["info-missing"], { try remove($0, "ContentInfo.plist") }),
        ]
        try await TemporaryDirectory.with { directory in
            for (expected, change) in cases {
                let found = try rules(directory, change)
                #expect(found == expected)
            }
        }
    }

    /// A file of that length which takes no room on the disk.
    @Test func moreThanTwoThousandMillionBytes() async throws {
        try await TemporaryDirectory.with { directory in
            let found = try rules(directory) { root in
                #expect(truncate(root.appending(path: "Contents/a.txt").path, 2_000_000_001) == 0)
            }
            #expect(found == ["size"])
        }
    }

    @Test func whatIsExpected() async throws {
        try await TemporaryDirectory.with { directory in
            let cases: [(ContentExpectation, Set<String>)] = [
                (ContentExpectation(above: ContentVersion("1.0")), ["version"]),
                (ContentExpectation(productID: "com.example.other"), ["product"]),
                (ContentExpectation(productID: XarForge.product, above: ContentVersion("0.9")), []),
            ]
            for (expectation, expected) in cases {
                let found = try rules(directory, expecting: expectation) { _ in }
                #expect(found == expected)
            }
        }
    }

    @Test func tooManyAndTooDeep() async throws {
        try await TemporaryDirectory.with { directory in
            var limits = ContentLimits.hosted
            limits.entries = 10
            limits.depth = 4
            let many = try rules(directory, limits: limits) { root in
                for index in 0..<20 { try ContentFolder.write(["Contents/\(index)": [1]], to: root) }
            }
            #expect(many == ["entries"])
            let deep = try rules(directory, limits: limits) {
                try ContentFolder.write(["Contents/1/2/3/4/5/6": [1]], to: $0)
            }
            #expect(deep == ["entries"])
            let deepest = try rules(directory, limits: limits) {
                try ContentFolder.write(["Contents/1/2/3/4": [1]], to: $0)
            }
            #expect(deepest == [])
        }
    }

    @Test(arguments: [
        "MZ is two letters, and this text is long enough to have something at byte sixty of it.", "#! no", "#!",
        "\u{7F}EL",
    ])
    func textThatOnlyLooksLikeAProgramIsNone(text: String) async throws {
        try await TemporaryDirectory.with { directory in
            let found = try rules(directory) { try ContentFolder.write(["Contents/a.txt": Array(text.utf8)], to: $0) }
            #expect(found.isEmpty)
        }
    }
}
