import BlobStorage
import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// The deletion of unused bytes that are not deleted at once.
@Suite("Unused bytes", .timeLimit(.minutes(1))) struct DeadBlobTests {
    private static func claims(_ test: TestLibrary) -> Claims {
        Claims(test.databases, holder: UUID()) { [clock = test.clock] in clock.milliseconds }
    }

    /// A process with an upload folder of its own, which shares the database and the storage with others.
    private static func process(_ test: TestLibrary, _ name: String) async throws -> TestLibrary {
        let staging = test.folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: staging, withIntermediateDirectories: true)
        return TestLibrary(
            library: try await ContentLibrary.open(
                test.databases, blobs: test.library.blobs, staging: staging, claims: claims(test),
                room: { _ in nil }),
            clock: test.clock, databases: test.databases, folder: test.folder)
    }

    private static func dead(_ test: TestLibrary) async throws -> Int? {
        try await test.databases.apps.read { try $0.queryOne("SELECT count(*) FROM dead_blobs")?.int(0) }
    }

    @Test(arguments: Backend.available) func `A store of one process deletes later what it could not delete at once`(
        _ backend: Backend
    ) async throws {
        try await TestLibrary.with(backend) { test in
            let blobs = StubbornBlobs(blobs: test.library.blobs)
            let staging = test.folder.appendingPathComponent("alone")
            try FileManager.default.createDirectory(at: staging, withIntermediateDirectories: true)
            let alone = TestLibrary(
                library: try await ContentLibrary.open(
                    test.databases, blobs: blobs, staging: staging, room: { _ in nil }),
                clock: test.clock, databases: test.databases, folder: test.folder)
            for number in ["1.0", "1.1"] {
                let version = try await alone.upload(number)
                #expect(try await alone.step(.remove, version).state == .removed)
                #expect(try await blobs.size(of: version.digest) == version.length)
            }
            let dead = try await test.databases.apps.read { try DeadBlobs.due(at: .max, limit: 8, $0) }
            let first = try #require(dead.first)
            #expect(dead.count == 2)
            // Bytes that cannot be deleted do not hold up the next ones.
            blobs.keep { $0 == first }
            await #expect(throws: BlobError.self) { try await alone.library.removeDeadBlobs() }
            #expect(try await Self.dead(test) == 1)
            blobs.keep { _ in false }
            try await alone.library.removeDeadBlobs()
            for digest in dead { #expect(try await blobs.size(of: digest) == nil) }
            #expect(try await Self.dead(test) == 0)
        }
    }

    @Test(arguments: Backend.available) func oneProcessDeletesThemTenMinutesLater(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let (first, second) = (try await Self.process(test, "first"), try await Self.process(test, "second"))
            let version = try await first.upload("1.0")
            #expect(try await Self.dead(test) == 0)
            _ = try await second.step(.remove, version)
            try await first.library.removeDeadBlobs()
            test.clock.milliseconds += DeadBlobs.keptFor - 1
            try await first.library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: version.digest) == version.length)
            test.clock.milliseconds += 1
            // A backup reads the storage.
            let backup = Self.claims(test)
            #expect(try await backup.take(ContentLibrary.blobsClaim, seconds: 60))
            try await first.library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: version.digest) == version.length)
            await backup.release(ContentLibrary.blobsClaim)
            try await second.library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: version.digest) == nil)
            #expect(try await Self.dead(test) == 0)
        }
    }

    @Test(arguments: Backend.available) func bytesThatAreUsedAgainStay(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let (first, second) = (try await Self.process(test, "first"), try await Self.process(test, "second"))
            let old = try await first.upload("1.0")
            _ = try await first.step(.remove, old)
            #expect(try await Self.dead(test) == 1)
            let new = try await second.upload("1.0")
            #expect(new.digest == old.digest)
            #expect(try await Self.dead(test) == 0)
            test.clock.milliseconds += DeadBlobs.keptFor
            try await first.library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: new.digest) == new.length)
        }
    }

    @Test(arguments: Backend.available) func nothingIsStoredWhileItIsDeleted(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let version = try await test.upload("1.0")
            let (digest, kept, now) = (version.digest, DeadBlobs.keptFor, test.clock.milliseconds)
            try await test.databases.apps.write { connection in
                try DeadBlobs.add(digest, at: now, connection)
                #expect(try DeadBlobs.due(at: now + kept - 1, limit: 8, connection).isEmpty)
                #expect(try !DeadBlobs.beginRemoval(digest, at: now + kept - 1, connection))
                #expect(try DeadBlobs.due(at: now + kept, limit: 8, connection) == [digest])
                #expect(try DeadBlobs.beginRemoval(digest, at: now + kept, connection))
                // One process deletes them, and none stores them meanwhile.
                #expect(try !DeadBlobs.beginRemoval(digest, at: now + kept + 1, connection))
                #expect(try !DeadBlobs.hold(digest, at: now + kept + 1, connection))
                try DeadBlobs.endRemoval(digest, begunAt: now + kept, connection)
                // Stored again, they are not deleted, although nothing uses them yet.
                #expect(try DeadBlobs.hold(digest, at: now + kept + 2, connection))
                try DeadBlobs.add(digest, at: now + kept + 3, connection)
                #expect(try DeadBlobs.due(at: now + 2 * kept + 4, limit: 8, connection).isEmpty)
                #expect(
                    try DeadBlobs.due(at: now + 2 * kept + 2 + DeadBlobs.storedFor, limit: 8, connection)
                        == [digest])
            }
            // What is used stays, whatever the table says.
            test.clock.milliseconds += 2 * kept + 2 + DeadBlobs.storedFor
            try await Self.process(test, "first").library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: digest) == version.length)
            #expect(try await Self.dead(test) == 0)
        }
    }

    @Test(arguments: Backend.available) func anotherProcessDeletesWhatAKilledOneBegan(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let first = try await Self.process(test, "first")
            let version = try await first.upload("1.0")
            _ = try await first.step(.remove, version)
            test.clock.milliseconds += DeadBlobs.keptFor
            let (digest, now) = (version.digest, test.clock.milliseconds)
            let hasBegun = try await test.databases.apps.write { try DeadBlobs.beginRemoval(digest, at: now, $0) }
            #expect(hasBegun)
            try await first.library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: digest) == version.length)
            test.clock.milliseconds += DeadBlobs.removedFor + 1
            try await first.library.removeDeadBlobs()
            #expect(try await test.library.blobs.size(of: digest) == nil)
        }
    }

    @Test(arguments: Backend.available) func aProcessNamesThePlaceOfAnUpload(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let (first, second) = (try await Self.process(test, "first"), try await Self.process(test, "second"))
            let package = try SampleContent.package("hats", "1.0")
            let upload = try await first.begin(package)
            let elsewhere = UploadElsewhere(place: first.library.place)
            #expect(first.library.place != second.library.place)
            await #expect(throws: elsewhere) { try await second.append(package, to: upload, at: 0) }
            await #expect(throws: elsewhere) { try await second.library.upload(upload.uploadID) }
            await #expect(throws: elsewhere) { try await second.complete(upload) }
            try await first.append(package, to: upload, at: 0)
            guard case .kept = try await first.complete(upload) else { throw TestLibrary.NotKept() }
        }
    }
}

/// A storage that deletes nothing until it is told to.
private final class StubbornBlobs: BlobStore {
    private let keeps = Mutex<@Sendable (BlobDigest) -> Bool>({ _ in true })
    private let blobs: any BlobStore

    init(blobs: any BlobStore) { self.blobs = blobs }

    /// Sets which bytes it does not delete.
    func keep(_ rule: @escaping @Sendable (BlobDigest) -> Bool) { keeps.withLock { $0 = rule } }

    func put(_ file: URL, as digest: BlobDigest) async throws { try await blobs.put(file, as: digest) }

    func size(of digest: BlobDigest) async throws -> Int64? { try await blobs.size(of: digest) }

    func bytes(of digest: BlobDigest, in range: Range<Int64>) async throws -> BlobBytes {
        try await blobs.bytes(of: digest, in: range)
    }

    func remove(_ digest: BlobDigest) async throws {
        guard !keeps.withLock({ $0(digest) }) else { throw BlobError(.unavailable, "The storage deletes nothing.") }
        try await blobs.remove(digest)
    }

    func address(of digest: BlobDigest, seconds: Int) -> String? { blobs.address(of: digest, seconds: seconds) }
}
