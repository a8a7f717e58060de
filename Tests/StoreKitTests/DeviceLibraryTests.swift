import ContentDownloads
import Crypto
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("The device's library", .timeLimit(.minutes(1)))
struct DeviceLibraryTests {
    /// A server of files, and the library of an account on a device.
    private struct Scene: Sendable {
        let server: ByteServer
        let device: URL
        let library: DeviceLibrary
        let store: URL

        func file(_ name: String = "first-branch.wav", item: Int64 = 40, length: Int64 = 0, sha256: String? = nil)
            -> ItemFileDescription
        {
            ItemFileDescription(item: item, title: "First Branch", name: name, length: length, sha256: sha256)
        }

        func serve(_ bytes: [UInt8]) -> ContentGrant {
            server.change {
                $0.files["song"] = bytes
                $0.entityTag = "\"\(bytes.count)\""
            }
            return ContentGrant(
                contentID: "item.40", version: "1", length: Int64(bytes.count), unpackedLength: 0,
                sha256: SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined(),
                url: store.absoluteString + "song", expires: 0)
        }

        func names(_ item: Int64 = 40) throws -> [String] {
            let folder = library.url(of: file(item: item)).deletingLastPathComponent()
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
        }
    }

    private func with(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let server = ByteServer()
            let device = directory.url.appendingPathComponent("device")
            let library = try DeviceLibrary(device: device, environment: .sandbox, account: "account/1")
            try await server.run { url in
                try await body(Scene(server: server, device: device, library: library, store: url))
            }
        }
    }

    private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }

    @Test func `a file is downloaded once, and gets its name when it is complete`() async throws {
        try await with { scene async throws in
            let grant = scene.serve(Self.bytes)
            let file = scene.file(length: grant.length, sha256: grant.sha256)
            #expect(scene.library.state(of: file) == .missing)
            scene.server.trouble(.cut(after: 100_000))
            let cut = await failure { _ = try await scene.library.download(file, at: scene.store) { grant } }
            #expect((cut as? ContentDownloadError)?.code == .unreachable)
            let received = scene.library.received(file)
            // The client may drop the last portions of a connection that ends.
            #expect((0...100_000).contains(received))
            #expect(scene.library.state(of: file) == (received > 0 ? .partial : .missing))
            #expect(try scene.names() == [])
            let place = try await scene.library.download(file, at: scene.store) { grant }
            #expect(scene.server.ranges == ["-", received > 0 ? "bytes=\(received)-" : "-"])
            #expect(try Data(contentsOf: place) == Data(Self.bytes))
            #expect(scene.library.state(of: file) == .downloaded)
            #expect(place.path.hasPrefix(scene.device.path + "/library/sandbox/"))
            #expect(try await scene.library.download(file, at: scene.store) { grant } == place)
            #expect(scene.server.ranges.count == 2)
        }
    }

    @Test func `a newer file takes the place of the older one when it is complete`() async throws {
        try await with { scene async throws in
            let old = scene.serve(Self.bytes)
            let first = scene.file(length: old.length, sha256: old.sha256)
            let oldPlace = try await scene.library.download(first, at: scene.store) { old }
            let new = scene.serve(Array(Self.bytes.reversed()))
            let second = scene.file("second.wav", length: new.length, sha256: new.sha256)
            #expect(scene.library.state(of: scene.file(length: new.length, sha256: new.sha256)) == .outdated)
            scene.server.trouble(.cut(after: 5))
            _ = try? await scene.library.download(second, at: scene.store) { new }
            #expect(try Data(contentsOf: oldPlace) == Data(Self.bytes))
            let place = try await scene.library.download(second, at: scene.store) { new }
            let arrived = try Data(contentsOf: place)
            #expect(arrived == Data(Self.bytes.reversed()))
            #expect(try scene.names() == ["second.wav"])
        }
    }

    /// The process ended between the digest and the file's name: the old file is not taken for the new one.
    @Test func `a file that had arrived before a crash gets its name at the next launch`() async throws {
        try await with { scene async throws in
            let old = scene.serve(Self.bytes)
            let file = scene.file(length: old.length)
            let place = try await scene.library.download(file, at: scene.store) { old }
            let new = scene.serve(Array(Self.bytes.reversed()))
            let folder = place.deletingLastPathComponent()
            try Data(Self.bytes.reversed()).write(to: folder.appendingPathComponent(".incoming/file"))
            try Data("\(new.sha256)\n".utf8).write(to: folder.appendingPathComponent(".sha256"))
            let described = scene.file(length: new.length, sha256: new.sha256)
            #expect(scene.library.state(of: described) == .partial)
            let asked = scene.server.ranges.count
            _ = try await scene.library.download(described, at: scene.store) { new }
            #expect(try Data(contentsOf: place) == Data(Self.bytes.reversed()))
            #expect(scene.server.ranges.count == asked)
        }
    }

    @Test func `an expired address is asked for again, a false grant is refused`() async throws {
        try await with { scene async throws in
            let grant = scene.serve(Self.bytes)
            let file = scene.file(length: grant.length)
            let asked = Mutex(0)
            scene.server.trouble(.status(403))
            _ = try await scene.library.download(file, at: scene.store) {
                asked.withLock { $0 += 1 }
                return grant
            }
            #expect(asked.withLock { $0 } == 2)
            var other = grant
            other.contentID = "item.41"
            let refused = await failure { [other] in
                _ = try await scene.library.download(file, at: scene.store) { other }
            }
            #expect(refused is DeviceLibrary.InvalidGrant)
            var wrong = grant
            wrong.sha256 = String(grant.sha256.reversed())
            let damaged = await failure { [wrong] in
                _ = try await scene.library.download(file, at: scene.store) { wrong }
            }
            #expect((damaged as? ContentDownloadError)?.code == .wrongDigest)
            #expect(try Data(contentsOf: scene.library.url(of: file)) == Data(Self.bytes))
        }
    }

    @Test(arguments: [true, false])
    func `wrong bytes are downloaded once more from zero`(isMended: Bool) async throws {
        try await with { scene async throws in
            let grant = scene.serve(Self.bytes)
            let file = scene.file(length: grant.length, sha256: grant.sha256)
            var wrong = grant
            wrong.sha256 = String(repeating: "0", count: 64)
            let asked = Mutex(0)
            let ask: @Sendable () async throws -> ContentGrant = { [wrong] in
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                return isMended && count > 1 ? grant : wrong
            }
            if isMended {
                let place = try await scene.library.download(file, at: scene.store, grant: ask)
                #expect(try Data(contentsOf: place) == Data(Self.bytes))
            } else {
                let failure = await failure { _ = try await scene.library.download(file, at: scene.store, grant: ask) }
                #expect((failure as? ContentDownloadError)?.code == .wrongDigest)
                #expect(scene.library.received(file) == 0 && scene.library.state(of: file) == .missing)
            }
            #expect(asked.withLock { $0 } == 2 && scene.server.ranges == ["-", "-"])
        }
    }

    @Test func `names from the store cannot leave the item's folder`() async throws {
        try await with { scene async throws in
            let folder = scene.library.url(of: scene.file()).deletingLastPathComponent().path
            for name in ["../x", "/etc/passwd", "..", ".", "", ".sha256", ".incoming", "a/b\0c", "Ein Lied.wav"] {
                let place = scene.library.url(of: scene.file(name)).standardizedFileURL
                #expect(place.deletingLastPathComponent().path == folder, "\(name)")
                #expect(!place.lastPathComponent.hasPrefix("."), "\(name)")
            }
        }
    }

    @Test func `one process at a time downloads a file`() async throws {
        try await with { scene async throws in
            let grant = scene.serve(Self.bytes)
            let file = scene.file(length: grant.length)
            let refused = await failure {
                _ = try await scene.library.download(file, at: scene.store) {
                    // Another process comes while this one downloads.
                    _ = try await scene.library.download(file, at: scene.store) { grant }
                    return grant
                }
            }
            #expect((refused as? DeviceError)?.code == .inUse)
        }
    }

    private func failure(_ body: () async throws -> Void) async -> (any Error)? {
        do {
            try await body()
            return nil
        } catch { return error }
    }
}
