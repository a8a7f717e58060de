import ContentPackages
import Crypto
import Foundation
import TestSupport
import Testing

@Suite("Packages are built", .timeLimit(.minutes(1)))
struct BuildTests {
    private func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        let words = (0..<(count / 8 + 1)).map { _ in generator.next() }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }

    private func roundTrip(
        _ files: [String: [UInt8]], _ directory: TemporaryDirectory
    ) throws -> (built: BuiltPackage, package: ContentPackage) {
        let source = directory.url.appending(path: "source")
        let file = directory.url.appending(path: "some.pkg")
        try ContentFolder.make(files, at: source)
        let built = try ContentPackageBuilder().build(folder: source, into: file)
        #expect(try ContentCheck.findings(inPackage: file).isEmpty)
        let package = try ContentPackage.open(file: file)
        #expect(package.length == built.length)
        #expect(package.unpackedLength == built.unpackedLength)
        let folder = directory.url.appending(path: "content")
        try package.unpack(into: folder)
        #expect(try ContentFolder.areEqual(folder, source))
        return (built, package)
    }

    @Test func unpackingGivesThePackedFiles() async throws {
        try await TemporaryDirectory.with { directory in
            let text = Array(String(repeating: "The quick brown fox. ", count: 100_000).utf8)
            let (built, _) = try roundTrip(
                [
                    "empty": [], "one": [1], "a/b/c/deep.txt": Array("deep".utf8), "noise": noise(10_000),
                    "ä ö & <x> 'y' \"z\".txt": Array("name".utf8), "large noise": noise(1_700_000),
                    "large text": text, "exactly one block": Array(text.prefix(1 << 19)),
                    "exactly two blocks": Array(text.prefix(1 << 20)),
                    "mixed": noise(300_000) + text.prefix(600_000) + noise(300_000, seed: 2),
                ], directory)
            #expect(built.files == 11)
            #expect(built.length < built.unpackedLength)
            let bytes = try Data(contentsOf: directory.url.appending(path: "some.pkg"))
            #expect(built.sha256 == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
            #expect(built.length == Int64(bytes.count))
        }
    }

    @Test func incompressibleFilesAreStored() async throws {
        try await TemporaryDirectory.with { directory in
            let (built, _) = try roundTrip(["noise": noise(1_500_000), "few": noise(100)], directory)
            #expect(built.length < built.unpackedLength + 2000)
        }
    }

    /// Its beginning gets smaller, and the whole does not.
    @Test func filesThatTurnOutIncompressibleAreStored() async throws {
        try await TemporaryDirectory.with { directory in
            var bytes = noise(8_000_000)
            bytes.replaceSubrange(0..<1400, with: [UInt8](repeating: 0, count: 1400))
            let (built, _) = try roundTrip(["a": bytes, "b": Array("after".utf8)], directory)
            #expect(built.length < built.unpackedLength + 1500)
        }
    }

    @Test func linksAreKept() async throws {
        try await TemporaryDirectory.with { directory in
            let contents = directory.url.appending(path: "source/Contents")
            try ContentFolder.make(["sub/a.txt": [1]], at: directory.url.appending(path: "source"))
            for (name, target) in [("to a", "sub/a.txt"), ("sub/up", "../to a"), ("to sub", "sub"), ("loop", "loop")] {
                try FileManager.default.createSymbolicLink(
                    atPath: contents.appending(path: name).path, withDestinationPath: target)
            }
            let (_, package) = try roundTrip([:], directory)
            #expect(package.entries.contains { $0.kind == .symbolicLink(target: "../to a") })
        }
    }

    @Test func theSameFilesGiveTheSameBytes() async throws {
        try await TemporaryDirectory.with { directory in
            var files: [String: [UInt8]] = [:]
            for index in 0..<40 { files["\(index % 5)/file \(index)"] = noise(index * 321, seed: UInt64(index)) }
            files["large"] = Array(String(repeating: "x y z ", count: 300_000).utf8)
            var packages: [Data] = []
            for (index, order) in [files.sorted { $0.key < $1.key }, files.sorted { $0.key > $1.key }].enumerated() {
                let source = directory.url.appending(path: "source \(index)")
                try ContentFolder.make([:], at: source)
                for (path, bytes) in order { try ContentFolder.write(["Contents/" + path: bytes], to: source) }
                let times: [FileAttributeKey: Any] = [
                    .modificationDate: Date(timeIntervalSince1970: 1e9 + Double(index))
                ]
                try FileManager.default.setAttributes(
                    times, ofItemAtPath: source.appending(path: "Contents/large").path)
                chmod(source.appending(path: "Contents/large").path, index == 0 ? 0o600 : 0o664)
                let file = directory.url.appending(path: "\(index).pkg")
                try ContentPackageBuilder().build(folder: source, into: file)
                packages.append(try Data(contentsOf: file))
            }
            #expect(packages[0] == packages[1])
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
            #expect(Set(names) == ["source 0", "source 1", "0.pkg", "1.pkg"])
        }
    }

    @Test func thePlistCanBeGenerated() async throws {
        try await TemporaryDirectory.with { directory in
            let source = directory.url.appending(path: "source")
            let file = directory.url.appending(path: "some.pkg")
            try ContentFolder.write(["Contents/a": [1]], to: source)
            let version = try #require(ContentVersion("2.1"))
            let info = ContentInfo(productID: "com.example.b", version: version, otherKeys: ["Folder": .string("x")])
            let error = #expect(throws: ContentPackageError.self) {
                try ContentPackageBuilder().build(folder: source, into: file)
            }
            #expect(error.map { ContentFolder.rules($0.findings) } == ["info-missing"])
            try ContentPackageBuilder(info: info).build(folder: source, into: file)
            #expect(try ContentPackage.open(file: file).info == info)
            // It stands in place of the folder's own, too.
            try ContentFolder.make(at: source)
            try ContentPackageBuilder(info: info).build(folder: source, into: file)
            #expect(try ContentPackage.open(file: file).info == info)
        }
    }

    @Test func aBadFolderIsRefusedAndTheExistingFileStays() async throws {
        try await TemporaryDirectory.with { directory in
            let source = directory.url.appending(path: "source")
            let file = directory.url.appending(path: "some.pkg")
            try ContentFolder.make(["run.sh": Array("#!/bin/sh\n".utf8)], at: source)
            try Data([1, 2, 3]).write(to: file)
            let error = #expect(throws: ContentPackageError.self) {
                try ContentPackageBuilder().build(folder: source, into: file)
            }
            #expect(error?.code == .refused)
            #expect(try Data(contentsOf: file) == Data([1, 2, 3]))
        }
    }

    @Test func stoppingLeavesNoFiles() async throws {
        try await TemporaryDirectory.with { directory in
            let source = directory.url.appending(path: "source")
            try ContentFolder.make(["a": noise(3_000_000)], at: source)
            var asked = 0
            for stopAt in [1, 3, 8, 12] {
                asked = 0
                let error = #expect(throws: ContentPackageError.self) {
                    try ContentPackageBuilder().build(
                        folder: source, into: directory.url.appending(path: "some.pkg"),
                        isCancelled: {
                            asked += 1
                            return asked >= stopAt
                        })
                }
                #expect(error?.code == .cancelled)
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["source"])
            }
        }
    }

    @Test func progressEndsAtAllBytes() async throws {
        try await TemporaryDirectory.with { directory in
            let source = directory.url.appending(path: "source")
            try ContentFolder.make(["a": noise(3_000_000), "b": Array("b".utf8)], at: source)
            var last: Int64 = 0
            let built = try ContentPackageBuilder().build(
                folder: source, into: directory.url.appending(path: "some.pkg"), progress: { last = $0 })
            #expect(last == built.unpackedLength)
        }
    }

    @Test func aMissingFolderAndAReadOnlyTarget() async throws {
        try await TemporaryDirectory.with { directory in
            let source = directory.url.appending(path: "source")
            let missing = #expect(throws: ContentPackageError.self) {
                try ContentPackageBuilder().build(folder: source, into: directory.url.appending(path: "some.pkg"))
            }
            #expect(missing?.code == .unreadable)
            try ContentFolder.make(at: source)
            let unwritable = #expect(throws: ContentPackageError.self) {
                try ContentPackageBuilder().build(folder: source, into: directory.url.appending(path: "none/some.pkg"))
            }
            #expect(unwritable?.code == .unwritable)
        }
    }
}
