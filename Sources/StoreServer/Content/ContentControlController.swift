import BlobStorage
import ControlWire
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import StoreWire

/// Serves the developer's uploads and the reviewer's decisions about hosted content. These routes are on the control
/// port only.
struct ContentControlController: Sendable {
    let desk: ContentDesk
    /// The lowest rate at which a client may upload.
    let patience: StallWatch.Rule
    /// The processes of the store, which have bytes of uploads of their own.
    var processes = OtherProcess(nil)
    private var library: ContentLibrary { desk.library }

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.content(), use: list)
        router.on(.setHosting, use: setHosting)
        router.on(.setContentRule, use: setRule)
        router.on(.beginUpload, use: beginUpload)
        router.on(.upload(UUID()), use: showUpload)
        router.on(.appendToUpload(UUID(), offset: 0), use: append)
        router.on(.cancelUpload(UUID()), use: cancelUpload)
        router.on(.completeUpload(UUID()), use: complete)
        let steps: [(ControlRoute.ContentStepName, ContentStep)] = [
            (.submit, .submit), (.review, .beginReview), (.approve, .approve), (.remove, .remove),
        ]
        for (name, step) in steps {
            router.on(.step(name, version: UUID())) { _, context in try await take(step, context) }
        }
        router.on(.step(.reject, version: UUID())) { request, context in
            let rejection = try await request.decodeJSON(ControlAPI.Rejection.self, upTo: ControlController.bodyLimit)
            return try await take(.reject(reason: rejection.reason), context)
        }
    }

    @Sendable private func list(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try .json(
            try await library.products(
                of: request.query(.bundle).map { BundleID($0) }, request.query(.product).map { ProductID($0) }
            ).map(ControlAPI.HostedProduct.init))
    }

    @Sendable private func setHosting(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let hosting = try await request.decodeJSON(ControlAPI.Hosting.self, upTo: ControlController.bodyLimit)
        let product = ContentProduct(ProductID(hosting.productId), of: BundleID(hosting.bundleId))
        try await desk.setHosting(
            hosting.hosted, of: product, by: request.operatorName ?? ManagedCatalog.usualAuthor)
        let shown = try await library.products(of: product.bundleID, product.productID)
        return try .json(shown.map(ControlAPI.HostedProduct.init))
    }

    @Sendable private func setRule(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let rule = try await request.decodeJSON(ControlAPI.ContentRule.self, upTo: ControlController.bodyLimit)
        guard let review = ContentReview(rawValue: rule.review) else {
            throw StoreError(.invalidRequest, "“review” must be “manual” or “automatic”.")
        }
        try await desk.setReview(review, of: BundleID(rule.bundleId), rule.productId.map { ProductID($0) })
        return Response(status: .noContent)
    }

    // MARK: Uploads

    @Sendable private func beginUpload(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let new = try await request.decodeJSON(ControlAPI.NewContentUpload.self, upTo: ControlController.bodyLimit)
        guard let digest = BlobDigest(new.sha256) else {
            throw StoreError(.invalidRequest, "“sha256” must be 64 lower-case hexadecimal digits.")
        }
        let upload = try await library.beginUpload(
            of: ContentProduct(ProductID(new.productId), of: BundleID(new.bundleId)), length: new.length,
            digest: digest, at: desk.now)
        return try .json(ControlAPI.ContentUpload(upload), status: .created)
    }

    @Sendable private func showUpload(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let id = try Self.id(context)
        return try .json(ControlAPI.ContentUpload(try await here { try await library.upload(id) }))
    }

    @Sendable private func append(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        guard let offset = request.query(.offset).flatMap({ Int64($0) }), offset >= 0 else {
            throw StoreError(.invalidRequest, "The query must contain “offset”, the number of bytes that have arrived.")
        }
        do {
            let upload = try await here {
                try await request.withPieces(on: context.channel, patience) { pieces in
                    try await library.append(pieces, to: try Self.id(context), offset: offset, at: desk.now)
                }
            }
            return try .json(ControlAPI.ContentUpload(upload))
        } catch let error as WrongOffset {
            return try .json(
                ControlAPI.WrongOffset(
                    code: WireError.Code.wrongOffset.rawValue,
                    message: "\(error.offset) bytes have arrived. Continue from that offset.",
                    requestId: context.requestID,
                    offset: error.offset), status: .conflict)
        }
    }

    @Sendable private func cancelUpload(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try await library.cancelUpload(try Self.id(context))
        return Response(status: .noContent)
    }

    @Sendable private func complete(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let id = try Self.id(context)
        let desk = desk
        // A task of its own, which continues when the developer's connection breaks.
        let outcome = try await here {
            try await Task { try await desk.library.complete(id, at: { desk.now }) }.value
        }
        switch outcome {
        case .kept(let version): return try .json(ControlAPI.ContentVersion(version))
        case .refused(let findings):
            let count = findings.count == 1 ? "1 finding" : "\(findings.count) findings"
            return try .json(
                ControlAPI.RefusedContent(
                    code: WireError.Code.invalidContent.rawValue,
                    message: "The package is invalid: \(count).", requestId: context.requestID,
                    findings: findings.map(ControlAPI.Finding.init)), status: .unprocessableContent)
        }
    }

    /// Runs a request for an upload's bytes.
    /// - Throws: ``HTTPProblem`` 421 when another process has them.
    private func here<T>(_ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch let elsewhere as UploadElsewhere {
            try processes.check(place: elsewhere.place)
            // That process does not run.
            throw UploadElsewhere.refusal
        }
    }

    private func take(_ step: ContentStep, _ context: StoreRequestContext) async throws -> Response {
        try .json(
            ControlAPI.ContentVersion(try await library.take(step, with: try Self.id(context), at: desk.now)))
    }

    private static func id(_ context: StoreRequestContext) throws -> UUID {
        guard let id = context.parameter(.id).flatMap(UUID.init(uuidString:)) else {
            throw StoreError(.invalidRequest, "The id must be a UUID.")
        }
        return id
    }
}
