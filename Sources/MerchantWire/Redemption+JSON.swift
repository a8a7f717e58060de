import CornerstoreEncoding
import Foundation
import StoreWire

// The merchant's one reader and one writer of redemptions. Apps use `Codable`; the tests fill every field and compare
// the two.

extension RedemptionRequest: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        let receipt = try members.string("receipt")
        let signed = try members.string("signedTransaction")
        let transactionID = try members.string("transactionId")
        switch (receipt, signed, transactionID) {
        case (let text?, nil, nil):
            guard let receipt = Data(base64Encoded: text) else { throw members.failure("receipt", "is not Base64") }
            self.init(receipt: receipt)
        case (nil, let text?, nil): self.init(signedTransaction: text)
        case (nil, nil, let id?):
            self.init(transactionID: id, bundleID: try members.string("bundleId").map { BundleID($0) })
        default:
            throw members.failure("receipt", "or “signedTransaction” or “transactionId” must be given, and only one")
        }
    }
}

extension RedemptionAnswer: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.array("redeemed", redeemed)
        json.array("refused", refused)
    }
}

extension RedeemedTransaction: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("environment", environment.rawValue)
        if let expiresAt { json.member("expiresAt", number: expiresAt) }
        json.array("grants", grants)
        json.member("originalTransactionId", originalTransactionID)
        json.member("productId", productID.rawValue)
        json.member("quantity", number: quantity)
        json.member("redeemedAt", number: redeemedAt)
        json.member("transactionId", transactionID)
        json.member("wentToNamedOwner", wentToNamedOwner)
    }
}

extension RefusedTransaction: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("code", code.rawValue)
        json.member("message", message)
        json.member("productId", productID.rawValue)
        json.member("transactionId", transactionID)
    }
}

extension ProductGrant: JSONWritable {
    package func write(to json: inout JSONBytes) {
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
    }
}
