import AsyncHTTPClient
import BlobStorage
import Crypto
import Foundation
import NIOCore
import TestSupport
import Testing

/// The places that keep blobs, for tests that must hold on all.
enum Place: String, CaseIterable, CustomStringConvertible {
    case directory
    case bucket

    static var available: [Place] { S3Server.isTested ? allCases : [.directory] }

    var description: String { rawValue }

    func with(_ body: (any BlobStore, TemporaryDirectory) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory async throws in
            switch self {
            case .directory:
                try await body(
                    try DirectoryBlobStore(folder: directory.url.appendingPathComponent("blobs")), directory)
            case .bucket:
                let (name, endpoint) = try await S3Server.bucket()
                let location = try S3Location(
                    "s3://\(name)/some/where?endpoint=\(endpoint)", accessKeyID: "test", secretAccessKey: "test",
                    sessionToken: nil)
                try await body(S3BlobStore(location, now: { Date() }), directory)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct BlobStoreTests {
    private static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    private static func file(_ bytes: [UInt8], _ directory: TemporaryDirectory) throws -> (URL, BlobDigest) {
        let url = directory.url.appendingPathComponent(UUID().uuidString)
        try Data(bytes).write(to: url)
        return (url, BlobDigest(SHA256.hash(data: bytes)))
    }

    private static func read(_ blobs: any BlobStore, _ digest: BlobDigest, _ range: Range<Int64>) async throws
        -> [UInt8]
    {
        var all: [UInt8] = []
        for try await piece in try await blobs.bytes(of: digest, in: range) {
            #expect(piece.readableBytes <= BlobBytes.pieceSize)
            all += piece.readableBytesView
        }
        return all
    }

    @Test(arguments: Place.available) func aStoredBlobIsReadInPartsAndRemoved(_ place: Place) async throws {
        try await place.with { blobs, directory async throws in
            let bytes = Self.bytes(600_001)
            let (file, digest) = try Self.file(bytes, directory)
            #expect(try await blobs.size(of: digest) == nil)
            await #expect(throws: BlobError.self) { _ = try await blobs.bytes(of: digest, in: 0..<1) }
            try await blobs.put(file, as: digest)
            try FileManager.default.removeItem(at: file)
            #expect(try await blobs.size(of: digest) == 600_001)
            for range in [0..<600_001, 0..<1, 600_000..<600_001, 262_143..<524_289] as [Range<Int64>] {
                let wanted = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
                #expect(try await Self.read(blobs, digest, range) == wanted)
            }
            for wrong in [600_000..<600_002, 600_001..<600_002] as [Range<Int64>] {
                await #expect(throws: BlobError.self) { _ = try await blobs.bytes(of: digest, in: wrong) }
            }
            // Again, and from another file of the same bytes.
            let (other, same) = try Self.file(bytes, directory)
            try await blobs.put(other, as: same)
            #expect(try await blobs.size(of: digest) == 600_001)
            try await blobs.remove(digest)
            try await blobs.remove(digest)
            #expect(try await blobs.size(of: digest) == nil)
        }
    }

    @Test(arguments: Place.available) func aReadContinuesAfterTheBlobIsRemoved(_ place: Place) async throws {
        try await place.with { blobs, directory async throws in
            let bytes = Self.bytes(700_000)
            let (file, digest) = try Self.file(bytes, directory)
            try await blobs.put(file, as: digest)
            var iterator = try await blobs.bytes(of: digest, in: 0..<700_000).makeAsyncIterator()
            var count = try await iterator.next()?.readableBytes ?? 0
            if place == .directory { try await blobs.remove(digest) }
            while let piece = try await iterator.next() { count += piece.readableBytes }
            #expect(count == 700_000)
        }
    }

    @Test(arguments: Place.available) func concurrentUploadsOfOneBlobSucceed(_ place: Place) async throws {
        try await place.with { blobs, directory async throws in
            let bytes = Self.bytes(100_000)
            let files = try (0..<8).map { _ in try Self.file(bytes, directory) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (file, digest) in files { group.addTask { try await blobs.put(file, as: digest) } }
                try await group.waitForAll()
            }
            #expect(try await Self.read(blobs, files[0].1, 0..<100_000) == bytes)
        }
    }

    @Test func aFileOfAnotherLengthIsReplaced() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let blobs = try DirectoryBlobStore(folder: directory.url.appendingPathComponent("blobs"))
            let bytes = Self.bytes(1_000)
            let (file, digest) = try Self.file(bytes, directory)
            try await blobs.put(file, as: digest)
            let (again, _) = try Self.file(bytes, directory)
            // One file with two names: what happens to the one happens to the other.
            #expect(truncate(file.path, 10) == 0)
            #expect(try await blobs.size(of: digest) == 10)
            try await blobs.put(again, as: digest)
            #expect(try await Self.read(blobs, digest, 0..<1_000) == bytes)
        }
    }

    /// A file of another length is replaced by a copy, as on another file system.
    @Test func concurrentCopiesOfOneBlobSucceed() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let blobs = try DirectoryBlobStore(folder: directory.url.appendingPathComponent("blobs"))
            let bytes = Self.bytes(500_000)
            let files = try (0..<8).map { _ in try Self.file(bytes, directory) }
            let digest = files[0].1
            for _ in 0..<3 {
                let (short, _) = try Self.file([1], directory)
                try await blobs.remove(digest)
                try await blobs.put(short, as: digest)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (file, digest) in files { group.addTask { try await blobs.put(file, as: digest) } }
                    try await group.waitForAll()
                }
                #expect(try await Self.read(blobs, digest, 0..<500_000) == bytes)
            }
        }
    }

    @Test func aFileIsStoredCompletelyOrNotAtAll() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folder = directory.url.appendingPathComponent("blobs")
            let blobs = try DirectoryBlobStore(folder: folder)
            let (_, digest) = try Self.file([1, 2, 3], directory)
            await #expect(throws: BlobError.self) {
                try await blobs.put(directory.url.appendingPathComponent("missing"), as: digest)
            }
            #expect(try await blobs.size(of: digest) == nil)
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            #expect(blobs.address(of: digest, seconds: 60) == nil)
        }
    }

    @Test(.enabled(if: S3Server.isTested)) func aPresignedAddressGivesTheBytesAndTheirParts() async throws {
        try await Place.bucket.with { blobs, directory async throws in
            let bytes = Self.bytes(5000)
            let (file, digest) = try Self.file(bytes, directory)
            try await blobs.put(file, as: digest)
            var request = HTTPClientRequest(url: try #require(blobs.address(of: digest, seconds: 60)))
            request.headers.add(name: "Range", value: "bytes=10-19")
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            #expect(response.status == .partialContent)
            let got = try await response.body.collect(upTo: 10000)
            #expect(Array(got.readableBytesView) == Array(bytes[10..<20]))
        }
    }

    @Test func aBucketWithoutAServerIsUnavailable() async throws {
        // Port 9 is nobody's on loopback.
        let location = try S3Location(
            "s3://packages?endpoint=http://127.0.0.1:9", accessKeyID: "k", secretAccessKey: "s", sessionToken: nil)
        let blobs = S3BlobStore(location, now: { Date() })
        let digest = BlobDigest(SHA256.hash(data: [1]))
        let error = await #expect(throws: BlobError.self) { _ = try await blobs.size(of: digest) }
        #expect(error?.code == .unavailable && error?.detail.contains("k") == true)
    }
}
