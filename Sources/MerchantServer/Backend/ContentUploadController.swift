import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire

/// Serves content uploads: the body is the file, and becomes the item's next version.
struct ContentUploadController: Sendable {
    let merchant: Merchant
    let authentication: Authentication
    /// The folder in which a file is assembled before it is stored.
    let uploads: StagingFolder
    /// The lowest rate at which a client may upload.
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
