import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for the operator's actions on customers and their purchases.
extension ControlController {
    func addCustomerRoutes(to router: Router<StoreRequestContext>) {
        on(router, .refund(.sandbox, id: ""), refund)
        on(router, .reverseRefund(.sandbox, id: "")) { store, _, context in
            let charged = try await store.reverseRefund(try Self.transactionID(context))
            context.note?.say(after: "\(charged.amount.decimal) \(charged.amount.currency) charged again")
            return try .json(ControlAPI.Refunded(charged))
        }
        on(router, .declineRefund(.sandbox, id: "")) { store, _, context in
            try await store.declineRefund(try Self.transactionID(context))
            return Response(status: .noContent)
        }
        on(router, .promote(.sandbox), promote)
        on(router, .promotions(.sandbox, account: "")) { store, request, _ in
            let account = try await account(request.query(.account), at: store)
            return try .json(try await store.promotions(of: account).map(ControlAPI.WaitingPromotion.init))
        }
        on(router, .withdrawPromotion(.sandbox, id: UUID(), account: "")) { store, request, context in
            guard let id = context.parameter(.id).flatMap(UUID.init(uuidString:)) else {
                throw StoreError(.invalidRequest, "The path must contain a promotion's id, a UUID.")
            }
            try await store.takePromotion(id, of: try await account(request.query(.account), at: store))
            return Response(status: .noContent)
        }
        on(router, .priceIncreases(.sandbox), listPriceIncreases)
        on(router, .increasePrice(.sandbox), increasePrice)
        on(router, .answerPriceIncrease(.sandbox), answerPriceIncrease)
        on(router, .withdrawPriceIncrease(.sandbox, account: "", bundle: "", product: ""), withdrawPriceIncrease)
        on(router, .codes(.sandbox)) { store, _, _ in
            try Response.json(try await store.codes().map(ControlAPI.Code.init))
        }
        on(router, .withdrawCode(.sandbox, code: "")) { store, _, context in
            try await store.withdrawCode(context.text(.code))
            return Response(status: .noContent)
        }
        addOfferCodeRoutes(to: router)
        on(router, .addCode(.sandbox)) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.NewCode.self, upTo: Self.bodyLimit)
            let code = try await store.addCode(for: ProductID(new.productId), in: BundleID(new.bundleId))
            context.note?.say(subject: "\(new.productId) of \(new.bundleId)")
            return try Response.json(ControlAPI.Code(code), status: .created)
        }
    }

    @Sendable private func refund(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let id = try Self.transactionID(context)
        let refund = try await request.decodeJSON(ControlAPI.Refund.self, upTo: Self.bodyLimit)
        let name = refund.reason ?? RevocationReason.other.name
        guard let reason = RevocationReason.allCases.first(where: { $0.name == name }) else {
            throw StoreError(.invalidRequest, "“reason” must be “app” or “other”.")
        }
        guard let share = RefundShare(rawValue: refund.share ?? RefundShare.whole.rawValue) else {
            throw StoreError(.invalidRequest, "“share” must be “whole” or “prorated”.")
        }
        do {
            let refunded = try await store.refund(id, reason: reason, share: share)
            context.note?.say(after: "\(refunded.amount.decimal) \(refunded.amount.currency), \(name)")
            return try .json(ControlAPI.Refunded(refunded))
        } catch let error as StoreError where error.code == .unknownTransaction {
            // The purchases of items have their identifiers from the same series.
            let purchase = try await store.refundItem(id, reason: reason)
            context.note?.say(after: "\(purchase.price.decimal) \(purchase.price.currency), \(name)")
            return try .json(
                ControlAPI.Refunded(
                    amount: purchase.price.decimal, currency: purchase.price.currency, transactions: [],
                    item: purchase.item))
        }
    }

    @Sendable private func promote(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let promotion = try await request.decodeJSON(ControlAPI.Promotion.self, upTo: Self.bodyLimit)
        let account = try await account(promotion.account, at: store)
        let id = try await store.promote(
            ProductID(promotion.productId), in: BundleID(promotion.bundleId), to: account)
        context.note?.say(subject: "\(promotion.productId) to \(account.email)")
        return try .json(ControlAPI.Promoted(promotionId: id), status: .created)
    }

    @Sendable private func listPriceIncreases(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        guard let account = try await existing(request.query(.account), at: store) else {
            return try .json(
                try await store.priceIncreases().map { increase, email in
                    var increase = ControlAPI.PriceIncrease(increase)
                    increase.account = email
                    return increase
                })
        }
        return try .json(try await store.priceIncreases(of: account).map(ControlAPI.PriceIncrease.init))
    }

    @Sendable private func withdrawPriceIncrease(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let account = try await account(request.query(.account), at: store)
        guard let bundle = request.query(.bundle), let product = request.query(.product) else {
            throw StoreError(.invalidRequest, "The query must contain “bundle” and “product”.")
        }
        try await store.withdrawPriceIncrease(of: ProductID(product), in: BundleID(bundle), for: account)
        context.note?.say(subject: "\(product) for \(account.email)")
        return Response(status: .noContent)
    }

    @Sendable private func increasePrice(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let new = try await request.decodeJSON(ControlAPI.NewPriceIncrease.self, upTo: Self.bodyLimit)
        let account = try await account(new.account, at: store)
        guard let price = Money(decimal: new.price, currency: "XXX") else {
            throw StoreError(.invalidRequest, "“price” must be a decimal such as 9.99.")
        }
        let increase = try await store.increasePrice(
            of: ProductID(new.productId), in: BundleID(new.bundleId), to: price.milliunits, for: account)
        context.note?.say(
            subject: "\(new.productId) for \(account.email)", before: increase.oldPrice.decimal,
            after: increase.newPrice.decimal)
        return try .json(ControlAPI.PriceIncrease(increase), status: .created)
    }

    @Sendable private func answerPriceIncrease(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let answer = try await request.decodeJSON(ControlAPI.PriceAnswer.self, upTo: Self.bodyLimit)
        let account = try await account(answer.account, at: store)
        let increase = try await store.answerPriceIncrease(
            of: ProductID(answer.productId), in: BundleID(answer.bundleId), for: account, accepts: answer.accepts)
        context.note?.say(
            subject: "\(answer.productId) for \(account.email)", after: answer.accepts ? "accepted" : "declined")
        return try .json(ControlAPI.PriceIncrease(increase))
    }

    func account(_ email: String?, at store: Store) async throws -> Account {
        guard let account = try await existing(email, at: store) else {
            throw StoreError(.invalidRequest, "“account” is missing. Give the account's e-mail address.")
        }
        return account
    }

    /// Converts an order on the control port to a fault.
    /// - Throws: ``StoreError`` `invalidRequest` when the order does not have exactly one effect, or an unknown one.
    static func fault(_ order: ControlAPI.Fault, _ operation: Faults.Operation) throws -> Faults.Fault {
        if let cutAfter = order.cutAfter, order.status == nil, order.error == nil, order.lie == nil {
            var fault = Faults.Fault(cutAfter: cutAfter, remaining: order.count)
            fault.operation = operation
            return fault
        }
        if let name = order.lie, order.status == nil, order.error == nil, order.cutAfter == nil {
            guard let wrongContent = Faults.WrongContent(rawValue: name) else {
                let known = Faults.WrongContent.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“lie” must be one of \(known).")
            }
            var fault = Faults.Fault(wrongContent: wrongContent, remaining: order.count)
            fault.operation = operation
            return fault
        }
        switch (order.cutAfter == nil && order.lie == nil ? order.status : nil, order.error) {
        case (let status?, nil):
            return Faults.Fault(operation: operation, status: status, remaining: order.count)
        case (nil, let name?):
            guard let error = OrderedError(name: name) else {
                throw StoreError(
                    .invalidRequest,
                    "“error” must be a case of SKError.Code such as paymentNotAllowed, or one of "
                        + OrderedError.names.suffix(OrderedError.serverCodes.count).joined(separator: ", ") + ".")
            }
            return Faults.Fault(operation: operation, error: error, remaining: order.count)
        default:
            throw StoreError(
                .invalidRequest, "A fault must have exactly one of “status”, “error”, “cutAfter” and “lie”.")
        }
    }
}

extension RevocationReason {
    /// The reason's name on the control port.
    var name: String {
        switch self {
        case .other: "other"
        case .app: "app"
        }
    }
}

extension ControlAPI.Refunded {
    init(_ refunded: RefundedPurchase) {
        self.init(
            amount: refunded.amount.decimal, currency: refunded.amount.currency,
            transactions: refunded.transactions.map(ControlAPI.Transaction.init))
    }
}

extension ControlAPI.PriceIncrease {
    init(_ increase: PriceIncrease) {
        self.init(
            accountId: increase.accountID.rawValue, bundleId: increase.bundleID.rawValue,
            productId: increase.productID.rawValue, oldPrice: increase.oldPrice.decimal,
            newPrice: increase.newPrice.decimal, currency: increase.newPrice.currency,
            askedDate: ControlAPI.text(increase.askedAt),
            answer: increase.answer?.rawValue, answeredDate: increase.answeredAt.map(ControlAPI.text))
    }
}

extension ControlAPI.Code {
    init(_ code: RedemptionCode) {
        self.init(
            code: code.code, bundleId: code.bundleID.rawValue, productId: code.productID.rawValue,
            createdDate: ControlAPI.text(code.createdAt), accountId: code.accountID?.rawValue,
            transactionId: code.transactionID?.description)
    }
}
