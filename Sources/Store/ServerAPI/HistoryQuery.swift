import StoreWire

/// The query in a request for a customer's transaction history.
struct HistoryQuery: Sendable, Equatable {
    /// Transactions with a purchase date from this one on; nil for no limit.
    var start: Int64?
    /// Transactions with a purchase date before this one; nil for no limit.
    var end: Int64?
    /// The products; empty for all.
    var productIDs: [ProductID] = []
    /// The types; empty for all.
    var kinds: [ProductKind] = []
    /// The subscription groups; empty for all.
    var groupIDs: [SubscriptionGroupID] = []
    /// Whether only what a family shares, or only what the customer bought; nil for both.
    var isShared: Bool?
    /// Whether only revoked transactions, or only others; nil for both.
    var isRevoked: Bool?
    /// Whether the transactions that changed last come first.
    var isDescending = false
    /// Whether finished consumables are left out, as version 1 does.
    var leavesFinishedConsumables = false

    /// The most values of a repeated parameter.
    static let mostValues = 100

    /// Reads the parameters. Unknown ones are ignored.
    /// - Parameter items: names and values, as they were decoded.
    /// - Throws: ``APIError``.
    init(_ items: [(name: String, value: String)], version: Int) throws {
        leavesFinishedConsumables = version == 1
        for (name, value) in items {
            switch name {
            case "startDate": start = try Self.date(value, .invalidStartDate)
            case "endDate": end = try Self.date(value, .invalidEndDate)
            case "productId": productIDs.append(ProductID(try Self.identifier(value, .invalidProductID)))
            case "productType": kinds += try Self.kinds(value)
            case "subscriptionGroupIdentifier":
                groupIDs.append(SubscriptionGroupID(try Self.identifier(value, .invalidGroup)))
            case "inAppOwnershipType":
                switch value {
                case "FAMILY_SHARED": isShared = true
                case "PURCHASED": isShared = false
                default: throw APIError.invalidOwnership
                }
            case "revoked": isRevoked = try Self.flag(value, .invalidRevoked)
            case "excludeRevoked": isRevoked = try Self.flag(value, .invalidExcludeRevoked) ? false : isRevoked
            case "sort":
                guard value == "ASCENDING" || value == "DESCENDING" else { throw APIError.invalidSort }
                isDescending = value == "DESCENDING"
            default: continue
            }
        }
        guard productIDs.count <= Self.mostValues else { throw APIError.invalidProductID }
        guard groupIDs.count <= Self.mostValues else { throw APIError.invalidGroup }
        guard kinds.count <= Self.mostValues else { throw APIError.invalidProductType }
    }

    private static func date(_ text: String, _ error: APIError) throws -> Int64 {
        guard let date = Int64(text), date >= 0 else { throw error }
        return date
    }

    private static func identifier(_ text: String, _ error: APIError) throws -> String {
        guard (1...StoreLimits.identifier).contains(text.utf8.count) else { throw error }
        return text
    }

    /// Python's library writes `True` and `False`.
    private static func flag(_ text: String, _ error: APIError) throws -> Bool {
        switch text.lowercased() {
        case "true": true
        case "false": false
        default: throw error
        }
    }

    private static func kinds(_ text: String) throws -> [ProductKind] {
        switch text {
        case "AUTO_RENEWABLE": [.autoRenewableSubscription]
        case "NON_RENEWABLE": [.nonRenewingSubscription, .freeSubscription]
        case "CONSUMABLE": [.consumable]
        case "NON_CONSUMABLE": [.nonConsumable]
        default: throw APIError.invalidProductType
        }
    }

    /// The query as text, the same for ever: callers keep revisions, which are good for one query.
    var canonicalText: String {
        var parts = [
            "products \(Self.list(productIDs.map(\.rawValue)))", "types \(Self.list(kinds.map(\.rawValue)))",
            "groups \(Self.list(groupIDs.map(\.rawValue)))",
        ]
        if let start { parts.append("from \(start)") }
        if let end { parts.append("to \(end)") }
        if let isShared { parts.append("shared \(isShared)") }
        if let isRevoked { parts.append("revoked \(isRevoked)") }
        if isDescending { parts.append("descending") }
        if leavesFinishedConsumables { parts.append("unfinished") }
        return parts.joined(separator: ";")
    }

    /// The texts in their order, each with its length, so that no two lists look the same.
    private static func list(_ texts: [String]) -> String {
        texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { "\($0.utf8.count):\($0)" }.joined()
    }

    /// Whether a transaction is asked for.
    func includes(_ transaction: Transaction) -> Bool {
        if let start, transaction.purchaseDate < start { return false }
        if let end, transaction.purchaseDate >= end { return false }
        guard productIDs.isEmpty || productIDs.contains(transaction.productID),
            kinds.isEmpty || kinds.contains(transaction.kind)
        else { return false }
        if !groupIDs.isEmpty {
            guard let group = transaction.subscriptionGroupID, groupIDs.contains(group) else { return false }
        }
        if let isShared, (transaction.sharedFrom != nil) != isShared { return false }
        if let isRevoked, (transaction.revokedAt != nil) != isRevoked { return false }
        return !(leavesFinishedConsumables && transaction.kind == .consumable && transaction.finishedAt != nil)
    }
}
