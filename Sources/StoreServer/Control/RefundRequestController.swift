import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// Serves the operator of customers' requests for refunds: makes them in a customer's name, lists them, decides them,
/// and sets the rule for those that nobody decides.
struct RefundRequestController: Sendable {
    let stores: [StoreEnvironment: Store]

    private static let largestBody = 4 << 10

    private typealias Handler = @Sendable (Store, Request, StoreRequestContext) async throws -> Response

    func addRoutes(to router: Router<StoreRequestContext>) {
        on(router, .list(.sandbox)) { store, request, _ in
            let page = try await store.refundRequests(try Self.filter(request))
            let addresses = try await store.accounts.addresses(of: page.rows.map(\.accountID))
            let prices = try await store.prices(of: page.rows.map(\.transactionID))
            return try .json(
                ControlAPI.Page(
                    rows: page.rows.map {
                        ControlAPI.RefundRequest(
                            $0, email: addresses[$0.accountID], price: prices[$0.transactionID])
                    }, next: page.next?.description))
        }
        on(router, .make(.sandbox)) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.NewRefundRequest.self, upTo: Self.largestBody)
            guard let transactionID = TransactionID(new.transactionId) else {
                throw StoreError(.invalidRequest, "“transactionId” must be a transaction id.")
            }
            guard let reason = RefundReason(rawValue: new.reason ?? RefundReason.other.rawValue) else {
                let known = RefundReason.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“reason” must be one of \(known).")
            }
            let made = try await store.requestRefund(of: transactionID, reason: reason)
            context.note?.say(subject: transactionID.description, after: "refund requested, \(reason.rawValue)")
            return try .json(try await Self.described(made, at: store), status: .created)
        }
        on(router, .request(.sandbox, id: "")) { store, _, context in
            try .json(try await Self.described(try await store.refundRequest(try Self.id(context)), at: store))
        }
        on(router, .approve(.sandbox, id: "")) { store, request, context in
            let approval = try await request.decodeJSON(ControlAPI.RefundApproval.self, upTo: Self.largestBody)
            guard let share = RefundShare(rawValue: approval.share ?? RefundShare.whole.rawValue) else {
                throw StoreError(.invalidRequest, "“share” must be “whole” or “prorated”.")
            }
            return try await Self.decide(.approve(share), at: store, context)
        }
        on(router, .decline(.sandbox, id: "")) { store, _, context in
            try await Self.decide(.decline, at: store, context)
        }
        on(router, .rule(.sandbox)) { store, _, _ in
            try .json(ControlAPI.RefundRule(rule: try await store.refundRule().rawValue))
        }
        on(router, .setRule(.sandbox)) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.RefundRule.self, upTo: Self.largestBody)
            guard let rule = RefundRule(rawValue: new.rule) else {
                let known = RefundRule.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“rule” must be one of \(known).")
            }
            let before = try await store.refundRule()
            try await store.setRefundRule(rule)
            context.note?.say(before: before.rawValue, after: rule.rawValue)
            return try .json(ControlAPI.RefundRule(rule: rule.rawValue))
        }
    }

    private func on(
        _ router: Router<StoreRequestContext>, _ route: RefundRequestRoute, _ handler: @escaping Handler
    ) {
        router.on(.refundRequests(route), of: stores, use: handler)
    }

    private static func decide(
        _ decision: RefundDecision, at store: Store, _ context: StoreRequestContext
    ) async throws -> Response {
        let decided = try await store.decideRefund(try id(context), decision)
        context.note?.say(subject: decided.transactionID.description, after: "refund \(decided.state.rawValue)")
        return try .json(try await described(decided, at: store))
    }

    private static func described(
        _ request: RefundRequest, at store: Store
    ) async throws -> ControlAPI.RefundRequest {
        let addresses = try await store.accounts.addresses(of: [request.accountID])
        let prices = try await store.prices(of: [request.transactionID])
        return ControlAPI.RefundRequest(
            request, email: addresses[request.accountID], price: prices[request.transactionID])
    }

    private static func id(_ context: StoreRequestContext) throws -> TransactionID {
        guard let id = context.parameter(.id).flatMap({ TransactionID($0) }) else {
            throw StoreError(.invalidRequest, "The path must contain the id of a request for a refund.")
        }
        return id
    }

    private static func filter(_ request: Request) throws -> RefundRequestFilter {
        var filter = RefundRequestFilter(
            bundleID: request.query(.bundle).map { BundleID($0) },
            limit: try request.limit(most: RefundRequestFilter.most, usual: 50))
        if let bundleID = filter.bundleID, !bundleID.isPlain {
            throw StoreError(.invalidRequest, "“bundle” must be an app's bundle identifier.")
        }
        if let text = request.query(.state) {
            guard let state = RefundRequest.State(rawValue: text) else {
                let known = RefundRequest.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“state” must be one of \(known).")
            }
            filter.state = state
        }
        if let text = request.query(.before) {
            guard let before = TransactionID(text) else {
                throw StoreError(.invalidRequest, "“before” must be the “next” of the list before.")
            }
            filter.before = before
        }
        return filter
    }
}

extension ControlAPI.RefundRequest {
    init(_ request: RefundRequest, email: String?, price: Money?) {
        self.init(
            requestId: request.requestID.description, transactionId: request.transactionID.description, email: email,
            bundleId: request.bundleID.rawValue, productId: request.productID.rawValue, price: price?.decimal,
            currency: price?.currency, reason: request.reason.rawValue,
            requestedDate: ControlAPI.text(request.requestedAt), deadline: ControlAPI.text(request.deadline),
            state: request.state.rawValue,
            decidedDate: request.decidedAt.map { ControlAPI.text($0) },
            consumptionVersion: request.consumption?.version,
            consumption: request.consumption.flatMap {
                try? JSONDecoder().decode(ControlAPI.CatalogValue.self, from: Data($0.json.utf8))
            })
    }
}
