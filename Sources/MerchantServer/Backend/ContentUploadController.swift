import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire

/// Puts content in: the body is the file, and becomes the item's next version.
struct ContentUploadController: Sendable {
    let merchant: Merchant
    let authentication: Authentication
    /// Where a file is put together before it is kept.
    let uploads: StagingFolder
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
        let intake = ContentIntake(merchant: merchant, uploads: uploads)
        if let announced = request.headers[.contentLength].flatMap({ Int64($0) }) { try intake.check(size: announced) }
        let version = try await intake.keep(
            item,
            mediaType: (mediaType.split(separator: ";").first ?? "application/octet-stream")
                .trimmingCharacters(in: .whitespaces)
        ) { file in
            try await request.withPieces(on: context.channel, patience) { pieces in
                for try await piece in pieces { try await file.append(piece) }
            }
        }
        return try .json(version, status: .created)
    }
}
