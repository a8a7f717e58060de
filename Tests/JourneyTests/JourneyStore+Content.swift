import ControlWire
import Crypto
import Foundation
import StoreServer
import TestSupport
import Testing

/// The developer's side of hosted content.
extension JourneyStore {
    /// Bytes of the chapter in each package.
    static let chapterSize = 300_000

    /// Builds a package of the product and uploads it.
    @discardableResult
    nonisolated func publish(_ product: String, _ version: String) async throws -> ControlAPI.ContentVersion {
        let bytes = try SampleContent.package(product, version, size: Self.chapterSize)
        let digest = SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let base = "\(addresses.control)/control/v1/content"
        let new = ControlAPI.NewContentUpload(
            bundleId: Self.bundleID.rawValue, productId: product, length: Int64(bytes.count), sha256: digest)
        let begun = try await HTTPReply("POST", "\(base)/uploads", body: Array(try JSONEncoder().encode(new)))
        let upload = try JSONDecoder().decode(ControlAPI.ContentUpload.self, from: Data(begun.body))
        let sent = try await HTTPReply("PATCH", "\(base)/uploads/\(upload.uploadId)?offset=0", body: bytes)
        try #require(sent.status == 200, "\(String(decoding: sent.body, as: UTF8.self))")
        let done = try await HTTPReply("POST", "\(base)/uploads/\(upload.uploadId)/complete", body: Array("{}".utf8))
        try #require(done.status == 200, "\(String(decoding: done.body, as: UTF8.self))")
        return try JSONDecoder().decode(ControlAPI.ContentVersion.self, from: Data(done.body))
    }

    /// Turns hosting on.
    nonisolated func host(_ product: String) async throws {
        let body = #"{"bundleId":"\#(Self.bundleID)","productId":"\#(product)","hosted":true}"#
        let url = "\(addresses.control)/control/v1/content/hosting"
        try #require(try await HTTPReply("PUT", url, body: Array(body.utf8)).status == 200)
    }
}
