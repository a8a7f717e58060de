import ControlWire
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for offer codes. Codes are in no path, so that logs do not contain them.
extension ControlController {
    func addOfferCodeRoutes(to router: Router<StoreRequestContext>) {
        on(router, .offerCodes(.sandbox)) { store, _, _ in
            try .json(try await store.offerCodeBatches().map(ControlAPI.OfferCodeBatch.init))
        }
        on(router, .createOfferCodes(.sandbox)) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.NewOfferCodes.self, upTo: Self.bodyLimit)
            let expiresAt = try new.expiresDate.map { text in
                guard let date = ControlAPI.milliseconds(text) else {
                    throw StoreError(
                        .invalidRequest, "“expiresDate” must be a date in ISO 8601, such as 2026-01-31T12:00:00Z.")
                }
                return date
            }
            let batch = try await store.createOfferCodes(
                NewOfferCodes(
                    bundleID: BundleID(new.bundleId), productID: ProductID(new.productId), offer: new.offer,
                    customCode: new.customCode, count: new.count, expiresAt: expiresAt))
            context.note?.say(
                subject: "\(new.offer) of \(new.productId)",
                after: batch.customCode == nil ? "\(batch.total) one-time codes" : "a custom code for \(batch.total)")
            return try .json(ControlAPI.OfferCodeBatch(batch), status: .created)
        }
        on(router, .offerCodeBatch(.sandbox, id: "")) { store, _, context in
            try .json(ControlAPI.OfferCodeBatch(try await store.offerCodeBatch(try Self.batchID(context))))
        }
        on(router, .offerCodesOfBatch(.sandbox, id: "")) { store, request, context in
            let page = try await store.offerCodes(
                of: try Self.batchID(context), after: request.query(.after),
                limit: try request.limit(most: 1000, usual: 1000))
            return try .json(
                ControlAPI.Page(
                    rows: page.codes.map { ControlAPI.OfferCode(code: $0.code, accountId: $0.accountID?.rawValue) },
                    next: page.hasMore ? page.codes.last?.code : nil))
        }
        on(router, .deactivateOfferCodes(.sandbox, id: "")) { store, _, context in
            try await store.deactivateOfferCodes(try Self.batchID(context))
            context.note?.say(after: "inactive")
            return Response(status: .noContent)
        }
    }

    private static func batchID(_ context: StoreRequestContext) throws -> String {
        try context.parameters.require("id").lowercased()
    }
}

extension ControlAPI.OfferCodeBatch {
    init(_ batch: OfferCodeBatch) {
        self.init(
            batchId: batch.batchID, bundleId: batch.bundleID.rawValue, productId: batch.productID.rawValue,
            offer: batch.offer, customCode: batch.customCode, count: batch.total, redeemed: batch.redeemed,
            createdDate: ControlAPI.text(batch.createdAt), expiresDate: batch.expiresAt.map { ControlAPI.text($0) },
            isActive: batch.isActive)
    }
}
