import AsyncHTTPClient
import Foundation
import Logging
import Merchant
import MerchantWire
import NIOCore
import StoreReceipts
import TestSupport
import Testing

@testable import MerchantServer

/// A merchant on a free port, over SQLite, that trusts the keys of the tests' store.
struct RunningMerchant {
    let application: MerchantApplication
    let address: String
    let authority: CertificateAuthority
    let backendKey: String

    static let products = """
        app: com.example.books
        products:
          - {id: coins, kind: consumable, grants: [{credits: 10, currency: coins}]}
          - {id: issue, kind: nonConsumable, grants: [{content: issue-12}, {entitlement: reader}]}
        """

    struct NotReady: Error {}

    /// What each operation may answer, by the OpenAPI document; every answer of the tests is held against it.
    private static let statuses: [String: Set<Int>] = {
        do {
            return try OpenAPIDocument().operations().mapValues { operation in
                Set((operation["responses"] as? [String: Any] ?? [:]).keys.compactMap { Int($0) })
            }
        } catch {
            Issue.record(error)
            return [:]
        }
    }()

    static func with(
        logger: Logger = .silent, _ change: (inout MerchantServerConfiguration) -> Void = { _ in },
        _ body: (RunningMerchant) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folder = directory.url.appendingPathComponent("authority")
            try await SharedAuthority.copy(to: folder)
            let authority = try await CertificateAuthority.open(directory: folder, at: Date())
            let products = directory.url.appendingPathComponent("products.yaml")
            try Data(Self.products.utf8).write(to: products)
            var configuration = MerchantServerConfiguration(
                dataDirectory: directory.url.appendingPathComponent("merchant"), port: 0,
                stores: [.cornerstore(roots: [authority.receiptRoot, authority.jwsRoot])],
                policy: MerchantPolicy(environments: [.sandbox]), productsFiles: [products], rates: nil)
            change(&configuration)
            let application = try await MerchantApplication.open(configuration, now: { Date() }, logger: logger)
            let key = try await application.keys.make(name: "backend", scopes: Set(APIScope.allCases), at: Date())
            let (ready, tell) = AsyncStream.makeStream(of: String.self)
            let run = Task {
                defer { tell.finish() }
                try await application.run(gracefulShutdownSignals: []) { tell.yield($0) }
            }
            var found: String?
            for await address in ready {
                found = address
                break
            }
            guard let address = found else {
                try await run.value
                throw NotReady()
            }
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await body(
                        RunningMerchant(
                            application: application, address: address, authority: authority, backendKey: key.text)))
            } catch {
                result = .failure(error)
            }
            run.cancel()
            _ = await run.result
            try result.get()
        }
    }

    struct Reply {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]

        var code: String? { try? JSONDecoder().decode(MerchantWireError.self, from: Data(body)).code.rawValue }
        var text: String { String(decoding: body, as: UTF8.self) }

        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data(body))
        }
    }

    func send(
        _ route: MerchantRoute, as token: String? = nil, _ body: [UInt8]? = nil, type: String = "application/json",
        headers: [(String, String)] = []
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: address + route.path)
        request.method = .init(rawValue: route.method.rawValue)
        request.headers.add(name: "Content-Type", value: type)
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(body) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 16 << 20)
        // With an empty name a path is another's, which may have no such method.
        if response.status != .methodNotAllowed,
            let statuses = Self.statuses["\(route.method.rawValue) \(route.template)"]
        {
            #expect(statuses.contains(Int(response.status.code)), "\(route): \(response.status) is not in the document")
        }
        return Reply(
            status: Int(response.status.code),
            headers: Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 }),
            body: [UInt8](bytes.readableBytesView))
    }

    func token(_ user: UserID) async throws -> String {
        try await application.tokens.makeToken(for: user, at: Date())
    }

    /// A signed transaction of the store's.
    func signed(_ product: String, _ id: String, _ more: [String: Any] = [:]) throws -> [UInt8] {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let fields: [String: Any] = [
            "transactionId": id, "originalTransactionId": id, "bundleId": "com.example.books", "productId": product,
            "purchaseDate": now, "quantity": 1, "environment": "Sandbox", "signedDate": now,
        ]
        let payload = try JSONSerialization.data(withJSONObject: fields.merging(more) { $1 })
        return Array(try authority.jwsIdentity(for: .sandbox).sign(Array(payload)).utf8)
    }

    /// Redeems a signed transaction.
    func redeem(_ product: String, _ id: String, as token: String) async throws -> Reply {
        try await send(.redemptions, as: token, try signed(product, id), type: "application/jose")
    }
}
