import Foundation
import HTTPSupport
import Hummingbird
import Merchant
import MerchantWire
import StoreWire

/// Lists of users, redeemed purchases, notifications and webhook events, a page at a time, and one transaction.
extension BackendController {
    func addLists(to router: Router<MerchantRequestContext>) {
        add(.users(), to: router) { [merchant] request, _ in
            let query = request.uri.queryParameters
            return try .json(
                try await merchant.users(
                    startingWith: query["start"].map(String.init) ?? "",
                    after: query["after"].map { UserID(String($0)) },
                    limit: try request.pageLimit()))
        }
        add(.userRedemptions(""), to: router) { [merchant] request, context in
            try .json(
                try await merchant.redemptions(
                    of: UserID(try context.parameter("user")), before: request.before, limit: try request.pageLimit()))
        }
        add(.adminRedemptions(), to: router) { [merchant] request, _ in
            try .json(try await merchant.redemptions(before: request.before, limit: try request.pageLimit()))
        }
        add(.adminNotifications(), to: router) { [merchant] request, _ in
            try .json(try await merchant.notifications(before: request.before, limit: try request.pageLimit()))
        }
        add(.transaction(""), to: router) { [merchant] request, context in
            let query = request.uri.queryParameters
            return try .json(
                try await merchant.transaction(
                    try context.parameter("transaction"), original: query["original"].map(String.init),
                    in: query["bundle"].map { BundleID(String($0)) }))
        }
        add(.webhookEvents(), to: router) { [merchant] request, _ in
            let state = try request.uri.queryParameters["state"].map { text in
                guard let state = WebhookState(rawValue: String(text)) else {
                    let states = WebhookState.allCases.map(\.rawValue).joined(separator: ", ")
                    throw MerchantError(.invalidRequest, "“state” must be one of \(states).")
                }
                return state
            }
            return try .json(
                try await merchant.webhookEvents(
                    state, about: request.uri.queryParameters["purchase"].map(String.init), before: request.before,
                    limit: try request.pageLimit()))
        }
        add(.webhookEvent(""), to: router) { [merchant] _, context in
            try .json(try await merchant.webhookEvent(try context.parameter("event")))
        }
        add(.resendWebhook(""), to: router) { [merchant] _, context in
            try await merchant.resendWebhook(try context.parameter("event"))
            return Response(status: .noContent)
        }
    }
}

extension Request {
    /// The end of the page before.
    fileprivate var before: String? { uri.queryParameters["before"].map(String.init) }

    /// The number of rows that the query asks for.
    /// - Throws: ``MerchantError`` `invalid_request`.
    fileprivate func pageLimit() throws -> Int {
        guard let text = uri.queryParameters["limit"] else { return MerchantLimits.usualPage }
        guard let limit = Int(text), (1...MerchantLimits.page).contains(limit) else {
            throw MerchantError(
                .invalidRequest, "“limit” must be a number from 1 to \(MerchantLimits.page).")
        }
        return limit
    }
}
