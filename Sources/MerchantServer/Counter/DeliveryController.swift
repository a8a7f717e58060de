import BlobStorage
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire
import NIOCore

/// Delivers content to its owner: to a user who redeemed it, or for the evidence in the request.
struct DeliveryController: Sendable {
    let merchant: Merchant
    let authentication: Authentication
    /// The lowest rate at which a client may download.
    let patience: StallWatch.Rule

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.add(.content(""), describe)
        router.add(.contentFile(""), deliver)
        router.on(RouterPath(MerchantRoute.contentFile("").template), method: .head, use: deliver)
        router.add(.contentFileByReceipt(""), deliverAgainstEvidence)
    }

    @Sendable private func describe(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let user = try authentication.user(of: request)
        return try .json(try await merchant.content(try context.item(), for: user))
    }

    @Sendable private func deliver(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let user = try authentication.user(of: request)
        return try await response(
            to: request, with: try await merchant.content(try context.item(), for: user), context)
    }

    @Sendable private func deliverAgainstEvidence(
        _ request: Request, _ context: MerchantRequestContext
    ) async throws -> Response {
        let user = try authentication.user(of: request)
        let version = try await merchant.content(
            try context.item(), for: user, against: try await request.evidence())
        return try await response(to: request, with: version, context)
    }

    private func response(
        to request: Request, with version: ContentVersion, _ context: MerchantRequestContext
    ) async throws -> Response {
        guard let digest = BlobDigest(version.digest) else { throw MerchantError(.unknownContent) }
        let entityTag = "\"\(digest)\""
        var headers: HTTPFields = [
            .contentType: version.mediaType, .acceptRanges: "bytes", .eTag: entityTag,
            .cacheControl: "private, no-cache",
        ]
        headers[.reprDigest] = "sha-256=:\(digest.base64):"
        if request.method != .post, request.isFresh(entityTag) {
            headers[.contentType] = nil
            return Response(status: .notModified, headers: headers)
        }
        var range = 0..<version.size
        var status = HTTPResponse.Status.ok
        switch ByteRange(of: request, entityTag: entityTag, length: version.size) {
        case .whole: break
        case .part(let part):
            (range, status) = (part, .partialContent)
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(version.size)"
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(version.size)"
            headers[.contentType] = nil
            headers[.requestID] = context.requestID
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
        let count = range.upperBound - range.lowerBound
        guard request.method != .head else {
            headers[.contentLength] = String(count)
            return Response(status: status, headers: headers)
        }
        // A bucket does not serve an empty range.
        let bytes = count > 0 ? try await merchant.blobs.bytes(of: digest, in: range) : nil
        return Response(
            status: status, headers: headers,
            body: ResponseBody(contentLength: Int(count)) { [onStep = merchant.onStep, patience] writer in
                defer { onStep?(.deliveryEnded) }
                if let bytes {
                    try await StallWatch.during(context.channel, .outgoing, patience) { watch in
                        for try await piece in bytes {
                            try await writer.write(piece)
                            try await watch.sent(piece.readableBytes, on: context.channel)
                            onStep?(.delivering)
                        }
                    }
                }
                try await writer.finish(nil)
            })
    }
}

extension MerchantRequestContext {
    /// The content item that the path names.
    func item() throws -> ContentItemID { ContentItemID(try parameter("item")) }

    /// The value of a path parameter.
    /// - Throws: ``MerchantError`` `not_found` when it is empty or longer than 1,024 bytes.
    func parameter(_ name: String) throws -> String {
        guard let value = parameters.get(name), !value.isEmpty, value.utf8.count <= 1_024 else {
            throw MerchantError(.notFound, "There is nothing at this address.")
        }
        return value.removingPercentEncoding ?? value
    }
}

extension HTTPField.Name {
    /// The `Repr-Digest` field (RFC 9530).
    static let reprDigest = HTTPField.Name("repr-digest") ?? .eTag
}
