import BlobStorage
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire
import NIOCore

/// Puts content in: the body is the file, and becomes the item's next version.
struct ContentUploadController: Sendable {
    let merchant: Merchant
    let authentication: Authentication
    /// Where a file is put together before it is kept.
    let uploads: UploadFolder
    /// How slowly a client may send.
    let patience: StallWatch.Rule

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.add(.adminContent, list)
        router.add(.putContent(""), upload)
    }

    @Sendable private func list(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try await authentication.require(.adminContent, request)
        return try .json(try await merchant.contentList())
    }

    @Sendable private func upload(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        try await authentication.require(.putContent(""), request)
        let item = try context.item()
        let mediaType = request.headers[.contentType] ?? "application/octet-stream"
        let file = uploads.url.appendingPathComponent("\(UUID().uuidString).new")
        defer { try? FileManager.default.removeItem(at: file) }
        let (digest, size) = try await receive(request, into: file, context.channel)
        merchant.onStep?(.uploadReceived)
        let version = try await merchant.addContent(
            item, file: file, digest: digest, size: size,
            mediaType: String(mediaType.split(separator: ";").first ?? "application/octet-stream"))
        return try .json(version, status: .created)
    }

    private func receive(
        _ request: Request, into url: URL, _ channel: any Channel
    ) async throws -> (BlobDigest, Int64) {
        let tooLarge = MerchantError(.tooLarge, "A file has at most \(MerchantLimits.content) bytes.")
        if let announced = request.headers[.contentLength].flatMap({ Int64($0) }), announced > MerchantLimits.content {
            throw tooLarge
        }
        let file = try await StagedFile.open(url)
        let turn = file.begin().turn
        try await StallWatch.during(channel, .incoming, patience) { watch in
            for try await piece in request.body {
                guard file.length + Int64(piece.readableBytes) <= MerchantLimits.content else { throw tooLarge }
                _ = try await file.append(piece.readableBytesView, turn: turn)
                watch.progress(piece.readableBytes)
            }
        }
        guard file.length > 0 else { throw MerchantError(.invalidRequest, "The body is the file, and it is empty.") }
        return (file.digest, file.length)
    }
}
