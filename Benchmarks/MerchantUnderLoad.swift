import Database
import Foundation
import MerchantServer
import MerchantWire
import NIOCore
import StoreReceipts
import StoreWire
import Synchronization

/// `cornerstore merchant serve` with an existing ledger, and the requests to it.
struct MerchantUnderLoad: Sendable {
    /// The number of users who send requests in turn. The others have only ledger entries.
    private static let active = 1_000

    let name: String
    let merchant: MerchantProcess
    let authority: CertificateAuthority
    /// Of the active users, each with the `Authorization` field's value.
    private let tokens: [String]
    private let data: URL
    /// Counts the transactions that were made.
    private let made = Counter()

    /// Writes the ledger into a new folder or into a schema of a database, and starts the merchant on it.
    /// - Parameters:
    ///   - database: PostgreSQL's URL; nil for SQLite.
    ///   - processors: the cores that it runs on.
    static func start(
        _ books: Books, database url: String? = nil, on processors: Processors? = .forServers
    ) async throws -> MerchantUnderLoad {
        let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let database = url.map { (url: $0, schema: "bench_\(UInt32.random(in: 0...UInt32.max))") }
            let location: DatabaseLocation =
                database.map { .postgresql(url: $0.url, schema: $0.schema, connections: 4) }
                ?? .sqlite(path: data.appending(path: "merchant.sqlite").path)
            try await books.write(location)
            let authority = try await CertificateAuthority.open(
                directory: data.appending(path: "authority"), at: SampleReceipts.date)
            let roots = [authority.receiptRoot, authority.jwsRoot].enumerated().map {
                (data.appending(path: "root\($0).der"), $1)
            }
            for (file, bytes) in roots { try Data(bytes).write(to: file) }
            let products = data.appending(path: "products.yaml")
            try Data(Self.products.utf8).write(to: products)
            let merchant = try MerchantProcess.start(
                data: data, roots: roots.map(\.0), products: products, database: database, on: processors)
            let keys = try UserTokens(try await TokenKeySet.open(directory: data))
            var tokens: [String] = []
            for number in 0..<min(active, books.users) {
                // Neighbours in the books are not neighbours in time.
                let user = Books.user(number * 7_919 % books.users)
                tokens.append("Bearer " + (try await keys.makeToken(for: UserID(user), at: Date())))
            }
            return MerchantUnderLoad(
                name: "\(books.users) users, \(url == nil ? "SQLite" : "PostgreSQL")", merchant: merchant,
                authority: authority, tokens: tokens, data: data)
        } catch {
            try? FileManager.default.removeItem(at: data)
            throw error
        }
    }

    private init(
        name: String, merchant: MerchantProcess, authority: CertificateAuthority, tokens: [String], data: URL
    ) {
        (self.name, self.merchant, self.authority) = (name, merchant, authority)
        (self.tokens, self.data) = (tokens, data)
    }

    private static let products = """
        app: \(SampleReceipts.bundleID)
        products:
          - {id: \(SampleReceipts.bundleID).credit, kind: consumable, grants: [{credits: 10, currency: \(Books.currency)}]}
          - {id: \(SampleReceipts.bundleID).book, kind: nonConsumable, grants: [{content: \(book)}]}
        """
    private static let book = ContentItemID("book")

    /// Stops the merchant and removes its folder.
    func stop() {
        merchant.child.stop()
        try? FileManager.default.removeItem(at: data)
    }

    /// Offers a book of about this number of bytes to a user who bought it.
    func bookOffer(bytes: Int) async throws -> DownloadOffer {
        let source = data.appending(path: "book.bin")
        try Noise.write(bytes, to: source)
        let put = try ChildProcess(
            try StoreProcess.executable(),
            ["merchant", "content", "put", Self.book.rawValue, source.path, "--data", data.path])
        guard put.exitStatus() == 0 else { throw BenchmarkError("cornerstore merchant content put failed") }
        try FileManager.default.removeItem(at: source)

        let evidence = try authority.jwsIdentity(for: .sandbox).sign(
            SampleReceipts.signedBook(transactionID: 2_000_000_000_000_001))
        _ = try await OneRequest.answer(
            port: merchant.port,
            request: Self.post(MerchantRoute.redemptions.path, "application/jose", tokens[0], Array(evidence.utf8)))
        let about = try JSONDecoder().decode(
            ContentVersion.self,
            from: Data(
                try await OneRequest.answer(
                    port: merchant.port, request: Self.get(MerchantRoute.content(Self.book).path, tokens[0]))))
        let name = about.digest
        return DownloadOffer(
            server: merchant.child,
            url: "http://127.0.0.1:\(merchant.port)\(MerchantRoute.contentFile(Self.book).path)",
            authorization: tokens[0], length: about.size, sha256: name,
            file: data.appending(path: "content/" + ContentStore.path(ofDigest: name)))
    }

    // MARK: Requests

    func balances() -> ServerUnderLoad {
        let requests = tokens.map { Self.get(MerchantRoute.balances().path, $0) }
        return server("balances") { client, sequence in requests[(client * 31 + sequence) % requests.count] }
    }

    /// Spends of one credit each, all with new keys.
    func spends() -> ServerUnderLoad {
        let tokens = tokens
        return server("spend") { client, sequence in
            Self.post(
                MerchantRoute.spends.path, "application/json", tokens[(client * 31 + sequence) % tokens.count],
                Array(
                    #"{"key":"\#(UUID().uuidString)","currency":"\#(Books.currency)","amount":1}"#.utf8))
        }
    }

    /// Redemptions of app receipts with one new transaction each.
    /// - Parameter count: The number of receipts signed in advance. The load fails when they do not suffice.
    func receipts(_ count: Int) throws -> ServerUnderLoad {
        let signer = authority.receiptSigner(for: .sandbox)
        return server(
            "redeem a receipt",
            try evidence(count, "application/octet-stream") { id in
                try signer.sign(SampleReceipts.credit(transactionID: id)).bytes
            })
    }

    /// Redemptions of new signed transactions.
    func signedTransactions(_ count: Int) throws -> ServerUnderLoad {
        let identity = authority.jwsIdentity(for: .sandbox)
        return server(
            "redeem a JWS",
            try evidence(count, "application/jose") { id in
                Array(try identity.sign(SampleReceipts.signedCredit(transactionID: id)).utf8)
            })
    }

    private func server(_ what: String, _ requests: @escaping LoadGenerator.Requests) -> ServerUnderLoad {
        ServerUnderLoad(
            name: "\(what), \(name)", child: merchant.child, port: merchant.port, requests: requests,
            accepts: { !String(decoding: $0, as: UTF8.self).contains(#""redeemed":[]"#) })
    }

    private func evidence(
        _ count: Int, _ type: String, _ make: @escaping @Sendable (Int64) throws -> [UInt8]
    ) throws -> LoadGenerator.Requests {
        let first = 2_000_000_000_100_000 + Int64(made.value.add(count, ordering: .relaxed).oldValue)
        let tokens = tokens
        return try PreparedRequests.make(count) { number in
            Self.post(
                MerchantRoute.redemptions.path, type, tokens[number % tokens.count], try make(first + Int64(number)))
        }
    }

    private static func get(_ path: String, _ authorization: String) -> ByteBuffer {
        ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: \(authorization)\r\n\r\n")
    }

    private static func post(_ path: String, _ type: String, _ authorization: String, _ body: [UInt8]) -> ByteBuffer {
        LoadGenerator.post(
            path, contentType: type, token: String(authorization.dropFirst("Bearer ".count)), body: body)
    }
}
