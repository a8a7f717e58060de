import Foundation
import TestSupport
import Testing

@testable import StoreKit

/// A file system in memory of a few megabytes, which only root can mount.
private struct SmallDisk {
    let folder: URL

    /// Mounts one over `folder`; nil when this user, or this container, may not.
    init?(over folder: URL, megabytes: Int) {
        self.folder = folder
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard geteuid() == 0, Self.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", folder.path)
        else { return nil }
    }

    func unmount() { _ = Self.run("umount", "-l", folder.path) }

    private static func run(_ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    static let isAvailable: Bool = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)")
        defer { rmdir(folder.path) }
        guard let disk = SmallDisk(over: folder, megabytes: 1) else { return false }
        disk.unmount()
        return true
    }()

    /// Takes up all that is left of it, and gives the file that does.
    func fill() throws -> URL {
        let file = folder.appendingPathComponent("filler")
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, zeros, zeros.count) > 0 {}
        return file
    }
}

@Suite("Downloads on a disk that fills", .timeLimit(.minutes(1)))
struct FullDiskTests {
    @Test(.enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func `a full disk fails the download with its own error, and the download resumes when there is space`()
        async throws
    {
        try await DownloadScene.run(length: 400_000) { scene async throws in
            let disk = try #require(SmallDisk(over: scene.device.folder, megabytes: 8))
            defer { disk.unmount() }
            scene.server.trouble(.silent(after: 100_000))
            let engine = scene.launch()
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { (observer.downloads.first?.progress ?? 0) >= 0.25 }
            var filler = try disk.fill()
            scene.server.release()
            try await until { observer.words.last == "1 failed" }
            let error = try #require(observer.downloads.first?.error as? SKError)
            let underlying = try #require(error.errorUserInfo[NSUnderlyingErrorKey] as? NSError)
            #expect(underlying.domain == NSCocoaErrorDomain)
            #expect(underlying.code == CocoaError.fileWriteOutOfSpace.rawValue)
            #expect(queue.transactions.count == 1)
            // Started without room, it says so before it writes anything.
            queue.start(observer.downloads)
            try await until { observer.words.filter { $0 == "1 failed" }.count == 2 }
            #expect(scene.server.ranges == ["-"])
            try FileManager.default.removeItem(at: filler)
            queue.start(observer.downloads)
            try await until { observer.words.last == "1 finished" }
            #expect(scene.server.ranges.count == 2 && scene.server.ranges[1] != "-")

            // The shelf is on the same disk.
            let shelf = try ContentShelf(folder: scene.device.folder.appendingPathComponent("shelf"))
            let download = try #require(observer.downloads.first)
            filler = try disk.fill()
            do {
                try shelf.install(download)
                Issue.record("it was installed")
            } catch {
                #expect((error as? ContentShelfError)?.code == .noSpace)
            }
            #expect(shelf.newest(of: download.contentIdentifier) == nil)
            try FileManager.default.removeItem(at: filler)
            #expect(try shelf.install(download).version == "1.0")
            await engine.stop()
        }
    }
}
