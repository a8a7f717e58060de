import AsyncHTTPClient
import ContentPackages
import Foundation
import NIOCore
import StoreWire

/// A store that hosts one large package, and a customer who bought it.
struct ContentStore {
    let store: StoreProcess
    let data: URL
    let grant: ContentGrant

    /// The customer's download.
    var offer: DownloadOffer {
        let name = grant.sha256
        let kept = data.appending(path: "content/packages/" + Self.path(ofDigest: name))
        return DownloadOffer(
            server: store.child, url: (store.addresses["sandbox"] ?? "") + grant.url, length: grant.length,
            sha256: grant.sha256, file: kept)
    }

    /// The path of a blob in the blob folder of a store or merchant.
    /// - Parameter digest: SHA-256 in hexadecimal.
    static func path(ofDigest digest: String) -> String {
        "\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))/\(digest)"
    }

    private static let bundleID: BundleID = "com.example.bench"
    private static let product: ProductID = "com.example.bench.book"
    private static let catalog = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.bench
            products:
              - { productID: com.example.bench.book, type: NonConsumable, displayPrice: 0.99, hosted: true }
        """

    /// Runs `body` with a store that hosts about this number of bytes.
    static func with(bytes: Int, _ body: (ContentStore) async throws -> [Figure]) async throws -> [Figure] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let package = try build(bytes, in: folder)
        let catalog = folder.appending(path: "catalog.yaml")
        try Data(Self.catalog.utf8).write(to: catalog)
        let data = folder.appending(path: "data")
        let store = try await StoreProcess.start(catalog: catalog.path, data: data)
        defer { store.child.stop() }
        let upload = Process()
        upload.executableURL = try StoreProcess.executable()
        upload.arguments = ["content", "upload", package.path, "--data", data.path]
        upload.standardOutput = FileHandle.nullDevice
        upload.standardError = FileHandle.nullDevice
        try upload.run()
        upload.waitUntilExit()
        guard upload.terminationStatus == 0 else { throw BenchmarkError("cornerstore content upload failed") }
        try FileManager.default.removeItem(at: package)
        return try await body(ContentStore(store: store, data: data, grant: try await buy(store, data)))
    }

    /// A package of one file that cannot be compressed.
    private static func build(_ bytes: Int, in folder: URL) throws -> URL {
        let source = folder.appending(path: "source")
        let contents = source.appending(path: "Contents")
        try FileManager.default.createDirectory(at: contents, withIntermediateDirectories: true)
        let info = try PropertyListSerialization.data(
            fromPropertyList: ["IAPProductIdentifier": product.rawValue, "ContentVersion": "1.0"], format: .xml,
            options: 0)
        try info.write(to: source.appending(path: "ContentInfo.plist"))
        let file = contents.appending(path: "book.bin")
        try Noise.write(bytes, to: file)
        let package = folder.appending(path: "book.pkg")
        try ContentPackageBuilder().build(folder: source, into: package)
        try FileManager.default.removeItem(at: source)
        return package
    }

    private static func buy(_ store: StoreProcess, _ data: URL) async throws -> ContentGrant {
        let tester = try Tester.read(data)
        let signIn: SignInResponse = try await ask(
            store, .signIn, SignInRequest(email: tester.email, password: tester.password, deviceID: UUID()), nil)
        let purchase: PurchaseResponse = try await ask(
            store, .purchases,
            PurchaseRequest(
                idempotencyKey: UUID(), bundleID: bundleID, productID: product, quantity: 1, applicationUsername: nil,
                simulatesAskToBuy: false, agreedPrice: nil), signIn.token)
        guard let id = purchase.transaction?.transactionID else { throw BenchmarkError("the book was not sold") }
        return try await ask(
            store, .content(id), ContentRequest(bundleID: bundleID, version: nil), signIn.token)
    }

    private static func ask<Answer: Decodable>(
        _ store: StoreProcess, _ route: StoreRoute, _ body: some Encodable, _ token: String?
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: (store.addresses["sandbox"] ?? "") + route.path)
        request.method = .init(rawValue: route.method.rawValue)
        request.headers.add(name: "Content-Type", value: "application/json")
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else { throw BenchmarkError("\(route.path): HTTP \(response.status.code)") }
        return try JSONDecoder().decode(Answer.self, from: Data(bytes.readableBytesView))
    }
}
