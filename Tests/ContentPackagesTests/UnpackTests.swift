import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ContentPackages

@Suite("Packages are unpacked completely or not at all", .timeLimit(.minutes(1)))
struct UnpackTests {
    private func package(_ directory: TemporaryDirectory, _ forge: XarForge = .content()) throws -> ContentPackage {
        let file = directory.url.appending(path: "some.pkg")
        try Data(forge.package()).write(to: file)
        return try ContentPackage.open(file: file)
    }

    private func names(_ directory: TemporaryDirectory) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: directory.url.path))
    }

    private func mode(_ url: URL) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
    }

    @Test func modesAreFixed() async throws {
        try await TemporaryDirectory.with { directory in
            var forge = XarForge.content([XarForge.Member(name: "b", mode: "0755", contents: [1])])
            forge.members[1].mode = "0700"
            let folder = directory.url.appending(path: "content")
            try package(directory, forge).unpack(into: folder)
            #expect(try mode(folder.appending(path: "Contents/b")) == 0o644)
            #expect(try mode(folder.appending(path: "Contents")) == 0o755)
            #expect(try mode(folder) == 0o755)
        }
    }

    @Test func writtenOutItIsTheSame() async throws {
        try await TemporaryDirectory.with { directory in
            let package = try package(directory)
            try package.unpack(into: directory.url.appending(path: "one"))
            try package.unpack(into: directory.url.appending(path: "two"), isDurable: true)
            #expect(try names(directory) == ["some.pkg", "one", "two"])
            let (one, two) = (directory.url.appending(path: "one"), directory.url.appending(path: "two"))
            #expect(try ContentFolder.read(one) == ContentFolder.read(two))
        }
    }

    @Test func existingFilesAreNotChanged() async throws {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url.appending(path: "content")
            try ContentFolder.write(["mine": [1]], to: folder)
            let package = try package(directory)
            let error = #expect(throws: ContentPackageError.self) { try package.unpack(into: folder) }
            #expect(error?.code == .alreadyThere)
            #expect(try ContentFolder.read(folder) == ["mine": [1]])
            // An empty folder is nothing.
            try FileManager.default.removeItem(at: folder.appending(path: "mine"))
            try package.unpack(into: folder)
            #expect(try names(directory) == ["some.pkg", "content"])
        }
    }

    @Test func filesOfAKilledProcessAreRemoved() async throws {
        try await TemporaryDirectory.with { directory in
            let package = try package(directory)
            try ContentFolder.write(
                ["Contents/a.txt": [1], "other": [2]], to: directory.url.appending(path: ".content.unpacking"))
            let folder = directory.url.appending(path: "content")
            try package.unpack(into: folder)
            #expect(try names(directory) == ["some.pkg", "content"])
            #expect(try ContentFolder.read(folder)["other"] == nil)
        }
    }

    @Test func twoConcurrentUnpackingsAreIndependent() async throws {
        try await TemporaryDirectory.with { directory in
            let package = try package(directory)
            let aside = directory.url.appending(path: ".content.unpacking")
            try FileManager.default.createDirectory(at: aside, withIntermediateDirectories: false)
            let other = open(aside.path, O_RDONLY | O_DIRECTORY)
            #expect(flock(other, LOCK_EX) == 0)
            let error = #expect(throws: ContentPackageError.self) {
                try package.unpack(into: directory.url.appending(path: "content"))
            }
            #expect(error?.code == .busy)
            #expect(try names(directory) == ["some.pkg", ".content.unpacking"])
            close(other)
        }
    }

    /// A call finds the folder of another at any moment, also before it is locked and while it is removed.
    @Test func noConcurrentUnpackingRemovesTheFolderOfAnother() async throws {
        try await TemporaryDirectory.with { directory in
            let folder = directory.url.appending(path: "content")
            let place = directory.url.appending(path: ".content.unpacking/a").path
            let lost = Atomic(0)
            try Threads.forEach(
                2_000, threads: 4, makeState: {},
                body: { _, _ in
                    do {
                        let aside = try FolderAside(for: folder)
                        let file = try aside.makeFile("a")
                        try file.setMode(0o600)
                        if access(place, F_OK) != 0 { lost.wrappingAdd(1, ordering: .relaxed) }
                        aside.remove()
                    } catch let error as ContentPackageError where error.code == .busy {
                        // Another call was earlier.
                    }
                })
            #expect(lost.load(ordering: .relaxed) == 0)
            #expect(try names(directory) == [])
        }
    }

    @Test func stoppingLeavesNoFiles() async throws {
        try await TemporaryDirectory.with { directory in
            let large = XarForge.Member(name: "b", contents: [UInt8](repeating: 7, count: 2_000_000))
            for forge in [XarForge.content([large]), CpioForge.content([.file("./Contents/b", "b")]).product()] {
                let package = try package(directory, forge)
                for stopAt in 1...5 {
                    let asked = Atomic(0)
                    let error = #expect(throws: ContentPackageError.self) {
                        try package.unpack(
                            into: directory.url.appending(path: "content"),
                            isCancelled: { asked.wrappingAdd(1, ordering: .relaxed).newValue >= stopAt })
                    }
                    #expect(error?.code == .cancelled)
                    #expect(try names(directory) == ["some.pkg"])
                }
            }
        }
    }

    @Test func progressGrowsToTheWhole() async throws {
        try await TemporaryDirectory.with { directory in
            let package = try package(
                directory, .content([XarForge.Member(name: "b", contents: [UInt8](repeating: 7, count: 2_000_000))]))
            let told = Mutex<[Int64]>([])
            try package.unpack(
                into: directory.url.appending(path: "content"), progress: { done in told.withLock { $0.append(done) } })
            let all = told.withLock { $0 }
            #expect(all.last == package.unpackedLength)
            #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    /// The package was good when it was opened.
    @Test func aPackageThatChangesMeanwhileIsRefused() async throws {
        try await TemporaryDirectory.with { directory in
            for forge in [XarForge.content(), CpioForge.content().product()] {
                let package = try package(directory, forge)
                let file = try FileHandle(forUpdating: directory.url.appending(path: "some.pkg"))
                try file.seek(toOffset: UInt64(package.length) - 30)
                try file.write(contentsOf: Data(repeating: 0xEE, count: 30))
                try file.close()
                let error = #expect(throws: ContentPackageError.self) {
                    try package.unpack(into: directory.url.appending(path: "content"))
                }
                #expect(error?.code == .refused)
                #expect([.checksum, .data].contains(error?.findings.first?.rule))
                #expect(try names(directory) == ["some.pkg"])
            }
        }
    }

    @Test func aFullDiskHasItsOwnError() {
        #expect(ContentPackageError.writing("a", ENOSPC).code == .diskFull)
        #expect(ContentPackageError.writing("a", EDQUOT).code == .diskFull)
        #expect(ContentPackageError.writing("a", EACCES).code == .unwritable)
    }

    @Test func aFolderWithoutAParentIsNotCreated() async throws {
        try await TemporaryDirectory.with { directory in
            let package = try package(directory)
            let error = #expect(throws: ContentPackageError.self) {
                try package.unpack(into: directory.url.appending(path: "none/content"))
            }
            #expect(error?.code == .unwritable)
        }
    }

    @Test(arguments: [
        ("b", "a", true), ("Contents/b", "../a", true), ("Contents/b", "../..", false), ("b", "..", false),
        ("a/b/c", "../../x/y", true), ("a/b/c", "../x/../y", false), ("a", "/", false), ("a", "", false),
        ("a", "./b", true), ("a/b", ".//../c", true), ("a", "b\0c", false),
    ])
    func linksStayInside(path: String, target: String, isInside: Bool) {
        #expect(ContentPath.isInside(target: target, ofLinkAt: path) == isInside)
    }
}
