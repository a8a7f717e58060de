import Foundation
import StoreWire
import Testing

@testable import Store

/// Requests for extensions.
extension APIScene {
    /// A request's body. The values are JSON.
    /// - Parameter more: further members, with a comma before each.
    static func body(
        days: String = "10", reason: String = "3", id: String = "\"first\"", _ more: String = ""
    ) -> [UInt8] {
        Array(#"{"extendByDays": \#(days), "extendReasonCode": \#(reason), "requestIdentifier": \#(id)\#(more)}"#.utf8)
    }

    /// A body for all subscriptions of a product.
    static func mass(
        _ product: String = "\"gym.monthly\"", id: String = "\"first\"", storefronts: String? = nil
    ) -> [UInt8] {
        body(
            id: id, ", \"productId\": \(product)" + (storefronts.map { ", \"storefrontCountryCodes\": \($0)" } ?? ""))
    }

    /// A request that the store accepts, for a product that nobody has.
    static func request(of productID: ProductID) -> MassExtensionRequest {
        MassExtensionRequest(
            bundleID: TestStore.bundleID, productID: productID,
            terms: ExtensionTerms(days: 1, reason: 0, identifier: ExtensionIdentifier(text: "a", key: "a")),
            storefronts: nil, acceptedAt: TestClock.start)
    }

    func extend(_ id: TransactionID, _ body: [UInt8] = APIScene.body()) async throws -> [UInt8] {
        try await api.extend(id.description, body, of: TestStore.bundleID)
    }

    func extendAll(_ body: [UInt8] = APIScene.mass()) async throws -> [UInt8] {
        try await api.extendAll(body, of: TestStore.bundleID)
    }

    func status(_ request: String = "first") async throws -> [String: Any] {
        try object(try await api.extensionStatus(of: "gym.monthly", request: request, of: TestStore.bundleID))
    }

    /// The members of the summaries in the feed, in their order.
    func summaries() async throws -> [[String: Any]] {
        try await store.newsFeed().filter { $0.news.subtype == .summary }.map { item in
            #expect(item.news.type == .massExtension && item.originalTransactionID.rawValue == 0)
            let json = try object(Array(try #require(item.snapshot).utf8))
            return try #require(json["summary"] as? [String: Any])
        }
    }

    /// How often a subscription was extended.
    func extensions(_ original: TransactionID) async throws -> Int {
        try await news(original).count(where: { $0 == "RENEWAL_EXTENDED" })
    }

    /// The date some days later, by the clocks of Los Angeles.
    static func date(_ days: Int, after date: Int64) -> Int64 {
        SubscriptionPeriod(unit: .day, count: days).end(from: date)
    }
}
