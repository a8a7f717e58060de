import Crypto
import CryptoExtras
import Foundation
import StoreWire
import SwiftASN1
import TestSupport
import Testing
import X509

@testable import StoreReceipts

/// Transaction receipts of version 2: RSA with 1024 bits, a leaf that swift-certificates does not read.
@Suite(.timeLimit(.minutes(1))) struct ShortKeyTests {
    private func receipt(_ chain: TestChain.Made, purchaseInfo: [UInt8]? = nil) throws -> SignedTransactionReceipt {
        let receipt = TransactionReceipt.version2
        let signed = TransactionSignature.signedBytes(version: .two, purchaseInfo: receipt.purchaseInfo)
        let value = try chain.leafKey.signature(
            for: Insecure.SHA1.hash(data: signed), padding: .insecurePKCS1v1_5
        ).rawRepresentation
        return SignedTransactionReceipt(
            signature: try TransactionSignature(version: .two, signature: Array(value), certificate: chain.leaf),
            purchaseInfo: purchaseInfo ?? receipt.purchaseInfo, environment: .sandbox, pod: "100", signingStatus: "0")
    }

    private func refusal(_ receipt: SignedTransactionReceipt, _ verifier: ReceiptVerifier) async
        -> ReceiptRejection.Code?
    {
        switch await receipt.verified(by: verifier.verifyTransactionSignature(signed:signature:leaf:at:)) {
        case .success: nil
        case .failure(let rejection): rejection.code
        }
    }

    @Test func aReceiptOfVersion2IsVerifiedCompletely() async throws {
        let chain = try TestChain(
            intermediateValidity: .years(2009, 2016), leafAlgorithm: .sha1WithRSAEncryption,
            intermediateAlgorithm: .sha1WithRSAEncryption, isVersion2: true
        ).make()
        #expect(throws: (any Error).self) { try Certificate(derEncoded: chain.leaf) }
        let verifier = try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate])
        let read = try SignedTransactionReceipt(bytes: try receipt(chain).bytes)
        #expect(read.signature.version == .two && read.signature.signature.count == 128)
        // The second time its chain is known.
        for _ in 0..<2 {
            let answer = await read.verified(by: verifier.verifyTransactionSignature(signed:signature:leaf:at:))
            let verified = try answer.get()
            #expect(verified.receipt == .version2)
            #expect(verified.rootFingerprint == Array(SHA256.hash(data: chain.root)))
        }
        let forged = Array(
            String(decoding: TransactionReceipt.version2.purchaseInfo, as: UTF8.self)
                .replacing("\"1\"", with: "\"9\"").utf8)
        #expect(await refusal(try receipt(chain, purchaseInfo: forged), verifier) == .badSignature)
        // Nothing outside what the issuer signed may be written otherwise.
        var longer = chain.leaf
        longer.replaceSubrange(0..<2, with: [0x30, 0x83, 0])
        var other = try receipt(chain)
        other.signature.certificate = longer
        #expect(
            await refusal(other, try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate]))
                == .malformed)
    }

    @Test func theCallerGivesTheIssuer() async throws {
        let chain = try TestChain(isVersion2: true).make()
        let signed = try receipt(chain)
        func refusal(_ roots: [[UInt8]], _ intermediates: [[UInt8]]) async throws -> ReceiptRejection.Code? {
            await self.refusal(signed, try ReceiptVerifier(roots: roots, intermediates: intermediates))
        }
        #expect(try await refusal([chain.root], [chain.intermediate]) == nil)
        #expect(try await refusal([chain.root], []) == .unknownIssuer)
        #expect(try await refusal([], [chain.intermediate]) == .unknownIssuer)
        #expect(try await refusal([try TestChain(rootKey: 3).make().root], [chain.intermediate]) == .wrongChain)
        #expect(
            try await refusal([try TestChain(rootMarker: "Other").make().root], [chain.intermediate]) == .unknownIssuer)
        // Of issuers with one name, the one that signed the leaf.
        let stranger = try TestChain(rootMarker: "Other").make()
        let namesake = try namesake(of: chain.intermediate)
        #expect(try await refusal([chain.root], [namesake, chain.intermediate]) == nil)
        #expect(try await refusal([chain.root, stranger.root], [namesake]) == .wrongChain)
    }

    /// Each chain is wrong in one respect; the leaf is judged by the rules of every leaf.
    @Test(
        arguments: [
            (TestChain(isVersion2: true), nil),
            (TestChain(leafMarker: false, isVersion2: true), .missingMarker),
            (TestChain(leafUsage: KeyUsage(keyEncipherment: true), isVersion2: true), .wrongChain),
            (TestChain(intermediateUsage: KeyUsage(digitalSignature: true), isVersion2: true), .wrongChain),
            (TestChain(intermediateIsAuthority: false, isVersion2: true), .wrongChain),
            (TestChain(leafIsAuthority: true, isVersion2: true), .wrongChain),
            (TestChain(forgedLeaf: true, isVersion2: true), .wrongChain),
            (TestChain(rootPathLength: 0, isVersion2: true), .wrongChain),
            (TestChain(rootPathLength: 1, isVersion2: true), nil),
            (TestChain(isVersion2: true, leafHasCriticalExtension: true), .wrongChain),
            (TestChain(leafValidity: .years(2013, 2020), isVersion2: true), .expired),
            (TestChain(leafValidity: .years(2005, 2012), isVersion2: true), .expired),
            (TestChain(intermediateValidity: .years(2013, 2020), isVersion2: true), .expired),
            (TestChain(rootValidity: .years(2013, 2020), isVersion2: true), .expired),
        ] as [(TestChain, ReceiptRejection.Code?)])
    func aShortLeafIsJudgedAsEveryLeaf(shape: TestChain, expected: ReceiptRejection.Code?) async throws {
        let chain = try shape.make()
        let verifier = try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate])
        for _ in 0..<2 { #expect(await refusal(try receipt(chain), verifier) == expected) }
    }

    @Test func appReceiptsAreNotSignedWithShortKeys() async throws {
        let chain = try TestChain(isVersion2: true).make()
        let payload = try AppReceipt.sample().encodedPayload()
        let signature = try chain.leafKey.signature(for: SHA256.hash(data: payload), padding: .insecurePKCS1v1_5)
        let writer = try SignedDataWriter(certificates: [chain.leaf, chain.intermediate, chain.root])
        let bytes = writer.message(payload: payload, signature: Array(signature.rawRepresentation))
        let verifier = try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate])
        #expect(await verifier.verify(bytes, expecting: ReceiptExpectation()).refusal == .unsupportedAlgorithm)
        #expect(throws: ReceiptAuthorityError.self) {
            try ReceiptSigner(key: chain.leafKey, certificates: [chain.leaf])
        }
    }

    /// With the authority that issued Apple's leaves the receipts verify. It is not among the fixtures; a caller has it
    /// from Apple, and puts it there as `certificates/Apple_iTunes_Store_Certification_Authority….der`.
    @Test(.enabled(if: VerifyReceiptSamples.folder != nil)) func applesReceiptsLackOnlyTheirIssuer() async throws {
        let root = try Fixtures.appleRoot()
        let issuerName = "Apple_iTunes_Store_Certification_Authority"
        let isThere = Fixtures.names(in: "certificates", ending: ".der").contains { $0.hasPrefix(issuerName) }
        let issuer = isThere ? try Fixtures.certificate(issuerName) : nil
        let namesake = try namesake(
            try DistinguishedName {
                CountryName("US")
                OrganizationName("Apple Inc.")
                OrganizationalUnitName("Apple Certification Authority")
                CommonName("Apple iTunes Store Certification Authority")
            }, key: TestChain.keys[1])
        let files = try VerifyReceiptSamples.files(in: "transaction-receipts", ending: ".b64")
        #expect(!files.isEmpty)
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8).filter { !$0.isWhitespace }
            let receipt = try SignedTransactionReceipt(bytes: Array(try #require(Data(base64Encoded: text))))
            let without = try ReceiptVerifier(roots: [root])
            #expect(await refusal(receipt, without) == .unknownIssuer)
            // Its signature and key pass: what is wrong with an authority that took the issuer's name is its signature.
            #expect(
                await refusal(receipt, try ReceiptVerifier(roots: [root], intermediates: [namesake])) == .wrongChain)
            var forged = receipt
            forged.purchaseInfo.append(UInt8(ascii: "\n"))
            #expect(
                await refusal(forged, try ReceiptVerifier(roots: [root], intermediates: [namesake])) == .badSignature)
            if let issuer {
                let whole = try ReceiptVerifier(roots: [root], intermediates: [issuer])
                for _ in 0..<2 { #expect(await refusal(receipt, whole) == nil) }
            }
        }
    }

    /// Another authority with the name of one.
    private func namesake(of authority: [UInt8]) throws -> [UInt8] {
        try namesake(try Certificate(derEncoded: authority).subject, key: TestChain.keys[3])
    }

    private func namesake(_ name: DistinguishedName, key: _RSA.Signing.PrivateKey) throws -> [UInt8] {
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: CertificateAuthority.validity.lowerBound,
            notValidAfter: CertificateAuthority.validity.upperBound, issuer: name, subject: name,
            signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            }, issuerPrivateKey: .init(key))
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

extension TransactionReceipt {
    /// A purchase of April 2012.
    fileprivate static let version2 = TransactionReceipt(
        quantity: 1, productID: "com.example.app.download", transactionID: "1000000046178817",
        originalTransactionID: "1000000046178817", bundleID: "com.example.app", bundleVersion: "20120427",
        purchaseDate: ReceiptDate(milliseconds: 1_335_798_355_868),
        originalPurchaseDate: ReceiptDate(milliseconds: 1_335_798_355_868), itemID: "521129812")
}
