import CornerstoreEncoding
import Foundation

// The store's one reader of purchase requests, and its one writer of transactions and of the answers that contain them.
// Devices use `Codable`; the tests fill every field and compare the two.

extension PurchaseRequest: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        self.init(
            idempotencyKey: try members.uuid(required: "idempotencyKey"),
            bundleID: BundleID(try members.string(required: "bundleId")),
            productID: ProductID(try members.string(required: "productId")),
            quantity: Int(try members.wholeNumber(required: "quantity")),
            applicationUsername: try members.string("applicationUsername"),
            simulatesAskToBuy: try members.flag(required: "simulatesAskToBuy"),
            agreedPrice: try members.message("agreedPrice"), offer: try members.message("offer"),
            offerJWS: try members.message("offerJWS"),
            winBackOfferID: try members.string("winBackOfferId"))
    }
}

extension Money: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        self.init(
            milliunits: try members.wholeNumber(required: "milliunits"),
            currency: try members.string(required: "currency"))
    }
}

extension SignedOffer: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        self.init(
            offerID: try members.string(required: "offerId"), keyID: try members.string(required: "keyId"),
            nonce: try members.uuid(required: "nonce"), signature: try members.string(required: "signature"),
            timestamp: try members.wholeNumber(required: "timestamp"))
    }
}

extension OfferJWS: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        self.init(
            offerID: try members.string(required: "offerId"), compactJWS: try members.string(required: "compactJWS"))
    }
}

extension FlatJSONObject {
    /// A UUID that must be there: 32 hexadecimal digits and four hyphens.
    /// - Throws: `FlatJSONScanner.Failure` when it is missing or null, or for any other value.
    fileprivate func uuid(required name: StaticString) throws(FlatJSONScanner.Failure) -> UUID {
        let text = Array(try string(required: name).utf8)
        guard let uuid = UUID(text: text.span) else { throw failure(name, "is not a UUID") }
        return uuid
    }

    /// A nested message; nil when the member is missing or null.
    /// - Throws: `FlatJSONScanner.Failure` for a value that is not such a message.
    fileprivate func message<Message: JSONReadable>(
        _ name: StaticString
    ) throws(FlatJSONScanner.Failure) -> Message? {
        guard let members = try object(name) else { return nil }
        return try Message(members)
    }
}

extension PurchaseResponse: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("state", state.rawValue)
        if let transaction { json.object("transaction", transaction) }
        if let failure { json.object("failure", failure) }
    }
}

extension UnfinishedTransactionsResponse: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.array("transactions", transactions)
        if let next { json.member("next", next.description) }
    }
}

extension RestoreResponse: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.array("transactions", transactions)
        if let next { json.member("next", next.description) }
    }
}

extension TransactionDescription: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("transactionId", transactionID.description)
        json.member("originalTransactionId", originalTransactionID.description)
        json.member("bundleId", bundleID.rawValue)
        json.member("productId", productID.rawValue)
        json.member("kind", kind.rawValue)
        json.member("quantity", number: Int64(quantity))
        json.member("purchaseDate", number: purchaseDate)
        json.member("originalPurchaseDate", number: originalPurchaseDate)
        if let date = expiresDate { json.member("expiresDate", number: date) }
        if let name = applicationUsername { json.member("applicationUsername", name) }
        if let key = idempotencyKey { json.member("idempotencyKey", key.text) }
        if let content { json.object("content", content) }
    }
}

extension HostedContent: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("version", version)
        json.beginArray("lengths")
        for length in lengths { json.element(number: length) }
        json.endArray()
    }
}

/// The failure in a ``PurchaseResponse``. `HTTPProblem` writes the body of a refused request.
extension WireError: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("code", code.rawValue)
        json.member("message", message)
        if let requestID { json.member("requestId", requestID) }
        if let error { json.object("error", error) }
    }
}

extension OrderedError: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("domain", domain)
        json.member("code", number: Int64(code))
    }
}
