import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Files of items over HTTP", .timeLimit(.minutes(1)))
struct ItemFileServerTests {
    private static let items = """

        items:
          - number: 2000
            kind: book
            creator: {number: 902, name: Ann Author}
            genres: [{number: 38, name: Books}]
            texts: [{locale: en_US, name: The Example}]
            releaseDate: "2020-01-01"
            displayPrice: 4.99
            file: files/example.pdf
          - number: 2001
            kind: book
            creator: {number: 902, name: Ann Author}
            genres: [{number: 38, name: Books}]
            texts: [{locale: en_US, name: Without a file}]
            releaseDate: "2020-01-01"
            displayPrice: 0
        """
    private static let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }

    /// Serves a book with a file; its catalog's folder is the parameter.
    private func with(_ body: @escaping @Sendable (RunningServer, URL) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let files = directory.url.appendingPathComponent("files")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
            let file = files.appendingPathComponent("example.pdf")
            try Data(Self.bytes).write(to: file)
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url) { try await body($0, file) }
        }
    }

    private static func buy(_ server: RunningServer, _ item: Int64 = 2000) async throws -> (String, OwnedItem) {
        let token = try await server.signIn().token
        let message = ItemPurchaseMessage(item: item, idempotencyKey: UUID())
        return (token, try await server.device(.buyItem, token: token, body: message).decoded(OwnedItem.self))
    }

    @Test func anOwnedItemsFileIsDownloadedInParts() async throws {
        try await with { server, _ async throws in
            let (token, bought) = try await Self.buy(server)
            #expect(
                bought.files == [
                    ItemFileDescription(
                        item: 2000, title: "The Example", name: "example.pdf", length: Int64(Self.bytes.count))
                ])
            let visit = try await server.device(.openVisit, token: token, body: VisitRequest(item: 2000))
                .decoded(VisitDescription.self)
            #expect(visit.isOwned && visit.files == bought.files)

            let grant = try await server.device(.itemFile(2000), token: token).decoded(ContentGrant.self)
            #expect(grant.contentID == "item.2000" && grant.length == Int64(Self.bytes.count))
            let library = try await server.device(.library(after: nil), token: token).decoded(LibraryResponse.self)
            #expect(library.items.first?.files?.first?.sha256 == grant.sha256)
            let whole = try await server.download(grant)
            #expect(whole.status == 200 && whole.body == Self.bytes)
            let tag = try #require(whole.headers.first(name: "etag"))
            for (ifRange, status, count) in [(tag, 206, Self.bytes.count - 1000), ("\"x\"", 200, Self.bytes.count)] {
                let part = try await server.download(grant, headers: [("Range", "bytes=1000-"), ("If-Range", ifRange)])
                #expect(part.status == status && part.body == Self.bytes.suffix(count))
            }
            let head = try await server.send("HEAD", server.addresses.sandbox + grant.url)
            #expect(head.status == 200 && head.headers.first(name: "content-length") == "\(Self.bytes.count)")
            let beyond = try await server.download(grant, headers: [("Range", "bytes=9999999-")])
            #expect(beyond.status == 416)
        }
    }

    @Test func onlyTheOwnerGetsAnAddressAndNoOtherAddressWorks() async throws {
        try await with { server, _ async throws in
            let stranger = try await server.signIn().token
            let early = try await server.device(.itemFile(2000), token: stranger)
            #expect(early.status == 403 && early.code == "not_owned")
            #expect(try await server.device(.itemFile(2000)).status == 401)
            #expect(try await server.device(.itemFile(77), token: stranger).code == "not_owned")
            let (_, free) = try await Self.buy(server, 2001)
            #expect(free.files == nil)
            #expect(try await server.device(.itemFile(2001), token: stranger).code == "no_content")

            _ = try await server.control("PUT", "/control/v1/sandbox/clock", #"{"freeze":true}"#)
            let (token, bought) = try await Self.buy(server)
            let grant = try await server.device(.itemFile(2000), token: token).decoded(ContentGrant.self)
            for (from, to) in [
                ("transaction=\(bought.transactionID)", "transaction=\(free.transactionID)"),
                ("expires=\(grant.expires)", "expires=\(grant.expires + 1)"), ("signature=", "signature=0"),
                (grant.sha256, String(grant.sha256.reversed())),
            ] {
                var wrong = grant
                wrong.url = grant.url.replacing(from, with: to)
                #expect(try await server.download(wrong).status == 403, "\(to)")
            }
            _ = try await server.control("PUT", "/control/v1/sandbox/clock", #"{"advance":3600000}"#)
            #expect(try await server.download(grant).code == "address_expired")

            let fresh = try await server.device(.itemFile(2000), token: token).decoded(ContentGrant.self)
            #expect(try await server.download(fresh).status == 200)
            let refund = "/control/v1/sandbox/transactions/\(bought.transactionID)/refund"
            #expect(try await server.control("POST", refund, "{}").status == 200)
            let refused = try await server.download(fresh)
            #expect(refused.status == 403 && refused.code == "forbidden")
            #expect(try await server.device(.itemFile(2000), token: token).code == "not_owned")
        }
    }

    @Test func aChangedOrMissingFileAndAnOrderedFault() async throws {
        try await with { server, file async throws in
            let (token, _) = try await Self.buy(server)
            try FileManager.default.removeItem(at: file)
            let missing = try await server.device(.itemFile(2000), token: token)
            #expect(missing.status == 503 && missing.code == "unavailable")
            // The customer does not learn where the operator's files are.
            #expect(!missing.text.contains("files"))
            try Data(Self.bytes).write(to: file)
            let first = try await server.device(.itemFile(2000), token: token).decoded(ContentGrant.self)
            try Data("A new edition.".utf8).write(to: file)
            let second = try await server.device(.itemFile(2000), token: token).decoded(ContentGrant.self)
            #expect(try await server.download(second).text == "A new edition.")
            let gone = try await server.download(first)
            #expect(gone.status == 410 && gone.code == "no_content")

            let order = #"{"operation":"content","status":503,"count":1}"#
            #expect(try await server.control("POST", "/control/v1/sandbox/faults", order).status == 201)
            #expect(try await server.device(.itemFile(2000), token: token).status == 503)
            #expect(try await server.device(.itemFile(2000), token: token).status == 200)
        }
    }
}
