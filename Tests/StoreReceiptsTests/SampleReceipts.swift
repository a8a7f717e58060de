import Foundation
import TestSupport

@testable import StoreReceipts

extension AppReceipt {
    /// A sandbox receipt as the store makes them.
    static func sample(purchases: Int = 2, creationDate: Date = .sample) -> AppReceipt {
        let bundleIDValue = AppReceipt.bundleIDValue("com.example.app")
        let opaqueValue = [UInt8](0..<16)
        return AppReceipt(
            receiptType: "ProductionSandbox", appItemID: 0, bundleID: "com.example.app", bundleIDValue: bundleIDValue,
            applicationVersion: "7", opaqueValue: opaqueValue,
            deviceHash: AppReceipt.deviceHash(
                deviceIdentifier: Array(1...16), opaqueValue: opaqueValue, bundleIDValue: bundleIDValue
            ),
            downloadDate: nil, fulfillmentToolVersion: 1_345_531_957, ageRating: "4+", developerID: 0,
            creationDate: creationDate,
            systemVersion: 180_602, downloadID: 0, versionExternalIdentifier: 0,
            inApp: (0..<purchases).map { InAppPurchase.sample($0) },
            originalPurchaseDate: Date(timeIntervalSince1970: 1_375_340_400), originalApplicationVersion: "1.0",
            expirationDate: nil,
            otherAttributes: AppReceipt.serverAttributes(
                attribute6: Array(repeating: 6, count: 60), attribute7: [7, 7, 7])
        )
    }

    /// Any receipt that can be written, with dates of whole seconds.
    static func random(_ generator: inout SeededGenerator) -> AppReceipt {
        let bundleID = String.random(&generator)
        var others = AppReceipt.serverAttributes(
            attribute6: .random(&generator, upTo: 90), attribute7: .random(&generator, upTo: 90)
        )
        for type in Int64(26)..<40 where Bool.random(using: &generator) {
            others.append(
                ReceiptAttribute(
                    type: type * 1_000_003, version: .random(in: -3...300, using: &generator),
                    value: .random(&generator, upTo: 300))
            )
        }
        return AppReceipt(
            receiptType: .random(&generator), appItemID: .spread(&generator), bundleID: bundleID,
            bundleIDValue: AppReceipt.bundleIDValue(bundleID), applicationVersion: .random(&generator),
            opaqueValue: .random(&generator, upTo: 40), deviceHash: .random(&generator, upTo: 20),
            downloadDate: .random(&generator), fulfillmentToolVersion: .maybe(&generator),
            ageRating: Bool.random(using: &generator) ? "17+" : nil, developerID: .maybe(&generator),
            creationDate: Date.random(&generator) ?? .sample, systemVersion: .maybe(&generator),
            downloadID: .spread(&generator),
            versionExternalIdentifier: .spread(&generator),
            inApp: (0..<Int.random(in: 0...12, using: &generator)).map { _ in InAppPurchase.random(&generator) },
            originalPurchaseDate: .random(&generator),
            originalApplicationVersion: Bool.random(using: &generator) ? .random(&generator) : nil,
            expirationDate: .random(&generator), otherAttributes: others
        )
    }

    /// The same receipt with what a SET holds in the order of DER, which is how it comes back.
    var inOrderOfEncoding: AppReceipt {
        get throws {
            var copy = self
            copy.inApp = copy.inApp.map { purchase in
                var purchase = purchase
                purchase.otherAttributes.sort { $0.encoding.lexicographicallyPrecedes($1.encoding) }
                return purchase
            }
            let encoded = try copy.inApp.map { try $0.encoded() }
            let order = encoded.indices.sorted {
                let left = ReceiptAttribute(type: 17, version: 1, value: encoded[$0])
                let right = ReceiptAttribute(type: 17, version: 1, value: encoded[$1])
                return left.encoding.lexicographicallyPrecedes(right.encoding)
            }
            copy.inApp = order.map { copy.inApp[$0] }
            copy.otherAttributes.sort { $0.encoding.lexicographicallyPrecedes($1.encoding) }
            return copy
        }
    }
}

extension InAppPurchase {
    static func sample(_ number: Int) -> InAppPurchase {
        InAppPurchase(
            quantity: 1, productID: "com.example.app.feature.\(number)", transactionID: "200000010000000\(number)",
            purchaseDate: .sample, originalTransactionID: "200000010000000\(number)", originalPurchaseDate: .sample,
            productType: 0,
            expiresDate: nil, itemID: 0, webOrderLineItemID: 0, cancellationDate: nil, isTrialPeriod: false,
            isInIntroOfferPeriod: false, promotionalOfferID: nil, otherAttributes: InAppPurchase.serverAttributes
        )
    }

    static func random(_ generator: inout SeededGenerator) -> InAppPurchase {
        InAppPurchase(
            quantity: .spread(&generator), productID: .random(&generator), transactionID: .random(&generator),
            purchaseDate: Date.random(&generator) ?? .sample,
            originalTransactionID: Bool.random(using: &generator) ? .random(&generator) : nil,
            originalPurchaseDate: .random(&generator), productType: .maybe(&generator),
            expiresDate: .random(&generator),
            itemID: .maybe(&generator), webOrderLineItemID: .maybe(&generator), cancellationDate: .random(&generator),
            isTrialPeriod: [true, false, nil].randomElement(using: &generator) ?? nil,
            isInIntroOfferPeriod: [true, false, nil].randomElement(using: &generator) ?? nil,
            promotionalOfferID: Bool.random(using: &generator) ? .random(&generator) : nil,
            otherAttributes: Bool.random(using: &generator) ? InAppPurchase.serverAttributes : []
        )
    }
}

extension ReceiptAttribute {
    /// The attribute's SEQUENCE.
    var encoding: [UInt8] {
        var content: [UInt8] = []
        DERWriter.appendInteger(type, to: &content)
        DERWriter.appendInteger(version, to: &content)
        return DERWriter.element(BERTag.sequence, content + DERWriter.element(BERTag.octetString, value))
    }
}

extension Date {
    /// 2025-12-26T18:39:47Z
    static let sample = Date(timeIntervalSince1970: 1_766_774_387)

    /// A whole second between the years 2000 and 2199, or nil.
    static func random(_ generator: inout SeededGenerator) -> Date? {
        guard Int.random(in: 0..<4, using: &generator) > 0 else { return nil }
        return Date(timeIntervalSince1970: Double(Int.random(in: 946_684_800..<7_226_582_400, using: &generator)))
    }
}

extension Int64 {
    /// A number of any size, either sign.
    static func spread(_ generator: inout SeededGenerator) -> Int64 {
        Int64(truncatingIfNeeded: generator.next()) >> Int64.random(in: 0..<64, using: &generator)
    }
}

extension Int64? {
    static func maybe(_ generator: inout SeededGenerator) -> Int64? {
        Bool.random(using: &generator) ? .spread(&generator) : nil
    }
}

extension String {
    static func random(_ generator: inout SeededGenerator) -> String {
        let count = Int.random(in: 0...140, using: &generator)
        return String((0..<count).map { _ in Array("abcXYZ019.-_ éß水🙂\0").randomElement(using: &generator) ?? "a" })
    }
}

extension [UInt8] {
    static func random(_ generator: inout SeededGenerator, upTo limit: Int) -> [UInt8] {
        (0..<Int.random(in: 0...limit, using: &generator)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }
}
