import Crypto
import Foundation
import Glibc
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("Partner feeds and interruptions", .timeLimit(.minutes(1)))
struct FeedCrashTests {
    private static let day = FeedDay(days: 20_460)

    /// Copies of the feeds' folder, each as a process that is killed at a step leaves it.
    private final class Snapshots: Sendable {
        private struct State {
            var scene: FeedScene?
            var copies: [(step: FeedStep, url: URL)] = []
        }
        private let state = Mutex(State())
        private let folder: URL

        init(_ folder: URL) { self.folder = folder }

        var copies: [(step: FeedStep, url: URL)] { state.withLock { $0.copies } }

        func begin(_ scene: FeedScene?) { state.withLock { $0.scene = scene } }

        func take(_ step: FeedStep) throws {
            try state.withLock { state in
                guard let scene = state.scene else { return }
                let copy = folder.appendingPathComponent("copy-\(state.copies.count)")
                try FileManager.default.copyItem(at: scene.folder, to: copy)
                state.copies.append((step, copy))
            }
        }
    }

    /// The sums of the files under a path, which must be those that their MD5 files say.
    private func sums(_ shelf: FeedShelf, _ path: String) throws -> [String: String] {
        let files = shelf.all.filter { $0.key.hasPrefix(path) && $0.key.hasSuffix(".tbz") }
        return try files.reduce(into: [:]) { sums, file in
            let sum = Insecure.MD5.hash(data: try Data(contentsOf: file.value.url)).map { String(format: "%02x", $0) }
                .joined()
            let name = try #require(file.key.split(separator: "/").last)
            let beside = try #require(shelf.all[file.key + ".md5"])
            #expect(try String(contentsOf: beside.url, encoding: .utf8) == "MD5 (\(name)) = \(sum)\n")
            #expect(file.value.tag == sum && beside.tag != sum)
            sums[file.key] = sum
        }
    }

    @Test(arguments: [FeedMode.full, .incremental])
    func afterAKillAtAnyStepOneWholeFeedIsServed(_ mode: FeedMode) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let snapshots = Snapshots(directory.url)
            try await FeedScene.with(.sqlite, FeedSamples.all, layouts: [.groups]) {
                try snapshots.take($0)
            } _: { scene async throws in
                try await scene.desk.build(.full, day: Self.day)
                let root = "/feeds/epf/v3/full/current/" + (mode == .full ? "" : "incremental/current/")
                if mode == .incremental {
                    try scene.change(FeedSamples.all + [FeedSamples.app(10)])
                    try await scene.desk.build(.incremental, day: Self.day)
                }
                let old = try sums(scene.desk.shelf, root)
                #expect(old.count == 3)
                try scene.change(FeedSamples.all + [FeedSamples.app(11)])
                snapshots.begin(scene)
                try await scene.desk.build(mode, day: FeedDay(days: Self.day.days + 1))
                snapshots.begin(nil)
                let new = try sums(scene.desk.shelf, root)
                #expect(new != old)

                let copies = snapshots.copies
                #expect(copies.first?.step == .folderMade && copies.last?.step == .published && copies.count == 8)
                for copy in copies {
                    // The next start.
                    let desk = try FeedDesk(
                        folder: copy.url, store: scene.test.store, items: scene.items, base: { FeedScene.base })
                    #expect(try sums(desk.shelf, root) == (copy.step == .published ? new : old), "\(copy.step)")
                    let left = try FileManager.default.contentsOfDirectory(atPath: copy.url.path)
                    #expect(!left.contains { $0.hasPrefix("building") }, "\(copy.step)")
                }
                // The next build after a kill in the middle is whole.
                let desk = try FeedDesk(
                    folder: copies[copies.count / 2].url, store: scene.test.store, items: scene.items,
                    base: { FeedScene.base })
                try await desk.build(mode, day: FeedDay(days: Self.day.days + 1))
                #expect(try sums(desk.shelf, root) == new)
            }
        }
    }

    /// Replaces the open file with this end of its path by one that takes no bytes.
    private static func fill(_ end: String, in folder: String) -> Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for name in names {
            guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                path.hasPrefix(folder), path.hasSuffix(end), let descriptor = Int32(name)
            else { continue }
            let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
            defer { close(full) }
            return full >= 0 && dup2(full, descriptor) == descriptor
        }
        return false
    }

    @Test(arguments: ["/application.0", "/song_price.0"])
    func aDiskThatFillsLeavesThePreviousFeed(_ file: String) async throws {
        let scenes = Mutex<[FeedScene]>([])
        try await FeedScene.with(.sqlite, FeedSamples.all) { step in
            guard step == .filesOpened, let scene = scenes.withLock({ $0.first }) else { return }
            #expect(Self.fill(file, in: scene.folder.resolvingSymlinksInPath().path))
        } _: { scene async throws in
            try await scene.desk.build(.full, day: Self.day)
            let old = try sums(scene.desk.shelf, "/feeds/")
            scenes.withLock { $0 = [scene] }
            let error = await #expect(throws: StoreError.self) {
                try await scene.desk.build(.full, day: FeedDay(days: Self.day.days + 7))
            }
            #expect(error?.code == .unavailable && error?.detail.contains("No space left on device") == true)
            #expect(scene.desk.state.failure == error?.detail && !scene.desk.state.isBuilding)
            #expect(try sums(scene.desk.shelf, "/feeds/") == old)
            // Nothing of the failed build takes room.
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.folder.path).count == 1)
            scenes.withLock { $0 = [] }
            try await scene.desk.build(.full, day: FeedDay(days: Self.day.days + 7))
            #expect(scene.desk.state.failure == nil)
        }
    }

    @Test func aBuildEndsWhenTheServerStops() async throws {
        let scenes = Mutex<[FeedScene]>([])
        try await FeedScene.with(.sqlite, FeedSamples.all) { step in
            if step == .rowsWritten { scenes.withLock { $0.first }?.desk.stop() }
        } _: { scene async throws in
            scenes.withLock { $0 = [scene] }
            await #expect(throws: CancellationError.self) { try await scene.desk.build(.full, day: Self.day) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.folder.path).isEmpty)
            scenes.withLock { $0 = [] }
        }
    }

    @Test func aDamagedFeedIsNotServed() async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            for offset in [0, 7] { try await scene.desk.build(.full, day: FeedDay(days: Self.day.days + offset)) }
            let names = scene.desk.builds.map(\.name)
            let file = try #require(scene.desk.shelf.all["/feeds/epf/v5/current/itunes20260114/song.tbz"])
            truncate(file.url.path, 10)
            let desk = try FeedDesk(
                folder: scene.folder, store: scene.test.store, items: scene.items, base: { FeedScene.base })
            #expect(desk.builds.map(\.name) == [names[0]])
            #expect(desk.shelf["/feeds/epf/v5/current/itunes20260107/song.tbz"] != nil)
        }
    }

    @Test func oldFeedsMakeRoom() async throws {
        try await FeedScene.with(.sqlite, [FeedSamples.app(1)]) { scene async throws in
            for week in 0..<3 {
                let full = FeedDay(days: Self.day.days + 7 * week)
                try await scene.desk.build(.full, day: full)
                try await scene.desk.build(.incremental, day: FeedDay(days: full.days + 1))
                try await scene.desk.build(.incremental, day: FeedDay(days: full.days + 1))
            }
            #expect(
                scene.desk.builds.map { "\($0.mode) \($0.day)" } == [
                    "full 20260114", "incremental 20260115", "full 20260121", "incremental 20260122",
                ])
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.folder.path).count == 4)
            // A rebuilt full feed takes the place of its day's, and needs incremental feeds of its own.
            try await scene.desk.build(.full, day: FeedDay(days: Self.day.days + 14))
            #expect(scene.desk.builds.map(\.mode) == [.full, .incremental, .full])
            #expect(scene.desk.shelf["/feeds/epf/v5/current/incremental/"] == nil)
        }
    }

    @Test func pathsAreThoseOfTheVersions() async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            try await scene.desk.build(.full, day: Self.day)
            try await scene.desk.build(.incremental, day: FeedDay(days: Self.day.days + 1))
            let shelf = scene.desk.shelf
            for path in [
                "v3/full/current/itunes20260107.tbz", "v3/full/20260107/pricing20260107.tbz.md5",
                "v3/full/20260107/incremental/20260108/itunes20260108.tbz",
                "v3/full/current/incremental/current/popularity20260108.tbz",
                "v4/full/current/itunes20260107/application.tbz", "v4/current/current/itunes20260107/song.tbz",
                "v4/full/20260107/incremental/current/itunes20260108/application.tbz",
                "v5/current/itunes20260107/application.tbz.md5",
                "v5/current/incremental/current/pricing20260108/application_price.tbz",
            ] {
                guard case .file = shelf["/feeds/epf/\(path)"] else {
                    Issue.record("\(path)")
                    continue
                }
            }
            guard case .folder(let names) = shelf["/feeds/epf/v5/current/"] else { throw CancellationError() }
            #expect(names == ["incremental/", "itunes20260107/", "popularity20260107/", "pricing20260107/"])
            for path in ["/feeds/epf/v5/current", "/feeds/epf/v5/current/../", "/feeds/epf/v5/current/feed.json", ""] {
                #expect(shelf[path] == nil, "\(path)")
            }
        }
    }
}
