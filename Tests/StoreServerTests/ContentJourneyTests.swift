import BlobStorage
import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// Where packages are kept.
enum PackagePlace: String, CaseIterable, CustomStringConvertible {
    case directory
    case bucket

    static var available: [PackagePlace] { S3Server.isTested ? allCases : [.directory] }

    var description: String { rawValue }

    func bucket() async throws -> S3Location? {
        guard self == .bucket else { return nil }
        let (name, endpoint) = try await S3Server.bucket()
        return try S3Location(
            "s3://\(name)/packages?endpoint=\(endpoint)", accessKeyID: "test", secretAccessKey: "test",
            sessionToken: nil)
    }
}

@Suite("Hosted content from upload to download", .timeLimit(.minutes(1))) struct ContentJourneyTests {
    @Test(arguments: Backend.available, PackagePlace.available)
    func uploadReviewBuyDownloadAndUpdate(_ backend: Backend, _ place: PackagePlace) async throws {
        let bucket = try await place.bucket()
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
                let configure: @Sendable (inout StoreServerConfiguration) -> Void = {
                    ($0.databaseURL, $0.schemaPrefix, $0.bucket) = (url, prefix, bucket)
                }
                let first = try SamplePackage("hats", "1.0", size: 400_000)
                // The store is killed in the middle of the upload; the bytes that came are there afterwards.
                let half = first.bytes.count / 2
                let upload = try await RunningServer.with(directory.url, configure) { server async throws in
                    try await server.host("hats")
                    let upload = try await server.begin(first)
                    #expect(upload.state == "WAITING_FOR_UPLOAD" && upload.offset == 0)
                    #expect(try await server.append(first.bytes[..<half], to: upload, at: 0).status == 200)
                    return upload
                }
                try await RunningServer.with(directory.url, configure) { server async throws in
                    try await Self.goOn(server, upload, first, half)
                    try await Self.buyAndUpdate(server, first)
                }
            }
        }
    }

    /// The rest of the upload, its check and its review.
    private static func goOn(
        _ server: RunningServer, _ upload: ControlAPI.ContentUpload, _ package: SamplePackage, _ half: Int
    ) async throws {
        let again = try await server.begin(package)
        #expect(again.uploadId == upload.uploadId && again.offset == Int64(half))
        let wrong = try await server.append(package.bytes[..<10], to: again, at: 10)
        #expect(wrong.status == 409)
        #expect(try wrong.decoded(ControlAPI.WrongOffset.self).offset == Int64(half))
        #expect(try await server.complete(again).status == 409)
        #expect(try await server.append(package.bytes[half...], to: again, at: half).status == 200)
        let completed = try await server.complete(again)
        #expect(completed.status == 200)
        let version = try completed.decoded(ControlAPI.ContentVersion.self)
        #expect(try await server.complete(again).decoded(ControlAPI.ContentVersion.self) == version)
        // A lost answer: the same file is not sent again.
        #expect(try await server.begin(package).versionId == version.versionId)
        for (step, state) in [("submit", "WAITING_FOR_REVIEW"), ("review", "IN_REVIEW"), ("approve", "APPROVED")] {
            #expect(try await server.step(version, step).state == state)
        }
        let refused = try await server.control(
            "POST", "/control/v1/content/versions/\(version.versionId)/submit", "{}")
        #expect(refused.status == 409 && refused.code == "wrong_state")
    }

    /// A customer of each version, in production.
    private static func buyAndUpdate(_ server: RunningServer, _ first: SamplePackage) async throws {
        let anna = try await server.customer("anna@example.com")
        let early = try await server.buy("hats", token: anna)
        #expect(early.content == HostedContent(version: "1.0", lengths: [Int64(first.bytes.count)]))
        let grant = try await server.grant(early.transactionID, token: anna)
        #expect(try await server.fetch(grant, nil) == first.bytes)
        #expect(try await server.fetch(grant, 1000..<300_000) == Array(first.bytes[1000..<300_000]))

        // The second version goes through review while the first is live.
        let second = try SamplePackage("hats", "1.1", size: 50_000)
        let version = try await server.upload(second)
        _ = try await server.step(version, "submit")
        #expect(try await server.grant(early.transactionID, token: anna).version == "1.0")
        let rejected = try await server.step(version, "reject", #"{"reason":"Blank pages."}"#)
        #expect(rejected.history.last?.reason == "Blank pages.")
        let better = try await server.upload(try SamplePackage("hats", "1.2", size: 60_000))
        _ = try await server.control(
            "PUT", "/control/v1/content/rule", #"{"bundleId":"\#(RunningServer.bundleID)","review":"automatic"}"#)
        #expect(try await server.step(better, "submit").state == "APPROVED")

        let berta = try await server.customer("berta@example.com")
        let late = try await server.buy("hats", token: berta)
        #expect(late.content?.version == "1.2")
        let newest = try await server.grant(late.transactionID, token: berta)
        #expect(newest.version == "1.2" && newest.sha256 == better.sha256)
        #expect(try await server.fetch(newest, nil).count == Int(better.length))
        // Who began with the first version ends with it; asked anew, the newest is given.
        let begun = try await server.grant(early.transactionID, token: anna, version: "1.0")
        #expect(begun.version == "1.0" && begun.sha256 == grant.sha256 && begun.length == grant.length)
        #expect(try await server.grant(early.transactionID, token: anna).version == "1.2")

        let shown = try #require(try await server.hosted().first)
        #expect(shown.productionVersion == "1.2" && shown.sandboxVersion == "1.2" && shown.review == "automatic")
        #expect(shown.versions.map(\.state) == ["APPROVED", "REJECTED", "APPROVED"])
        #expect(shown.versions.map(\.version) == ["1.2", "1.1", "1.0"])
        _ = try await server.step(shown.versions[0], "remove")
        #expect(try await server.grant(late.transactionID, token: berta).version == "1.0")
    }
}

extension RunningServer {
    /// Signs a new customer of production in.
    fileprivate func customer(_ email: String) async throws -> String {
        let made = try await control(
            "POST", "/control/v1/production/accounts", #"{"email":"\#(email)","password":"banana-split"}"#)
        guard made.status == 201 else { throw UnexpectedReply(made) }
        let request = SignInRequest(email: email, password: "banana-split", deviceID: UUID())
        return try await device(.signIn, .production, body: request).decoded(SignInResponse.self).token
    }

    fileprivate func buy(_ product: ProductID, token: String) async throws -> TransactionDescription {
        let reply = try await device(.purchases, .production, token: token, body: purchase(product))
        guard let bought = try reply.decoded(PurchaseResponse.self).transaction else { throw UnexpectedReply(reply) }
        return bought
    }

    fileprivate func grant(
        _ id: TransactionID, token: String, version: String? = nil
    ) async throws -> ContentGrant {
        let request = ContentRequest(bundleID: Self.bundleID, version: version)
        let reply = try await device(.content(id), .production, token: token, body: request)
        guard reply.status == 200 else { throw UnexpectedReply(reply) }
        return try reply.decoded(ContentGrant.self)
    }

    /// Downloads from the store or from the bucket, as the grant says.
    fileprivate func fetch(_ grant: ContentGrant, _ range: Range<Int>?) async throws -> [UInt8] {
        let url = grant.url.hasPrefix("/") ? addresses.store(.production) + grant.url : grant.url
        let headers = range.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
        let reply = try await send("GET", url, headers: headers)
        guard reply.status == (range == nil ? 200 : 206) else { throw UnexpectedReply(reply) }
        return reply.body
    }
}
