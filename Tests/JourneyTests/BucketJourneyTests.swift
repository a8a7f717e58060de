import BlobStorage
import Foundation
import StoreServer
import TestSupport
import Testing

@testable import StoreKit

@Suite("Hosted content in a bucket, to the app's shelf", .serialized, .timeLimit(.minutes(1)))
struct BucketJourneyTests {
    @Test(.enabled(if: S3Server.isTested), arguments: Backend.available)
    func `a download from the bucket survives a kill, an expired address and a removal`(
        _ backend: Backend
    ) async throws {
        try await BucketFront.with { front async throws in
            let bucket = try S3Location(
                "s3://\(try await S3Server.bucket().name)/packages?endpoint=\(front.address)", accessKeyID: "test",
                secretAccessKey: "test", sessionToken: nil)
            try await JourneyStore.with(backend, bucket: bucket) { store async throws in
                try await store.host("hats")
                try await store.publish("hats", "1.0")
                let device = try await JourneyDevice(store)
                try await Self.killedAndExpired(front, device)
                try await Self.removedMeanwhile(front, store, JourneyDevice(beside: device, name: "b"))
            }
        }
    }

    private static func killedAndExpired(_ front: BucketFront, _ device: JourneyDevice) async throws {
        let shelf = try ContentShelf(folder: device.folder.appendingPathComponent("shelf"))
        // The app is killed with some of the bytes there.
        front.expect(.silent(after: 100_000))
        var engine = device.launch()
        var app = ContentApp(SKPaymentQueue(engine: engine), shelf: nil)
        app.queue.add(payment("hats"))
        try await app.until { $0.contains { $0.received > 0 } }
        await engine.stop()

        // An hour is what an address is good for, and each that expired is followed by a new one. A busy machine may
        // take a minute from the signature to the request, and no more.
        front.expect(.later(3602), .later(3602), .later(3540))
        engine = device.launch()
        app = ContentApp(SKPaymentQueue(engine: engine), shelf: shelf)
        try await app.until { _ in shelf.newest(of: "hats") != nil && app.queue.transactions.isEmpty }
        #expect(front.downloads.map(\.status) == [200, 403, 403, 206])
        #expect(Set(front.downloads.dropFirst().map(\.range)).count == 1 && front.downloads.last?.range != "-")
        let item = try #require(shelf.newest(of: "hats"))
        let chapter = try Data(contentsOf: item.contents.appendingPathComponent("chapter.txt"))
        #expect(chapter == Data(SampleContent.bytes(JourneyStore.chapterSize)))
        #expect(try await device.ledger().transactions.map(\.isFinished) == [true])
        await engine.stop()
    }

    /// The address is good, and the object is not there any more: another version is live by then.
    private static func removedMeanwhile(
        _ front: BucketFront, _ store: JourneyStore, _ device: JourneyDevice
    ) async throws {
        let version = try await store.publish("hats", "1.1")
        let shelf = try ContentShelf(folder: device.folder.appendingPathComponent("shelf"))
        front.expect(
            .first {
                let url = "\(store.addresses.control)/control/v1/content/versions/\(version.versionId)/remove"
                try #require(try await HTTPReply("POST", url, body: Array("{}".utf8)).status == 200)
            })
        let engine = device.launch()
        let app = ContentApp(SKPaymentQueue(engine: engine), shelf: shelf)
        app.queue.restoreCompletedTransactions()
        try await app.until { _ in shelf.newest(of: "hats") != nil && app.queue.transactions.isEmpty }
        #expect(shelf.versions(of: "hats").map(\.version) == ["1.0"])
        #expect(front.downloads.map(\.status).suffix(2) == [404, 200])
        #expect(!app.words.contains(.failed))
        await engine.stop()
    }
}
