import Database
import Foundation
import StoreWire

/// An order for codes of an offer.
public struct NewOfferCodes: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The subscription of the offer.
    public var productID: ProductID
    /// The reference name of the offer.
    public var offer: String
    /// The custom code; nil for a batch of one-time codes.
    public var customCode: String?
    /// The number of one-time codes, or how often the custom code can be redeemed.
    public var count: Int
    /// When the codes expire, in milliseconds since 1970 by the store's clock; nil for never.
    public var expiresAt: Int64?

    /// Creates an order.
    public init(
        bundleID: BundleID, productID: ProductID, offer: String, customCode: String? = nil, count: Int,
        expiresAt: Int64? = nil
    ) {
        self.bundleID = bundleID
        self.productID = productID
        self.offer = offer
        self.customCode = customCode
        self.count = count
        self.expiresAt = expiresAt
    }
}

/// The operator's side of offer codes.
extension Store {
    /// The sizes of a batch in production (Apple's limits). The sandbox also makes smaller ones.
    static let (leastCodes, mostCodes) = (500, 25_000)
    /// The most codes of an app in a quarter of a year: in production, and in the sandbox.
    static let (mostCodesInQuarter, mostSandboxCodesInQuarter) = (1_000_000, 10_000)
    /// The characters of a one-time code, 90 bits.
    static let offerCodeLength = 18

    /// Creates a batch of one-time codes, or a custom code, for an offer of the catalog.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, `invalid_offer_identifier`, `invalid_request`
    ///   for a number, a code or a date that is out of range, or `wrong_state` when the custom code exists;
    ///   ``DatabaseError``.
    public func createOfferCodes(_ order: NewOfferCodes) async throws -> OfferCodeBatch {
        let now = clock.milliseconds
        try checkOffer(of: order)
        let custom = try customCode(of: order)
        try checkCount(of: order)
        guard order.expiresAt.map({ $0 > now }) ?? true else {
            throw StoreError(.invalidRequest, "The codes would expire in the past.")
        }
        let batch = OfferCodeBatch(
            batchID: UUID(timeOrdered: Date(milliseconds: now), chance: UUID()).uuidString.lowercased(),
            bundleID: order.bundleID,
            productID: order.productID, offer: order.offer, customCode: custom, total: order.count, redeemed: 0,
            createdAt: now, expiresAt: order.expiresAt, isActive: true)
        let codes = custom == nil ? Self.newOfferCodes(order.count) : []
        let most = environment == .production ? Self.mostCodesInQuarter : Self.mostSandboxCodesInQuarter
        try await database.write { connection in
            let made = try OfferCodeBatches.count(
                in: batch.bundleID, during: Self.quarter(of: now), connection)
            guard made + batch.total <= most else {
                throw StoreError(
                    .invalidRequest, "An app can have \(most) codes in a quarter of a year, and this one has \(made).")
            }
            if let custom {
                guard try OfferCodeBatches.find(custom: custom, in: batch.bundleID, connection) == nil,
                    try OfferCodes.find(custom, connection) == nil,
                    try RedemptionCode.find(custom, connection) == nil
                else { throw StoreError(.wrongState, "This code exists already. Choose another one.") }
            }
            try OfferCodeBatches.insert(batch, connection)
            try OfferCodes.insert(codes, of: batch.batchID, connection)
        }
        changed(.offers)
        return batch
    }

    private func checkOffer(of order: NewOfferCodes) throws {
        guard let app = catalog.value.app(order.bundleID) else {
            throw StoreError(
                .unknownApp,
                "The catalog has no app with the bundle identifier \(order.bundleID.rawValue.prefix(255)).")
        }
        guard let subscription = app.product(order.productID)?.subscription else {
            throw StoreError(.productNotAvailable, "The app has no subscription with this identifier.")
        }
        guard subscription.offer(NamedOffer(.code, order.offer)) != nil else {
            let names = subscription.codeOffers.compactMap(\.codeName).prefix(10).joined(separator: ", ")
            throw StoreError(
                .invalidOfferIdentifier,
                "The subscription has no offer with codes of this name. It has \(names.isEmpty ? "none" : names).")
        }
        guard subscription.codeOffers.count(where: { $0.codeName?.hasSameBytes(as: order.offer) ?? false }) == 1 else {
            throw StoreError(
                .invalidOfferIdentifier, "Several offers of the subscription have this name. Rename the others first.")
        }
    }

    private func customCode(of order: NewOfferCodes) throws -> String? {
        guard let text = order.customCode else { return nil }
        guard let code = Self.normalized(text), code.utf8.count == text.utf8.count else {
            throw StoreError(
                .invalidRequest, "A custom code has 1 to \(StoreLimits.redemptionCode) letters of A to Z and digits.")
        }
        return code
    }

    private func checkCount(of order: NewOfferCodes) throws {
        let range =
            order.customCode == nil
            ? (environment == .production ? Self.leastCodes : 1)...Self.mostCodes : 1...Self.mostCodesInQuarter
        guard range.contains(order.count) else {
            throw StoreError(
                .invalidRequest,
                order.customCode == nil
                    ? "A batch has \(range.lowerBound) to \(range.upperBound) codes."
                    : "A custom code can be redeemed 1 to \(range.upperBound) times.")
        }
    }

    /// Returns the newest 1,000 batches and custom codes, the newest first.
    /// - Throws: ``DatabaseError``.
    public func offerCodeBatches() async throws -> [OfferCodeBatch] {
        try await database.read { try OfferCodeBatches.newest(limit: 1000, $0) }
    }

    /// Returns a batch or a custom code by its identifier.
    /// - Throws: ``StoreError`` `unknown_code`; ``DatabaseError``.
    public func offerCodeBatch(_ id: String) async throws -> OfferCodeBatch {
        guard let batch = try await database.read({ try OfferCodeBatches.find(id, $0) }) else {
            throw Self.unknownBatch
        }
        return batch
    }

    /// Returns one-time codes of a batch in alphabetical order.
    /// - Parameters:
    ///   - code: the last code of the page before; nil for the first page.
    ///   - limit: the most codes, 1 to 1,000.
    /// - Throws: ``StoreError`` `unknown_code` when there is no such batch; ``DatabaseError``.
    public func offerCodes(
        of id: String, after code: String? = nil, limit: Int = 1000
    ) async throws -> (codes: [OfferCode], hasMore: Bool) {
        let limit = min(max(limit, 1), 1000)
        return try await database.read { connection in
            guard try OfferCodeBatches.find(id, connection) != nil else { throw Self.unknownBatch }
            let codes = try OfferCodes.page(of: id, after: code, limit: limit + 1, connection)
            return (Array(codes.prefix(limit)), codes.count > limit)
        }
    }

    /// Deactivates a batch or a custom code. Earlier redemptions stay valid.
    /// - Throws: ``StoreError`` `unknown_code` when there is no such batch; ``DatabaseError``.
    public func deactivateOfferCodes(_ id: String) async throws {
        try await database.write { connection in
            guard try OfferCodeBatches.find(id, connection) != nil else { throw Self.unknownBatch }
            try OfferCodeBatches.deactivate(id, connection)
        }
        changed(.offers)
    }

    private static let unknownBatch = StoreError(.unknownCode, "There are no offer codes with this identifier.")

    private static func newOfferCodes(_ count: Int) -> [String] {
        var codes: Set<String> = []
        while codes.count < count { codes.insert(newCode(offerCodeLength)) }
        return codes.sorted()
    }

    /// The quarter of a date, in UTC. Codes of later quarters exist when the store's clock was set back.
    static func quarter(of date: Int64) -> Range<Int64> {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month], from: Date(milliseconds: date))
        let month = ((parts.month ?? 1) - 1) / 3 * 3 + 1
        guard let start = calendar.date(from: DateComponents(year: parts.year, month: month)),
            let end = calendar.date(byAdding: .month, value: 3, to: start)
        else { return 0..<Int64.max }
        return Int64(start.timeIntervalSince1970 * 1000)..<Int64(end.timeIntervalSince1970 * 1000)
    }
}
