import CornerstoreEncoding
import Hummingbird
import Merchant
import MerchantWire
import NIOCore
import StoreWire

/// A frequent answer, which is written without an encoder in a fraction of the time. Its members are the encoder's, in
/// a fixed order.
protocol CounterAnswer: Sendable {
    func write(to json: inout JSONBytes)
}

extension CounterAnswer {
    /// The answer as UTF-8.
    var json: [UInt8] {
        var json = JSONBytes(capacity: 512)
        json.beginObject()
        write(to: &json)
        json.endObject()
        return json.bytes
    }

    /// The answer with status 200.
    var response: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(bytes: json)))
    }
}

extension BalanceList: CounterAnswer {
    func write(to json: inout JSONBytes) {
        json.beginArray("balances")
        for balance in balances {
            json.beginObject()
            json.member("amount", number: balance.amount)
            json.member("currency", balance.currency.rawValue)
            json.member("environment", balance.environment.rawValue)
            json.endObject()
        }
        json.endArray()
    }
}

extension SpendAnswer: CounterAnswer {
    func write(to json: inout JSONBytes) {
        json.member("amount", number: amount)
        json.member("balance", number: balance)
        json.member("currency", currency.rawValue)
        json.member("entry", number: entry)
        json.member("environment", environment.rawValue)
        json.member("key", key)
    }
}

extension RedemptionAnswer: CounterAnswer {
    func write(to json: inout JSONBytes) {
        json.beginArray("redeemed")
        for transaction in redeemed {
            json.beginObject()
            json.member("environment", transaction.environment.rawValue)
            if let expiresAt = transaction.expiresAt { json.member("expiresAt", number: expiresAt) }
            json.beginArray("grants")
            for grant in transaction.grants { grant.write(to: &json) }
            json.endArray()
            json.member("originalTransactionId", transaction.originalTransactionID)
            json.member("productId", transaction.productID.rawValue)
            json.member("quantity", number: transaction.quantity)
            json.member("redeemedAt", number: transaction.redeemedAt)
            json.member("transactionId", transaction.transactionID)
            json.member("wentToNamedOwner", transaction.wentToNamedOwner)
            json.endObject()
        }
        json.endArray()
        json.beginArray("refused")
        for transaction in refused {
            json.beginObject()
            json.member("code", transaction.code.rawValue)
            json.member("message", transaction.message)
            json.member("productId", transaction.productID.rawValue)
            json.member("transactionId", transaction.transactionID)
            json.endObject()
        }
        json.endArray()
    }
}

extension ProductGrant {
    fileprivate func write(to json: inout JSONBytes) {
        json.beginObject()
        switch self {
        case .credits(let currency, let amount, let lifetime):
            json.member("credits", number: amount)
            json.member("currency", currency.rawValue)
            if let lifetime { json.member("lifetime", number: lifetime) }
        case .entitlement(let entitlement, let lifetime):
            json.member("entitlement", entitlement.rawValue)
            if let lifetime { json.member("lifetime", number: lifetime) }
        case .content(let item): json.member("content", item.rawValue)
        }
        json.endObject()
    }
}
