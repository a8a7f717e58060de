import CornerstoreEncoding
import StoreReceipts

extension InAppPurchase {
    /// The fields of this purchase that the receipt contains, with verifyReceipt's field names. An attribute without
    /// such a name has its number as the key, unless it is empty.
    var statedFields: [String: String] {
        var fields = ["quantity": String(quantity), "product_id": productID, "transaction_id": transactionID]
        fields["original_transaction_id"] = originalTransactionID
        fields["web_order_line_item_id"] = webOrderLineItemID.map { String($0) }
        fields["is_trial_period"] = isTrialPeriod.map { $0 ? "true" : "false" }
        fields["is_in_intro_offer_period"] = isInIntroOfferPeriod.map { $0 ? "true" : "false" }
        fields["promotional_offer_id"] = promotionalOfferID.flatMap { $0.isEmpty ? nil : $0 }
        fields["app_account_token"] = accountToken
        for (name, date) in [
            ("purchase_date", purchaseDate), ("original_purchase_date", originalPurchaseDate),
            ("expires_date", expiresDate), ("cancellation_date", cancellationDate),
        ] {
            guard let date = date.map({ ReceiptDate($0) }) else { continue }
            fields[name] = date.gmt
            fields[name + "_ms"] = date.millisecondsText
            fields[name + "_pst"] = date.pacific
        }
        // Attributes that verifyReceipt does not return.
        fields["1707"] = productType.map { String($0) }
        fields["1710"] = itemID.map { String($0) }
        for attribute in otherAttributes where accountToken == nil || attribute.type != Self.accountTokenType {
            if let text = attribute.text { fields[String(attribute.type)] = text }
        }
        return fields
    }
}

extension TransactionReceipt {
    /// The receipt's fields with verifyReceipt's names, which are the receipt's keys with underscores.
    var statedFields: [String: String] {
        Dictionary(entries.map { ($0.key.replacing("-", with: "_"), $0.value) }) { $1 }
    }
}

extension ReceiptAttribute {
    /// The value as text: an INTEGER in decimal, a string unchanged, other values in hexadecimal; nil for an empty
    /// value.
    var text: String? {
        guard value.count >= 2, value[1] < 0x80, value.count == 2 + Int(value[1]) else {
            return value.isEmpty ? nil : hexadecimal
        }
        let content = value.dropFirst(2)
        switch value[0] {
        case 0x02 where (1...8).contains(content.count):
            let isNegative = content.first ?? 0 >= 0x80
            return String(content.reduce(isNegative ? -1 : 0 as Int64) { $0 << 8 | Int64($1) })
        case 0x0C, 0x16:
            return content.isEmpty ? nil : String(validating: content, as: UTF8.self) ?? hexadecimal
        default:
            return hexadecimal
        }
    }

    private var hexadecimal: String { Hexadecimal.encoded(value) }
}
