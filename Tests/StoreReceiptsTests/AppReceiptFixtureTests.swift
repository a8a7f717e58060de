import Foundation
import Testing
import X509

@testable import StoreReceipts

@Suite(.enabled(if: Fixtures.arePresent, "no fixtures: set CORNERSTORE_FIXTURES"), .timeLimit(.minutes(1)))
struct AppReceiptFixtureTests {
    @Test(arguments: Fixtures.appReceipts)
    func readsEveryFieldOfARealReceipt(name: String) throws {
        let container = try ReceiptContainer.parse(try Fixtures.receipt(name))
        let expected = try Fixtures.decoded(name)
        for (key, value) in expected {
            switch key {
            case "inapp":
                let purchases = try #require(value as? [[String: Any]])
                #expect(container.receipt.inApp.count == purchases.count)
                for (purchase, fields) in zip(container.receipt.inApp, purchases) { try compare(purchase, fields) }
            case "unknown":
                for (type, hex) in try #require(value as? [String: String]) {
                    // The fixtures show 40 octets of long values.
                    #expect(container.receipt.other(Int64(type))?.prefix(40).map { $0 }.hex == hex, "attribute \(type)")
                }
            case "types":
                try compareTypes(container.receipt, try #require(value as? [String: Int]))
            case "certs":
                try compareCertificates(container.certificates, try #require(value as? [[String: Any]]))
            case "digest_alg":
                #expect((container.digest == .sha1 ? "1.3.14.3.2.26" : "2.16.840.1.101.3.4.2.1") == value as? String)
            case "signed_attrs": #expect(container.hasSignedAttributes == value as? Bool)
            // Said by the verifier, in the tests below; nothing trails, or parsing had failed.
            case "signature_valid", "signature_alg", "chain": break
            case "trailing": #expect(value as? Int == 0)
            default: #expect(container.receipt.field(key) == describe(value), "\(key)")
            }
        }
    }

    @Test(arguments: Fixtures.appleReceipts)
    func verifiesAReceiptOfAppleAtItsOwnDate(name: String) async throws {
        let bytes = try Fixtures.receipt(name)
        let root = try Fixtures.appleRoot()
        let verifier = try ReceiptVerifier(roots: [root])
        #expect(verifier.verifyIfChainIsKnown(bytes, expecting: ReceiptExpectation()) == nil)
        let answer = await verifier.verify(bytes, expecting: ReceiptExpectation())
        guard case .verified(let verified) = answer else {
            Issue.record("refused: \(answer)")
            return
        }
        #expect(verified.receipt == (try ReceiptContainer.parse(bytes)).receipt)
        #expect(verified.rootFingerprint.hex == "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024")
        // And again, now that the chain is known.
        #expect(verifier.verifyIfChainIsKnown(bytes, expecting: ReceiptExpectation())?.receipt == verified.receipt)
    }

    @Test(arguments: Fixtures.appleReceipts)
    func writesARealReceiptOfAppleByteForByte(name: String) throws {
        let bytes = try Fixtures.receipt(name)
        let container = try ReceiptContainer.parse(bytes)
        #expect(try container.receipt.encodedPayload() == container.payload)
        // The envelope too, where Apple signed with SHA-256 as we do.
        if container.digest == .sha256 {
            let writer = try SignedDataWriter(certificates: container.certificates)
            #expect(writer.message(payload: container.payload, signature: container.signature) == bytes)
        }
    }

    @Test(arguments: Fixtures.appleReceipts + Fixtures.generatedReceipts + Fixtures.xcodeReceipts)
    func doesNotTrustAReceiptUnderAnotherRoot(name: String) async throws {
        let other = try Fixtures.certificate("Apple_Root_CA_-_G3")
        let verifier = try ReceiptVerifier(roots: [other])
        #expect(
            await verifier.verify(try Fixtures.receipt(name), expecting: ReceiptExpectation()).refusal == .unknownIssuer
        )
    }

    @Test(arguments: Fixtures.generatedReceipts)
    func refusesAHandmadeReceipt(name: String) async throws {
        let bytes = try Fixtures.receipt(name)
        let verifier = try ReceiptVerifier(roots: [try Fixtures.appleRoot()])
        #expect(await verifier.verify(bytes, expecting: ReceiptExpectation()).refusal == .unknownIssuer)
        // Even under its own root: its intermediate lacks the marker.
        let own = try #require(try ReceiptContainer.parse(bytes).certificates.last)
        let lenient = try ReceiptVerifier(roots: [own])
        #expect(await lenient.verify(bytes, expecting: ReceiptExpectation()).refusal == .missingMarker)
    }

    /// These are signed over signed attributes, which must name the digest of the payload that stands there.
    @Test(arguments: Fixtures.generatedReceipts)
    func signedAttributesDoNotHideAnotherPayload(name: String) async throws {
        var bytes = try Fixtures.receipt(name)
        let own = try #require(try ReceiptContainer.parse(bytes).certificates.last)
        let bundleID = Array("com.example.app".utf8)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: bundleID) })
        bytes[start] = UInt8(ascii: "d")
        let verifier = try ReceiptVerifier(roots: [own])
        #expect(await verifier.verify(bytes, expecting: ReceiptExpectation()).refusal == .badSignature)
    }

    @Test(arguments: Fixtures.xcodeReceipts)
    func trustsXcodeOnlyWhenAskedTo(name: String) async throws {
        let bytes = try Fixtures.receipt(name)
        let certificate = try #require(try ReceiptContainer.parse(bytes).certificates.first)
        let allowing = ReceiptExpectation(allowsXcode: true)
        let apple = try ReceiptVerifier(roots: [try Fixtures.appleRoot()])
        let both = try ReceiptVerifier(roots: [try Fixtures.appleRoot(), certificate])
        #expect(await apple.verify(bytes, expecting: allowing).refusal == .unknownIssuer)
        #expect(await both.verify(bytes, expecting: ReceiptExpectation()).refusal == .unknownIssuer)
        #expect(await both.verify(bytes, expecting: allowing).refusal == nil)
        // Having been let in once must not open the door for those who do not ask.
        #expect(await both.verify(bytes, expecting: ReceiptExpectation()).refusal == .unknownIssuer)
    }

    @Test func knowsTheDeviceOfARealReceipt() async throws {
        let name = try #require(Fixtures.appleReceipts.first { $0.contains("dev.bonzer") })
        let device = try #require(UUID(uuidString: "956328D9-CC6A-47F4-BE40-6953FB0AB6C7"))
        let identifier = withUnsafeBytes(of: device.uuid) { Array($0) }
        let verifier = try ReceiptVerifier(roots: [try Fixtures.appleRoot()])
        let bytes = try Fixtures.receipt(name)
        let right = ReceiptExpectation(
            bundleID: "dev.bonzer.weeka.app", applicationVersion: "2", deviceIdentifier: identifier
        )
        #expect(await verifier.verify(bytes, expecting: right).refusal == nil)
        var wrong = right
        wrong.deviceIdentifier?[15] ^= 1
        #expect(await verifier.verify(bytes, expecting: wrong).refusal == .wrongDeviceHash)
    }

    private func compareTypes(_ receipt: AppReceipt, _ counts: [String: Int]) throws {
        for (type, count) in counts {
            if type == "17" { #expect(receipt.inApp.count == count) } else { #expect(count == 1, "attribute \(type)") }
        }
        let others = receipt.otherAttributes.map { String($0.type) }
        #expect(Set(others).isSubset(of: counts.keys))
    }

    private func compareCertificates(_ certificates: [[UInt8]], _ expected: [[String: Any]]) throws {
        #expect(certificates.count == expected.count)
        for (der, fields) in zip(certificates, expected) {
            let certificate = try Certificate(derEncoded: der)
            let serial = Array(certificate.serialNumber.bytes).hex
            #expect(String(serial.drop { $0 == "0" }) == fields["serial"] as? String)
            #expect((fields["not_after"] as? String)?.hasPrefix(isoDay(certificate.notValidAfter)) == true)
            let markers = try #require(fields["oids"] as? [String])
            #expect(
                certificate.hasMarker(CertificateMarker.receiptSigning) == markers.contains("1.2.840.113635.100.6.11.1")
            )
            #expect(
                certificate.hasMarker(CertificateMarker.developerRelations)
                    == markers.contains("1.2.840.113635.100.6.2.1"))
        }
    }

    private func isoDay(_ date: Date) -> String { String(text(date).prefix(10)) }

    private func compare(_ purchase: InAppPurchase, _ expected: [String: Any]) throws {
        for (key, value) in expected {
            #expect(purchase.field(key) == describe(value), "\(key) of \(purchase.transactionID)")
        }
    }
}

private func describe(_ value: Any) -> String {
    (value as? String) ?? (value as? NSNumber)?.stringValue ?? "?"
}

private func text(_ date: Date?) -> String {
    guard let date else { return "" }
    return ISO8601DateFormatter().string(from: date)
}

extension AppReceipt {
    fileprivate func other(_ type: Int64?) -> [UInt8]? { otherAttributes.first { $0.type == type }?.value }

    /// A field under the name that the fixtures give it.
    fileprivate func field(_ name: String) -> String {
        switch name {
        case "receipt_type": receiptType
        case "app_item_id": String(appItemID)
        case "bundle_id": bundleID
        case "bundle_raw": bundleIDValue.hex
        case "application_version": applicationVersion
        case "opaque_value": opaqueValue.hex
        case "sha1_hash": deviceHash.hex
        case "creation_request_date?": text(downloadDate)
        case "type9": fulfillmentToolVersion.map { String($0) } ?? "-"
        case "age_rating": ageRating ?? "-"
        case "type11": developerID.map { String($0) } ?? "-"
        case "creation_date": text(creationDate)
        case "type13": systemVersion.map { String($0) } ?? "-"
        case "type14": (other(14)?.dropFirst(2).reduce(0) { $0 << 8 | Int($1) }).map { String($0) } ?? "-"
        case "download_id": String(downloadID)
        case "version_external_identifier": String(versionExternalIdentifier)
        case "original_purchase_date": text(originalPurchaseDate)
        case "original_application_version": originalApplicationVersion ?? "-"
        case "expiration_date": text(expirationDate)
        default: "no such field"
        }
    }
}

extension InAppPurchase {
    fileprivate func field(_ name: String) -> String {
        switch name {
        case "quantity": String(quantity)
        case "product_id": productID
        case "transaction_id": transactionID
        case "original_transaction_id": originalTransactionID ?? "-"
        case "purchase_date": text(purchaseDate)
        case "original_purchase_date": text(originalPurchaseDate)
        case "expires_date": text(expiresDate)
        case "cancellation_date": text(cancellationDate)
        case "product_type": productType.map { String($0) } ?? "-"
        case "type1710": itemID.map { String($0) } ?? "-"
        case "web_order_line_item_id": webOrderLineItemID.map { String($0) } ?? "-"
        case "is_trial_period": isTrialPeriod.map { $0 ? "1" : "0" } ?? "-"
        case "is_in_intro_offer_period": isInIntroOfferPeriod.map { $0 ? "1" : "0" } ?? "-"
        case "type1709", "type1714", "type1715", "1716", "1717", "1718":
            other(name) == [0x0c, 0] ? "" : "not empty"
        case "1722": other(name) == [2, 1, 0] ? "0" : "not zero"
        default: "no such field"
        }
    }

    private func other(_ name: String) -> [UInt8]? {
        otherAttributes.first { String($0.type) == name.drop { !$0.isNumber } }?.value
    }
}
