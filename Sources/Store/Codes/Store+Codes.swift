import Database
import Foundation
import StoreWire

/// A code that gives a product without charge. It can be redeemed once.
public struct RedemptionCode: Sendable, Equatable {
    /// The code, in capital letters and digits.
    public var code: String
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product that the code gives.
    public var productID: ProductID
    /// When the code was created, in milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
    /// The account that redeemed the code; nil until then.
    public var accountID: AccountID?
    /// The transaction that redeeming the code created; nil until then.
    public var transactionID: TransactionID?
}

extension Store {
    /// Creates a code for a product. Auto-renewable subscriptions have no codes of this kind; they use offers.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, or `invalid_request`; ``DatabaseError``.
    public func addCode(for productID: ProductID, in bundleID: BundleID) async throws -> RedemptionCode {
        guard let app = catalog.value.app(bundleID) else {
            throw StoreError(
                .unknownApp, "The catalog has no app with the bundle identifier \(bundleID.rawValue.prefix(255)).")
        }
        guard let product = app.product(productID) else {
            throw StoreError(.productNotAvailable, "The app has no product with this identifier.")
        }
        guard product.kind != .autoRenewableSubscription else {
            throw StoreError(
                .invalidRequest, "Codes are not available for auto-renewable subscriptions. Use an offer instead.")
        }
        let code = RedemptionCode(
            code: Self.newCode(), bundleID: bundleID, productID: productID, createdAt: clock.milliseconds)
        try await database.write { connection in
            try connection.execute(
                "INSERT INTO redemption_codes (code, bundle_id, product_id, created_at) VALUES ($1, $2, $3, $4)",
                [code.code, bundleID.rawValue, productID.rawValue, code.createdAt])
        }
        changed(.offers)
        return code
    }

    /// Withdraws a code that nobody has redeemed.
    /// - Throws: ``StoreError`` `unknown_code`, or `code_used` when it was redeemed; ``DatabaseError``.
    public func withdrawCode(_ text: String) async throws {
        guard let code = Self.normalized(text) else { throw Self.unknownCode }
        try await database.write { connection in
            let withdrawn = try connection.execute(
                "DELETE FROM redemption_codes WHERE code = $1 AND account_id IS NULL", [code])
            guard withdrawn == 0 else { return }
            throw try RedemptionCode.find(code, connection) == nil
                ? Self.unknownCode : Self.usedCode
        }
        changed(.offers)
    }

    /// The codes that an account redeemed, newest first: at most 200, among the newest 20,000 of the store.
    /// - Throws: ``DatabaseError``.
    public func codes(of account: Account) async throws -> [RedemptionCode] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT \(RedemptionCode.columns) FROM (
                    SELECT \(RedemptionCode.columns) FROM redemption_codes ORDER BY created_at DESC, code LIMIT 20000
                ) AS newest WHERE account_id = $1 ORDER BY created_at DESC, code LIMIT 200
                """, [account.accountID.rawValue]
            ).map { try RedemptionCode($0) }
        }
    }

    /// The newest 1,000 codes, newest first.
    /// - Throws: ``DatabaseError``.
    public func codes() async throws -> [RedemptionCode] {
        try await database.read { connection in
            try connection.query(
                "SELECT \(RedemptionCode.columns) FROM redemption_codes ORDER BY created_at DESC, code LIMIT 1000", []
            ).map { try RedemptionCode($0) }
        }
    }

    /// Redeems a code. This creates a free transaction, which the account's devices find among their unfinished ones. A
    /// code for an offer of a subscription buys the subscription, or gives the offer to the next renewal.
    ///
    /// If the same account redeems the code again, it gets the same transaction until that is finished or revoked. A
    /// client can therefore repeat a request whose answer it lost.
    /// - Throws: ``StoreError`` `unknown_code`, `code_used`, `product_not_available`, `payment_not_allowed`, or
    ///   `internal_error` when the account's storefront is unknown; for an offer also `ineligible_for_offer`,
    ///   `payment_declined` or `unavailable`; ``DatabaseError``.
    public func redeem(_ request: CodeRedemptionRequest, by account: Account) async throws -> TransactionDescription {
        guard let code = Self.normalized(request.code) else { throw Self.unknownCode }
        guard let app = catalog.value.app(request.bundleID) else { throw Self.unknownCode }
        let (known, offered) = try await database.read { connection in
            (
                try RedemptionCode.find(code, connection),
                try Self.offerCode(code, in: request.bundleID, connection)
            )
        }
        if known == nil, let offered { return try await redeem(offered, in: app, by: account) }
        guard let known, known.bundleID == request.bundleID else { throw Self.unknownCode }
        // A redeemed code keeps its transaction, even when the product left the catalog or the account may no longer
        // buy.
        guard known.accountID == nil else {
            return try await database.read { try Self.delivered(code, to: account, $0) }
        }
        guard account.paymentsAllowed else {
            throw StoreError(.paymentNotAllowed, "This account may not make payments.")
        }
        let storefront = try storefront(of: account)
        guard let product = app.product(known.productID) else {
            throw StoreError(.productNotAvailable, "The product of this code is no longer available.")
        }
        for _ in 0..<4 {
            let nothing = Money(milliunits: 0, currency: storefront.currency)
            var sale = Sale(product: product, itemID: product.itemID, unitPrice: nothing, amount: nothing)
            if product.kind.isOwnedOnce {
                sale.owned = try await database.read {
                    try Ownership.find(account.accountID, app.bundleID, product.productID, $0)
                }
            }
            let planned = sale
            let request = PurchaseRequest(
                idempotencyKey: UUID(), bundleID: app.bundleID, productID: product.productID, quantity: 1,
                applicationUsername: nil, simulatesAskToBuy: false, agreedPrice: nil)
            var transaction = self.transaction(planned, request, account)
            // No payment of a device created it.
            transaction.idempotencyKey = nil
            let made = transaction
            do {
                let description = try await database.write { [recorder] connection in
                    try Self.redeem(code, made, planned, by: account, recorder, connection)
                }
                changed(.transactions)
                changed(.offers)
                tell(account.accountID)
                return await described(description)
            } catch is OwnedMeanwhile {
                continue
            }
        }
        throw StoreError(.unavailable, "The same product is being bought by this account right now. Try again.")
    }

    private static func redeem(
        _ code: String, _ transaction: Transaction, _ sale: Sale, by account: Account, _ recorder: Recorder,
        _ connection: Connection
    ) throws -> TransactionDescription {
        let changed = try connection.execute(
            "UPDATE redemption_codes SET account_id = $2, transaction_id = $3 WHERE code = $1 AND account_id IS NULL",
            [code, account.accountID.rawValue, transaction.transactionID.rawValue])
        if changed == 1 {
            try insert(transaction, sale, recorder, connection)
            return transaction.description
        }
        return try delivered(code, to: account, connection)
    }

    /// Returns the transaction of a used code to the account that redeemed it.
    /// - Throws: ``StoreError`` `code_used` for another account, or when the transaction is finished or revoked.
    private static func delivered(
        _ code: String, to account: Account, _ connection: Connection
    ) throws -> TransactionDescription {
        let used = try RedemptionCode.find(code, connection)
        guard used?.accountID == account.accountID, let id = used?.transactionID,
            let first = try Transactions.find(id, of: account.accountID, connection), first.finishedAt == nil,
            first.revokedAt == nil
        else { throw Self.usedCode }
        return first.description
    }

    private static let unknownCode = StoreError(.unknownCode, "This code is not valid.")
    static let usedCode = StoreError(.codeUsed, "This code was redeemed before.")

    /// Characters from an alphabet of 32, five bits each. The alphabet omits I, L, O and U, which are easily misread.
    static func newCode(_ length: Int = 16) -> String {
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        return String(RandomBytes.make(length).map { alphabet[Int($0 & 31)] })
    }

    /// The code in capital letters and digits, without hyphens and spaces; nil when the text cannot be a code.
    static func normalized(_ text: String) -> String? {
        guard text.utf8.count <= StoreLimits.redemptionCode else { return nil }
        let code = text.uppercased().filter { $0 != "-" && !$0.isWhitespace }
        guard (1...StoreLimits.redemptionCode).contains(code.utf8.count),
            code.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
        else { return nil }
        return code
    }
}

extension RedemptionCode {
    static let columns = "code, bundle_id, product_id, created_at, account_id, transaction_id"

    init(_ row: Row) throws {
        self.init(
            code: try row.string(0), bundleID: BundleID(try row.string(1)), productID: ProductID(try row.string(2)),
            createdAt: try row.int64(3), accountID: try row.optionalString(4).map { AccountID($0) },
            transactionID: try row.optionalInt64(5).map { TransactionID(rawValue: $0) })
    }

    static func find(_ code: String, _ connection: Connection) throws -> RedemptionCode? {
        try connection.queryOne("SELECT \(columns) FROM redemption_codes WHERE code = $1", [code]).map {
            try RedemptionCode($0)
        }
    }
}
