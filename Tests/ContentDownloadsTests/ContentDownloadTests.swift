import CornerstoreEncoding
import Crypto
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ContentDownloads

@Suite("Resumable downloads", .timeLimit(.minutes(1)))
struct ContentDownloadTests {
    /// Bytes that differ from place to place.
    static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) } }

    static func sha256(_ bytes: [UInt8]) -> String { Hexadecimal.encoded(SHA256.hash(data: bytes)) }

    struct Scene: Sendable {
        let server: ByteServer
        let download: ContentDownload

        var file: URL { download.file }
        var part: Int { Int(ContentDownload.received(for: file)) }
        var names: [String] {
            let folder = file.deletingLastPathComponent().path
            return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        }

        var data: Data? { try? Data(contentsOf: file) }

        /// Runs it; the error's code when there was one.
        func run() async -> ContentDownloadError.Code? {
            do {
                try await download.run()
                return nil
            } catch {
                return error.code
            }
        }
    }

    func with(
        _ count: Int = 300_000, length: Int64? = nil, sha256: String? = nil,
        _ body: @escaping @Sendable (Scene) async throws -> Void
    ) async throws {
        let bytes = Self.bytes(count)
        let server = ByteServer(["file": bytes])
        try await TemporaryDirectory.with { directory async throws in
            try await server.run { url in
                let download = ContentDownload(
                    address: url.appendingPathComponent("file"), length: length ?? Int64(count),
                    sha256: sha256 ?? Self.sha256(bytes),
                    file: directory.url.appendingPathComponent("file.pkg"))
                try await body(Scene(server: server, download: download))
            }
        }
    }

    @Test func `a file is downloaded completely, and no other file is left`() async throws {
        try await with { scene async throws in
            let seen = Mutex<[Int64]>([])
            try await scene.download.run { count in seen.withLock { $0.append(count) } }
            #expect(scene.data == Data(Self.bytes(300_000)))
            #expect(scene.names == ["file.pkg"])
            let steps = seen.withLock { $0 }
            #expect(steps == steps.sorted() && steps.first == 0 && steps.last == 300_000)
            // It is there: nothing is asked for again.
            #expect(await scene.run() == nil)
            #expect(scene.server.ranges == ["-"])
        }
    }

    @Test func `a complete file is kept, and what an earlier run left beside it is removed`() async throws {
        try await with { scene async throws in
            #expect(await scene.run() == nil)
            try Data("\(scene.download.sha256)\n".utf8).write(to: PartFile.tag(of: scene.file))
            #expect(await scene.run() == nil)
            #expect(scene.names == ["file.pkg"])
        }
    }

    @Test func `an empty file is a file`() async throws {
        try await with(0) { scene async throws in
            #expect(await scene.run() == nil)
            #expect(scene.data == Data())
        }
    }

    @Test(arguments: [65_536, 200_000, 299_999])
    func `an interrupted download resumes`(count: Int) async throws {
        try await with { scene async throws in
            scene.server.trouble(.cut(after: count))
            #expect(await scene.run() == .unreachable)
            // The last bytes before the cut may be lost on their way.
            let part = scene.part
            #expect((1...count).contains(part))
            #expect(await scene.run() == nil)
            #expect(scene.server.ranges == ["-", "bytes=\(part)-"])
            #expect(scene.data == Data(Self.bytes(300_000)))
        }
    }

    @Test func `cancelling keeps the received bytes`() async throws {
        try await with { scene async throws in
            scene.server.trouble(.silent(after: 1000))
            let task = Task { await scene.run() }
            try await until { scene.part >= 1000 }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(await scene.run() == nil)
            #expect(scene.server.ranges == ["-", "bytes=1000-"])
        }
    }

    @Test func `the download starts again if the server ignores the range`() async throws {
        try await with { scene async throws in
            scene.server.trouble(.cut(after: 100_000), .wholeAlways)
            #expect(await scene.run() == .unreachable)
            #expect(await scene.run() == nil)
            #expect(scene.data == Data(Self.bytes(300_000)))
        }
    }

    @Test func `without an entity tag the download starts again`() async throws {
        try await with { scene async throws in
            scene.server.change { $0.entityTag = nil }
            scene.server.trouble(.cut(after: 100_000))
            #expect(await scene.run() == .unreachable)
            #expect(await scene.run() == nil)
            #expect(scene.server.ranges == ["-", "-"])
        }
    }

    @Test func `a changed file is not mixed with the old one`() async throws {
        try await with { scene async throws in
            scene.server.trouble(.cut(after: 100_000))
            #expect(await scene.run() == .unreachable)
            let other = Array(Self.bytes(300_000).reversed())
            scene.server.change {
                $0.files["file"] = other
                $0.entityTag = "\"two\""
            }
            // The same part is not that of another digest either.
            let download = ContentDownload(
                address: scene.download.address, length: 300_000, sha256: Self.sha256(other), file: scene.file)
            try await download.run()
            #expect(scene.server.ranges == ["-", "-"])
            #expect(scene.data == Data(other))
        }
    }

    @Test func `a part that was damaged on the disk is downloaded again`() async throws {
        try await with { scene async throws in
            scene.server.trouble(.cut(after: 100_000))
            #expect(await scene.run() == .unreachable)
            let part = scene.part
            let handle = try FileHandle(forWritingTo: scene.file.appendingPathExtension("part"))
            try handle.write(contentsOf: Data([1, 2, 3]))
            try handle.close()
            #expect(await scene.run() == nil)
            #expect(scene.server.ranges == ["-", "bytes=\(part)-", "-"])
            #expect(scene.data == Data(Self.bytes(300_000)))
        }
    }

    @Test func `a wrong length or digest leaves no file`() async throws {
        let lies: [ByteServer.Trouble] = [
            .saysLength(299_999), .saysLength(300_001), .unsaid(299_000), .unsaid(400_000),
        ]
        for lie in lies {
            try await with { scene async throws in
                scene.server.trouble(lie)
                #expect(await scene.run() == .wrongLength, "\(lie)")
                #expect(scene.names.isEmpty, "\(lie)")
            }
        }
        try await with(sha256: String(repeating: "0", count: 64)) { scene async throws in
            #expect(await scene.run() == .wrongDigest)
            #expect(scene.names.isEmpty)
        }
        try await with(length: 100) { scene async throws in
            #expect(await scene.run() == .wrongLength)
            #expect(scene.names.isEmpty)
        }
    }

    @Test func `a range that was not requested is not written`() async throws {
        try await with { scene async throws in
            scene.server.trouble(.cut(after: 100_000), .otherRange)
            #expect(await scene.run() == .unreachable)
            let part = scene.part
            #expect(await scene.run() == nil)
            #expect(scene.server.ranges == ["-", "bytes=\(part)-", "-"])
        }
    }

    @Test(arguments: [
        (403, ContentDownloadError.Code.addressExpired), (410, .addressExpired), (404, .addressExpired),
        (401, .refused),
        (302, .refused), (429, .unreachable), (500, .unreachable), (503, .unreachable),
    ])
    func `each status has its error, and the received bytes stay`(status: Int, code: ContentDownloadError.Code)
        async throws
    {
        try await with { scene async throws in
            scene.server.trouble(.cut(after: 100_000), .status(status))
            #expect(await scene.run() == .unreachable)
            let part = scene.part
            #expect(await scene.run() == code)
            #expect(scene.part == part)
            #expect(await scene.run() == nil)
        }
    }

    @Test func `a missing server does not end the download`() async throws {
        try await with { scene async throws in
            let url = try #require(URL(string: "http://127.0.0.1:1/file"))
            let download = ContentDownload(
                address: url, length: 5, sha256: scene.download.sha256, file: scene.file)
            #expect(await Scene(server: scene.server, download: download).run() == .unreachable)
        }
    }

    @Test(arguments: ["ftp://127.0.0.1/file", "file:///etc/passwd", "nonsense"])
    func `other addresses are refused`(address: String) async throws {
        let url = try #require(URL(string: address))
        let download = ContentDownload(
            address: url, length: 1, sha256: Self.sha256([]), file: URL(fileURLWithPath: "/nowhere/file"))
        do {
            try await download.run()
            Issue.record("it was downloaded")
        } catch {
            #expect(error.code == .invalidRequest)
        }
    }

    @Test func `a full disk has an error of its own`() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        try #require(full >= 0)
        do {
            try [UInt8](repeating: 1, count: 10).withUnsafeBytes {
                try PartFile.write($0, to: full, URL(fileURLWithPath: "/dev/full"))
            }
            Issue.record("it was written")
        } catch {
            #expect((error as? ContentDownloadError)?.code == .noSpace)
        }
    }

    @Test func `a missing folder is reported`() async throws {
        try await with { scene async throws in
            let download = ContentDownload(
                address: scene.download.address, length: 300_000, sha256: scene.download.sha256,
                file: URL(fileURLWithPath: "/nowhere/at/all"))
            do throws(ContentDownloadError) {
                try await download.run()
                Issue.record("it was downloaded")
            } catch {
                #expect(error.code == .fileUnusable)
                #expect(error.detail.contains("/nowhere/at/all"))
            }
        }
    }

    @Test func `a symbolic link in the file's place is not followed`() async throws {
        try await with { scene async throws in
            let target = scene.file.deletingLastPathComponent().appendingPathComponent("precious")
            try Data("mine".utf8).write(to: target)
            try FileManager.default.createSymbolicLink(
                at: scene.file.appendingPathExtension("part"), withDestinationURL: target)
            #expect(await scene.run() == .fileUnusable)
            #expect(try Data(contentsOf: target) == Data("mine".utf8))
        }
    }
}
