import BlobStorage
import Crypto
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct StagedFileTests {
    @Test func anUploadResumesAndKeepsItsHash() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let url = directory.url.appendingPathComponent("upload")
            let first = try await StagedFile.open(url)
            let (turn, offset) = first.begin()
            #expect(offset == 0)
            #expect(try await first.append([1, 2, 3] as [UInt8], turn: turn))
            // As after a kill: another process opens what is there.
            let second = try await StagedFile.open(url)
            #expect(second.length == 3)
            let (next, at) = second.begin()
            #expect(at == 3)
            #expect(try await second.append(AnySequence([4, 5] as [UInt8]).map { $0 }, turn: next))
            #expect(second.digest == BlobDigest(SHA256.hash(data: [1, 2, 3, 4, 5])))
            #expect(try Data(contentsOf: url) == Data([1, 2, 3, 4, 5]))
        }
    }

    @Test func theLaterUploadTakesOver() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let file = try await StagedFile.open(directory.url.appendingPathComponent("upload"))
            let first = file.begin().turn
            #expect(try await file.append([1] as [UInt8], turn: first))
            let (second, offset) = file.begin()
            #expect(offset == 1)
            #expect(try await !file.append([9] as [UInt8], turn: first))
            #expect(try await file.append([2] as [UInt8], turn: second))
            #expect(file.length == 2 && file.digest == BlobDigest(SHA256.hash(data: [1, 2])))
        }
    }
}
