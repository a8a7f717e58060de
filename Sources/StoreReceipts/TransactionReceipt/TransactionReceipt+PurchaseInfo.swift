extension TransactionReceipt {
    /// Reads the decoded `purchase-info`.
    /// - Throws: ``ReceiptRejection`` with the error of the property list, or `malformed` for a key that is missing or
    ///   has an impossible value.
    public init(purchaseInfo: [UInt8]) throws(ReceiptRejection) {
        let reader = PurchaseInfoReader(try ASCIIPropertyList(text: purchaseInfo))
        guard let quantity = Int64(try reader.required("quantity")), quantity > 0 else {
            throw ReceiptRejection(.malformed, "quantity is not a number above 0")
        }
        guard let purchaseDate = try reader.date("purchase-date") else {
            throw PurchaseInfoReader.missing("purchase-date")
        }
        guard let originalPurchaseDate = try reader.date("original-purchase-date") else {
            throw PurchaseInfoReader.missing("original-purchase-date")
        }
        self.init(
            quantity: quantity,
            productID: try reader.required("product-id"),
            transactionID: try reader.required("transaction-id"),
            originalTransactionID: try reader.required("original-transaction-id"),
            bundleID: try reader.required("bid"),
            bundleVersion: try reader.required("bvrs"),
            purchaseDate: purchaseDate,
            originalPurchaseDate: originalPurchaseDate,
            itemID: reader.optional("item-id"),
            uniqueIdentifier: reader.optional("unique-identifier"),
            uniqueVendorIdentifier: reader.optional("unique-vendor-identifier"),
            appItemID: reader.optional("app-item-id"),
            versionExternalIdentifier: reader.optional("version-external-identifier"),
            expiresDate: try reader.expiresDate(),
            webOrderLineItemID: reader.optional("web-order-line-item-id"),
            isTrialPeriod: try reader.flag("is-trial-period"),
            isInIntroOfferPeriod: try reader.flag("is-in-intro-offer-period"),
            hostedIAPVersion: reader.optional("hosted-iap-version")
        )
        otherEntries = reader.rest
    }

    /// The value of `purchase-info` before Base64: the property list that is signed.
    public var purchaseInfo: [UInt8] { ASCIIPropertyList(entries: entries).text }

    /// The lines of the property list, including all forms of the dates. `verifyReceipt` answers with the same keys,
    /// with underscores for hyphens.
    public var entries: [Entry] {
        var entries: [Entry] = []
        func add(_ key: String, _ value: String?) {
            if let value { entries.append(Entry(key: key, value: value)) }
        }
        func add(_ key: String, _ date: ReceiptDate) {
            add(key, date.gmt)
            add(key + "-ms", date.millisecondsText)
            add(key + "-pst", date.pacific)
        }
        add("original-purchase-date", originalPurchaseDate)
        add("unique-identifier", uniqueIdentifier)
        add("unique-vendor-identifier", uniqueVendorIdentifier)
        add("original-transaction-id", originalTransactionID)
        add("transaction-id", transactionID)
        add("bvrs", bundleVersion)
        add("quantity", String(quantity))
        add("product-id", productID)
        add("item-id", itemID)
        add("app-item-id", appItemID)
        add("version-external-identifier", versionExternalIdentifier)
        add("bid", bundleID)
        add("purchase-date", purchaseDate)
        if let expiresDate {
            add("expires-date", expiresDate.millisecondsText)
            add("expires-date-formatted", expiresDate.gmt)
            add("expires-date-formatted-pst", expiresDate.pacific)
        }
        add("web-order-line-item-id", webOrderLineItemID)
        add("is-trial-period", isTrialPeriod.map { String($0) })
        add("is-in-intro-offer-period", isInIntroOfferPeriod.map { String($0) })
        add("hosted-iap-version", hostedIAPVersion)
        entries += otherEntries.filter { !PurchaseInfoReader.known.contains($0.key) }
        return entries
    }
}

/// Reads the values of a property list, key by key.
private struct PurchaseInfoReader {
    private let list: ASCIIPropertyList

    init(_ list: ASCIIPropertyList) {
        self.list = list
    }

    /// The keys that ``TransactionReceipt`` has properties for.
    static let known: Set<String> = [
        "quantity", "product-id", "transaction-id", "original-transaction-id", "bid", "bvrs", "item-id",
        "purchase-date", "purchase-date-ms", "purchase-date-pst",
        "original-purchase-date", "original-purchase-date-ms", "original-purchase-date-pst",
        "unique-identifier", "unique-vendor-identifier", "app-item-id", "version-external-identifier",
        "expires-date", "expires-date-formatted", "expires-date-formatted-pst",
        "web-order-line-item-id", "is-trial-period", "is-in-intro-offer-period", "hosted-iap-version",
    ]

    static func missing(_ key: String) -> ReceiptRejection { ReceiptRejection(.malformed, "\(key) is missing") }

    var rest: [TransactionReceipt.Entry] { list.entries.filter { !Self.known.contains($0.key) } }

    func optional(_ key: String) -> String? { list[key] }

    func required(_ key: String) throws(ReceiptRejection) -> String {
        guard let value = list[key], !value.isEmpty else { throw Self.missing(key) }
        return value
    }

    func flag(_ key: String) throws(ReceiptRejection) -> Bool? {
        switch list[key] {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw ReceiptRejection(.malformed, "\(key) is neither true nor false")
        }
    }

    /// The date, from its milliseconds or, in old receipts, from its readable form.
    func date(_ key: String) throws(ReceiptRejection) -> ReceiptDate? {
        try date(milliseconds: key + "-ms", readable: key)
    }

    func expiresDate() throws(ReceiptRejection) -> ReceiptDate? {
        try date(milliseconds: "expires-date", readable: "expires-date-formatted")
    }

    private func date(milliseconds: String, readable: String) throws(ReceiptRejection) -> ReceiptDate? {
        if let text = list[milliseconds] {
            guard let date = ReceiptDate(millisecondsText: text) else {
                throw ReceiptRejection(.malformed, "\(milliseconds) is not a date in milliseconds")
            }
            return date
        }
        guard let text = list[readable] else { return nil }
        guard let date = ReceiptDate(gmt: text.utf8) else {
            throw ReceiptRejection(.malformed, "\(readable) is not a date")
        }
        return date
    }
}
