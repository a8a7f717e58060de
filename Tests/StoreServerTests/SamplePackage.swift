import ControlWire
import Crypto
import Foundation
import StoreWire
import TestSupport

@testable import StoreServer

/// A package of hosted content for tests.
struct SamplePackage {
    let product: String
    let bytes: [UInt8]

    init(product: String, bytes: [UInt8]) {
        self.product = product
        self.bytes = bytes
    }

    init(_ product: String, _ version: String, size: Int) throws {
        self.product = product
        bytes = try SampleContent.package(product, version, size: size)
    }

    var sha256: String { SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    var base64: String { Data(SHA256.hash(data: bytes)).base64EncodedString() }
}

/// What the developer, the reviewer and a device do with hosted content.
extension RunningServer {
    func host(_ product: String, _ isOn: Bool = true) async throws {
        let body = #"{"bundleId":"\#(Self.bundleID)","productId":"\#(product)","hosted":\#(isOn)}"#
        let reply = try await control("PUT", "/control/v1/content/hosting", body)
        guard reply.status == 200 else { throw UnexpectedReply(reply) }
    }

    func begin(_ package: SamplePackage) async throws -> ControlAPI.ContentUpload {
        let new = ControlAPI.NewContentUpload(
            bundleId: Self.bundleID.rawValue, productId: package.product, length: Int64(package.bytes.count),
            sha256: package.sha256)
        let reply = try await control(
            "POST", "/control/v1/content/uploads", String(decoding: try JSONEncoder().encode(new), as: UTF8.self))
        guard reply.status == 201 else { throw UnexpectedReply(reply) }
        return try reply.decoded(ControlAPI.ContentUpload.self)
    }

    func append(_ bytes: some Sequence<UInt8>, to upload: ControlAPI.ContentUpload, at offset: Int) async throws
        -> Reply
    {
        try await send(
            "PATCH", "\(addresses.control)/control/v1/content/uploads/\(upload.uploadId)?offset=\(offset)",
            headers: [("Content-Type", "application/octet-stream")], body: Array(bytes))
    }

    func complete(_ upload: ControlAPI.ContentUpload) async throws -> Reply {
        try await control("POST", "/control/v1/content/uploads/\(upload.uploadId)/complete", "{}")
    }

    func upload(_ package: SamplePackage) async throws -> ControlAPI.ContentVersion {
        let upload = try await begin(package)
        let sent = try await append(package.bytes[Int(upload.offset)...], to: upload, at: Int(upload.offset))
        guard sent.status == 200 else { throw UnexpectedReply(sent) }
        let completed = try await complete(upload)
        guard completed.status == 200 else { throw UnexpectedReply(completed) }
        return try completed.decoded(ControlAPI.ContentVersion.self)
    }

    func step(_ version: ControlAPI.ContentVersion, _ step: String, _ body: String = "{}") async throws
        -> ControlAPI.ContentVersion
    {
        let reply = try await control("POST", "/control/v1/content/versions/\(version.versionId)/\(step)", body)
        guard reply.status == 200 else { throw UnexpectedReply(reply) }
        return try reply.decoded(ControlAPI.ContentVersion.self)
    }

    func hosted() async throws -> [ControlAPI.HostedProduct] {
        try await control("GET", "/control/v1/content").decoded([ControlAPI.HostedProduct].self)
    }

    func download(
        _ grant: ContentGrant, _ environment: StoreEnvironment = .sandbox, headers: [(String, String)] = []
    ) async throws -> Reply {
        try await send("GET", addresses.store(environment) + grant.url, headers: headers)
    }

    /// Version 1.0 of the hats, hosted, bought in the sandbox and granted.
    func boughtContent() async throws -> (ContentGrant, TransactionID, token: String) {
        try await host("hats")
        _ = try await upload(try SamplePackage("hats", "1.0", size: 20_000))
        let token = try await signIn().token
        let purchase = try await device(.purchases, token: token, body: self.purchase("hats"))
            .decoded(PurchaseResponse.self)
        guard let id = purchase.transaction?.transactionID else { throw NeverReady() }
        let request = ContentRequest(bundleID: Self.bundleID, version: nil)
        return (try await device(.content(id), token: token, body: request).decoded(ContentGrant.self), id, token)
    }

    struct UnexpectedReply: Error, CustomStringConvertible {
        let description: String

        init(_ reply: Reply) { description = "HTTP \(reply.status): \(reply.text)" }
    }
}
