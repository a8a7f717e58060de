import BlobStorage
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// A library over a database of its own, with a folder for uploads and one for packages.
struct TestLibrary {
    static let hats = ContentProduct("hats", of: TestStore.bundleID)

    let library: ContentLibrary
    let clock: TestClock
    let databases: StoreDatabases
    let folder: URL

    static func with(_ backend: Backend, _ body: (TestLibrary) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withTestDatabases { database, apps async throws in
                let databases = StoreDatabases(apps: apps, sandbox: database, production: database)
                let test = try await open(databases, directory.url, TestClock())
                try await test.library.setHosting(true, of: hats, at: test.clock.milliseconds)
                try await body(test)
            }
        }
    }

    private static func open(
        _ databases: StoreDatabases, _ folder: URL, _ clock: TestClock,
        room: @escaping @Sendable (URL) -> Int64? = { _ in nil }
    ) async throws -> TestLibrary {
        let staging = folder.appendingPathComponent("uploads")
        try FileManager.default.createDirectory(at: staging, withIntermediateDirectories: true)
        let blobs = try DirectoryBlobStore(folder: folder.appendingPathComponent("packages"))
        return TestLibrary(
            library: try await ContentLibrary.open(databases, blobs: blobs, staging: staging, room: room),
            clock: clock,
            databases: databases, folder: folder)
    }

    /// As after the process was killed and started again.
    func restarted(room: @escaping @Sendable (URL) -> Int64? = { _ in nil }) async throws -> TestLibrary {
        try await Self.open(databases, folder, clock, room: room)
    }

    /// Another process with a data directory of its own, on the same database.
    func elsewhere() async throws -> TestLibrary {
        try await Self.open(databases, folder.appendingPathComponent("other"), clock)
    }

    func begin(_ package: [UInt8], _ product: ContentProduct = hats) async throws -> ContentUpload {
        try await library.beginUpload(
            of: product, length: Int64(package.count), digest: BlobDigest(SHA256.hash(data: package)),
            at: clock.milliseconds)
    }

    @discardableResult
    func append(_ bytes: some Collection<UInt8>, to upload: ContentUpload, at offset: Int) async throws -> ContentUpload
    {
        let pieces = AsyncStream<[UInt8]> { stream in
            stream.yield(Array(bytes))
            stream.finish()
        }
        return try await library.append(pieces, to: upload.uploadID, offset: Int64(offset), at: clock.milliseconds)
    }

    func complete(_ upload: ContentUpload) async throws -> ContentUploadOutcome {
        try await library.complete(upload.uploadID) { clock.milliseconds }
    }

    func upload(_ version: String, _ product: ContentProduct = hats) async throws -> HostedVersion {
        let package = try SampleContent.package(product.productID.rawValue, version)
        let upload = try await begin(package, product)
        try await append(package, to: upload, at: 0)
        guard case .kept(let kept) = try await complete(upload) else { throw NotKept() }
        return kept
    }

    func step(_ step: ContentStep, _ version: HostedVersion) async throws -> HostedVersion {
        try await library.take(step, with: version.versionID, at: clock.milliseconds)
    }

    func stagedFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("uploads").path).filter {
            $0 != "place"
        }
    }

    struct NotKept: Error {}
}

@Suite(.timeLimit(.minutes(1))) struct ContentLibraryTests {
    @Test(arguments: Backend.available) func aVersionPassesThroughAllItsStates(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let first = try await test.upload("1.0")
            #expect(first.state == .readyToSubmit && first.version.text == "1.0")
            test.clock.milliseconds += 1000
            var version = try await test.step(.submit, first)
            test.clock.milliseconds += 1000
            version = try await test.step(.beginReview, version)
            #expect(await test.library.current().newest(TestLibrary.hats, in: .production) == nil)
            version = try await test.step(.approve, version)
            #expect(version.approvedAt == TestClock.start + 2000)
            #expect(
                version.history.map(\.state) == [
                    .waitingForUpload, .processingContent, .readyToSubmit, .waitingForReview, .inReview, .approved,
                ])
            #expect(version.history.map(\.date).suffix(3) == [1000, 2000, 2000].map { TestClock.start + $0 })
            let shown = try #require(try await test.library.products(of: nil).first)
            #expect(shown.versions == [version] && shown.wasLive && shown.state == .approved && shown.uploads.isEmpty)
            for environment in StoreEnvironment.allCases {
                #expect(
                    await test.library.current().newest(TestLibrary.hats, in: environment)?.versionID
                        == version.versionID)
            }
            #expect(try await test.library.blobs.size(of: version.digest) == version.length)
            #expect(try test.stagedFiles().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aNewVersionIsReviewedWhileTheOldOneIsLive(_ backend: Backend) async throws
    {
        try await TestLibrary.with(backend) { test in
            var old = try await test.upload("1.9")
            old = try await test.step(.approve, try await test.step(.submit, old))
            var new = try await test.upload("1.10")
            func live(_ environment: StoreEnvironment) async -> String? {
                await test.library.current().newest(TestLibrary.hats, in: environment)?.version.text
            }
            #expect(await live(.production) == "1.9")
            #expect(await live(.sandbox) == "1.10")
            new = try await test.step(.submit, new)
            #expect(await live(.production) == "1.9")
            // A version that was rejected is still what the sandbox tests.
            new = try await test.step(.reject(reason: "Blank pages."), new)
            #expect(new.history.last == .init(state: .rejected, date: TestClock.start, reason: "Blank pages."))
            #expect(await live(.production) == "1.9")
            #expect(await live(.sandbox) == "1.10")
            // Its number is free again.
            test.clock.milliseconds += 1
            var fixed = try await test.upload("1.10")
            fixed = try await test.step(.approve, try await test.step(.submit, fixed))
            #expect(await live(.production) == "1.10")
            _ = try await test.step(.remove, fixed)
            #expect(await live(.production) == "1.9")
        }
    }

    @Test(arguments: Backend.available) func oneOfTwoUploadsOfAVersionWins(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let packages = try (0..<2).map { try SampleContent.package("hats", "2.0", text: "text \($0)") }
            var uploads: [ContentUpload] = []
            for package in packages {
                let upload = try await test.begin(package)
                try await test.append(package, to: upload, at: 0)
                uploads.append(upload)
            }
            let results = await withTaskGroup(of: Result<ContentUploadOutcome, any Error>.self) { group in
                for upload in uploads {
                    group.addTask {
                        do { return .success(try await test.complete(upload)) } catch { return .failure(error) }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let codes = results.compactMap { result -> WireError.Code? in
                if case .failure(let error) = result { return (error as? StoreError)?.code }
                return nil
            }
            #expect(codes == [.wrongState])
            let product = try #require(try await test.library.products(of: nil).first)
            #expect(product.versions.count == 1 && product.uploads.count == 1)
            // Nothing is lost: with the first one gone, the other can be completed.
            let loser = try #require(product.uploads.first)
            #expect(loser.offset == loser.length && loser.state == .waitingForUpload)
            _ = try await test.step(.remove, product.versions[0])
            guard case .kept(let second) = try await test.complete(loser) else { throw TestLibrary.NotKept() }
            #expect(second.digest == loser.digest)
        }
    }

    @Test(arguments: Backend.available) func anUploadResumesAfterEveryCrash(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let package = try SampleContent.package("hats", "1.0")
            let begun = try await test.begin(package)
            var now = try await test.restarted()
            let upload = try await now.begin(package)
            #expect(upload.uploadID == begun.uploadID && upload.offset == 0)
            try await now.append(package[..<100], to: upload, at: 0)
            // Killed in the middle: the store knows by the file how much has arrived.
            now = try await now.restarted()
            #expect(try await now.begin(package).offset == 100)
            await #expect(throws: WrongOffset(offset: 100)) { try await now.append(package[50...], to: upload, at: 50) }
            #expect(try await refusal { try await now.complete(upload) } == .wrongState)
            try await now.append(package[100...], to: upload, at: 100)
            // Killed while it was looked at.
            let id = upload.uploadID.uuidString
            try await test.databases.apps.write { connection in
                try connection.execute("UPDATE content_uploads SET processing_at = 5 WHERE upload_id = $1", [id])
            }
            now = try await now.restarted()
            #expect(try await now.library.upload(upload.uploadID).offset == Int64(package.count))
            // Nobody looks at it now.
            #expect(try await now.library.upload(upload.uploadID).state == .waitingForUpload)
            // Killed after the bytes were kept and before the version was.
            try await now.library.blobs.put(
                test.folder.appendingPathComponent("uploads/\(id)"), as: upload.digest)
            now = try await now.restarted()
            guard case .kept(let version) = try await now.complete(upload) else { throw TestLibrary.NotKept() }
            // Killed after that: the repeated request gets the same answer, and the same file is not sent again.
            now = try await now.restarted()
            #expect(try await now.complete(upload) == .kept(version))
            let again = try await now.begin(package)
            #expect(again.versionID == version.versionID && again.offset == Int64(package.count))
            #expect(try now.stagedFiles().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func theProcessWithTheBytesContinuesAnUpload(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let other = try await test.elsewhere()
            let package = try SampleContent.package("hats", "1.0")
            let upload = try await test.begin(package)
            try await test.append(package[..<100], to: upload, at: 0)
            #expect(try await refusal { try await other.append(package, to: upload, at: 0) } == .wrongState)
            #expect(try await refusal { try await other.library.upload(upload.uploadID) } == .wrongState)
            #expect(try await refusal { try await other.complete(upload) } == .wrongState)
            #expect(try other.stagedFiles().isEmpty)
            // A start of the other takes nothing away.
            _ = try await other.restarted()
            #expect(try await test.begin(package).offset == 100)

            // Begun there anew, it is there; the first one's bytes are of no use to anybody.
            let moved = try await other.begin(package)
            #expect(moved.uploadID != upload.uploadID && moved.offset == 0)
            #expect(
                try await refusal { try await test.append(package[100...], to: upload, at: 100) } == .unknownContent)
            _ = try await test.begin(try SampleContent.package("hats", "1.1"))
            #expect(try test.stagedFiles().isEmpty)
            try await other.append(package, to: moved, at: 0)
            guard case .kept(let version) = try await other.complete(moved) else { throw TestLibrary.NotKept() }
            // Settled, it is the same for both.
            #expect(try await test.complete(moved) == .kept(version))
        }
    }

    @Test(arguments: Backend.available) func bytesThatAnotherProcessChecksAreKept(_ backend: Backend)
        async throws
    {
        try await TestLibrary.with(backend) { test in
            let version = try await test.upload("1.0")
            let again = ContentUpload(
                uploadID: UUID(), product: TestLibrary.hats, length: version.length, digest: version.digest,
                createdAt: 0, touchedAt: test.clock.milliseconds, place: "another process")
            try await test.databases.apps.write { connection in
                try again.insert(connection)
                try connection.execute("UPDATE content_uploads SET processing_at = 1 WHERE version_id IS NULL")
            }
            _ = try await test.step(.remove, version)
            #expect(try await test.library.blobs.size(of: version.digest) == version.length)
            try await test.library.cancelUpload(again.uploadID)
            #expect(try await test.library.blobs.size(of: version.digest) == nil)
        }
    }

    @Test(arguments: Backend.available) func aBadPackageIsRefusedWithAllReasonsAndNeverOffered(_ backend: Backend)
        async throws
    {
        try await TestLibrary.with(backend) { test in
            let junk = [UInt8](repeating: 7, count: 5000)
            let upload = try await test.begin(junk)
            try await test.append(junk, to: upload, at: 0)
            guard case .refused(let findings) = try await test.complete(upload) else { throw TestLibrary.NotKept() }
            #expect(!findings.isEmpty && findings.allSatisfy { !$0.rule.isEmpty && !$0.message.isEmpty })
            #expect(try await test.complete(upload) == .refused(findings))
            #expect(try test.stagedFiles().isEmpty)
            #expect(try await test.library.blobs.size(of: upload.digest) == nil)
            let product = try #require(try await test.library.products(of: nil).first)
            #expect(product.versions.isEmpty && product.uploads.first?.findings == findings)
            #expect(product.state == .waitingForUpload)
            // Sent again, it is looked at again.
            #expect(try await test.begin(junk).uploadID != upload.uploadID)
            // For another product, and below what was live.
            let other = try SampleContent.package("scarf", "1.0")
            let wrong = try await test.begin(other)
            try await test.append(other, to: wrong, at: 0)
            guard case .refused(let mismatch) = try await test.complete(wrong) else { throw TestLibrary.NotKept() }
            #expect(mismatch.map(\.rule) == ["product"])
            let live = try await test.upload("2.0")
            _ = try await test.step(.approve, try await test.step(.submit, live))
            let low = try SampleContent.package("hats", "1.5")
            let late = try await test.begin(low)
            try await test.append(low, to: late, at: 0)
            guard case .refused(let below) = try await test.complete(late) else { throw TestLibrary.NotKept() }
            #expect(below.map(\.rule) == ["version"])
        }
    }

    @Test(arguments: Backend.available) func bytesWithAnotherDigestAreDiscarded(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let package = try SampleContent.package("hats", "1.0")
            let upload = try await test.begin(package)
            var damaged = package
            damaged[damaged.count / 2] ^= 1
            try await test.append(damaged, to: upload, at: 0)
            #expect(try await refusal { try await test.complete(upload) } == .invalidContent)
            #expect(try await test.library.upload(upload.uploadID).offset == 0)
            #expect(
                try await refusal { try await test.append(package + [0], to: upload, at: 0) } == .tooLarge)
            try await test.append(package, to: upload, at: 0)
            guard case .kept = try await test.complete(upload) else { throw TestLibrary.NotKept() }
        }
    }

    @Test func anUploadLeavesRoomForTheLedger() async throws {
        try await TestLibrary.with(.sqlite) { test in
            let package = try SampleContent.package("hats", "1.0", size: 20 << 20)
            let room = Mutex<Int64>(Int64(package.count) - 1)
            let now = try await test.restarted { _ in room.withLock { $0 } }
            let upload = try await now.begin(package)
            #expect(try await refusal { try await now.append(package, to: upload, at: 0) } == .unavailable)
            #expect(try await now.library.upload(upload.uploadID).offset == 0)
            // Somebody else fills the disk meanwhile.
            room.withLock { $0 += 1 }
            let pieces = AsyncStream<[UInt8]> { stream in
                for start in stride(from: 0, to: package.count, by: 1 << 20) {
                    stream.yield(Array(package[start..<min(start + (1 << 20), package.count)]))
                }
                stream.finish()
            }
            let filling = pieces.map { piece in
                room.withLock { $0 = 5 }
                return piece
            }
            #expect(
                try await refusal {
                    try await now.library.append(filling, to: upload.uploadID, offset: 0, at: now.clock.milliseconds)
                } == .unavailable)
            let arrived = try await now.library.upload(upload.uploadID).offset
            #expect(arrived == 16 << 20)
            room.withLock { $0 = 1 << 30 }
            try await now.append(package[Int(arrived)...], to: upload, at: Int(arrived))
            guard case .kept = try await now.complete(upload) else { throw TestLibrary.NotKept() }
            #expect(ContentStaging.roomOnDisk(now.folder).map { $0 > 0 } == true)
        }
    }

    @Test(arguments: Backend.available) func uploadsExpireByTheClock(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let package = try SampleContent.package("hats", "1.0")
            let upload = try await test.begin(package)
            try await test.append(package[..<10], to: upload, at: 0)
            test.clock.milliseconds += 7 * 24 * 3600 * 1000
            #expect(try await test.begin(package).uploadID == upload.uploadID)
            test.clock.milliseconds += 1
            // Nor does one stay that a process began to look at which is gone.
            try await test.databases.apps.write { connection in
                try connection.execute("UPDATE content_uploads SET processing_at = $1", [TestClock.start])
            }
            let fresh = try await test.begin(package)
            #expect(fresh.uploadID != upload.uploadID && fresh.offset == 0)
            #expect(try await refusal { try await test.library.upload(upload.uploadID) } == .unknownContent)
            #expect(try test.stagedFiles().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func valuesOutOfBoundsAreRefused(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let digest = BlobDigest(SHA256.hash(data: [1]))
            func begin(_ length: Int64, _ product: ContentProduct = TestLibrary.hats) async throws -> WireError.Code? {
                try await refusal {
                    try await test.library.beginUpload(of: product, length: length, digest: digest, at: 0)
                }
            }
            #expect(try await begin(0) == .invalidRequest)
            #expect(try await begin(-1) == .invalidRequest)
            #expect(try await begin(ContentLibrary.largestPackage + 1) == .tooLarge)
            #expect(try await begin(5, ContentProduct("credits5", of: TestStore.bundleID)) == .wrongState)
            for index in 0..<ContentLibrary.mostUploads.ofProduct {
                _ = try await test.begin([UInt8(index), 9])
            }
            #expect(try await begin(5) == .wrongState)
            let uploads = try #require(try await test.library.products(of: nil).first?.uploads)
            try await test.library.cancelUpload(uploads[0].uploadID)
            _ = try await test.begin([200])
            #expect(try await refusal { try await test.library.cancelUpload(UUID()) } == .unknownContent)
            #expect(
                try await refusal { try await test.library.take(.submit, with: UUID(), at: 0) } == .unknownContent)
        }
    }

    @Test(arguments: Backend.available) func hostingCanBeTurnedOffUntilAVersionWasLive(_ backend: Backend) async throws
    {
        try await TestLibrary.with(backend) { test in
            let version = try await test.upload("1.0")
            _ = try await test.begin([1, 2, 3])
            try await test.library.setHosting(false, of: TestLibrary.hats, at: test.clock.milliseconds)
            #expect(await test.library.current().newest(TestLibrary.hats, in: .sandbox) == nil)
            #expect(try await test.library.version(version.versionID)?.state == .removed)
            #expect(try await test.library.blobs.size(of: version.digest) == nil)
            #expect(try test.stagedFiles().isEmpty)
            // What is there of a product that is not hosted is removed, and nothing else.
            let id = version.versionID.uuidString
            try await test.databases.apps.write { connection in
                try connection.execute(
                    "UPDATE content_versions SET state = 'IN_REVIEW' WHERE version_id = $1", [id])
            }
            #expect(try await refusal { try await test.step(.approve, version) } == .wrongState)
            _ = try await test.step(.remove, version)
            try await test.library.setHosting(true, of: TestLibrary.hats, at: test.clock.milliseconds)
            let live = try await test.upload("1.0")
            try await test.library.setReview(.automatic, of: TestStore.bundleID, nil)
            #expect(try await test.step(.submit, live).state == .approved)
            #expect(
                try await refusal {
                    try await test.library.setHosting(false, of: TestLibrary.hats, at: test.clock.milliseconds)
                } == .wrongState)
        }
    }

    @Test(arguments: Backend.available) func aProductsRuleOverridesItsApps(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            try await test.library.setReview(.automatic, of: TestStore.bundleID, nil)
            try await test.library.setReview(.manual, of: TestStore.bundleID, "hats")
            let version = try await test.upload("1.0")
            #expect(try await test.step(.submit, version).state == .waitingForReview)
            try await test.library.setReview(.automatic, of: TestStore.bundleID, "hats")
            let second = try await test.upload("1.1")
            #expect(
                try await test.step(.submit, second).history.map(\.state).suffix(3) == [
                    .waitingForReview, .inReview, .approved,
                ])
        }
    }

    @Test(arguments: Backend.available) func oneOfTwoReviewersDecides(_ backend: Backend) async throws {
        try await TestLibrary.with(backend) { test in
            let version = try await test.step(.submit, try await test.upload("1.0"))
            let steps: [ContentStep] = [.approve, .reject(reason: "No."), .approve, .reject(reason: "Never.")]
            let decided = await withTaskGroup(of: ContentState?.self) { group in
                for step in steps { group.addTask { try? await test.step(step, version).state } }
                return await group.reduce(into: [ContentState]()) { if let state = $1 { $0.append(state) } }
            }
            #expect(decided.count == 1)
            let state = try await test.library.version(version.versionID)?.state
            #expect(state == decided.first)
        }
    }
}
