import Crypto
import CryptoExtras
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1))) struct TransactionReceiptTests {
    private static func sample(_ file: URL) throws -> [UInt8] {
        let text = try String(contentsOf: file, encoding: .utf8).filter { !$0.isWhitespace }
        return Array(try #require(Data(base64Encoded: text)))
    }

    @Test(.enabled(if: VerifyReceiptSamples.folder != nil)) func realReceiptsMatchTheirRecordedContents() throws {
        let files = try VerifyReceiptSamples.files(in: "transaction-receipts", ending: ".b64")
        #expect(!files.isEmpty)
        for file in files {
            let bytes = try Self.sample(file)
            #expect(ReceiptKind.detect(bytes) == .transaction)
            let signed = try SignedTransactionReceipt(bytes: bytes)
            #expect(signed.environment == .sandbox)
            #expect(signed.pod == "100")
            #expect(signed.signingStatus == "0")
            #expect(signed.bytes == bytes)
            let besides = file.deletingPathExtension().appendingPathExtension("purchase-info.txt")
            let text = try String(contentsOf: besides, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(String(decoding: signed.purchaseInfo, as: UTF8.self) == text)
            // Every line of the text, of all date forms too, is written again from the value.
            let lines = text.split(separator: "\n").filter { $0.hasPrefix("\t") }.map(String.init)
            let entries = try signed.receipt().entries.map { "\t\"\($0.key)\" = \"\($0.value)\";" }
            #expect(Set(entries) == Set(lines))
            #expect(entries.count == lines.count)
            #expect(try signed.receipt().otherEntries.isEmpty)
        }
    }

    @Test(.enabled(if: VerifyReceiptSamples.folder != nil)) func applesSignaturesCoverTheSignedBytes()
        throws
    {
        for file in try VerifyReceiptSamples.files(in: "transaction-receipts", ending: ".b64") {
            let signed = try SignedTransactionReceipt(bytes: try Self.sample(file))
            let key = try _RSA.Signing.PublicKey(
                unsafeDERRepresentation: try Self.publicKey(in: signed.signature.certificate))
            let message = TransactionSignature.signedBytes(
                version: signed.signature.version, purchaseInfo: signed.purchaseInfo)
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signed.signature.signature)
            let digest = Insecure.SHA1.hash(data: message)
            #expect(key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5))
            #expect(signed.signature.version == .two)
        }
    }

    /// The subject's public key of a certificate with a 1024-bit key, which the certificate library refuses.
    private static func publicKey(in certificate: [UInt8]) throws -> [UInt8] {
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00, 0x03,
        ]
        let start = try #require(certificate.firstRange(of: algorithm)).lowerBound - 3
        try #require(certificate[start] == 0x30 && certificate[start + 1] == 0x81)
        return Array(certificate[start..<start + 3 + Int(certificate[start + 2])])
    }

    @Test func signedReceiptsAreVersionThreeAndCanBeRead() async throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let receipt = VerifyReceiptTransactionResponseTests.subscription
        let signed = try SignedTransactionReceipt.signed(receipt, environment: .sandbox, certificate: [0x30, 0x00]) {
            message in
            Array(
                try key.signature(for: Insecure.SHA1.hash(data: message), padding: .insecurePKCS1v1_5).rawRepresentation
            )
        }
        let text = String(decoding: signed.bytes, as: UTF8.self)
        #expect(text.hasPrefix("{\n\t\"signature\" = \"A"))
        #expect(
            text.hasSuffix("\n\t\"environment\" = \"Sandbox\";\n\t\"pod\" = \"100\";\n\t\"signing-status\" = \"0\";\n}")
        )
        let read = try SignedTransactionReceipt(bytes: signed.bytes)
        #expect(read == signed)
        #expect(read.signature.version == .three)

        let good = await read.verified { message, signature, leaf, date in
            #expect(message == [3] + receipt.purchaseInfo)
            #expect(leaf == [0x30, 0x00])
            #expect(date == receipt.purchaseDate.date)
            let isValid = key.publicKey.isValidSignature(
                .init(rawRepresentation: signature), for: Insecure.SHA1.hash(data: message), padding: .insecurePKCS1v1_5
            )
            return isValid ? .success([7]) : .failure(ReceiptRejection(.badSignature, ""))
        }
        #expect(try good.get().receipt == receipt)
        #expect(try good.get().statedEnvironment == .sandbox)
        #expect(try good.get().rootFingerprint == [7])
        let refused = await read.verified { _, _, _, _ in .failure(ReceiptRejection(.unknownIssuer, "")) }
        #expect(refused == .failure(ReceiptRejection(.unknownIssuer, "")))
    }

    @Test func productionNamesNoEnvironment() throws {
        let receipt = VerifyReceiptTransactionResponseTests.subscription
        let signed = try SignedTransactionReceipt.signed(receipt, environment: .production, certificate: [1]) { _ in
            [UInt8](repeating: 9, count: 256)
        }
        #expect(!String(decoding: signed.bytes, as: UTF8.self).contains("environment"))
        #expect(try SignedTransactionReceipt(bytes: signed.bytes).environment == .production)
    }

    @Test func aSignatureOfTheWrongSizeIsNotWritten() {
        let receipt = VerifyReceiptTransactionResponseTests.subscription
        #expect(throws: ReceiptRejection.self) {
            try SignedTransactionReceipt.signed(receipt, environment: .sandbox, certificate: [1]) { _ in [1, 2, 3] }
        }
    }

    @Test func anUnreadablePurchaseIsRefusedBeforeVerification() async throws {
        let signature = try TransactionSignature(
            version: .three, signature: [UInt8](repeating: 0, count: 256), certificate: [1])
        let signed = SignedTransactionReceipt(
            signature: signature, purchaseInfo: Array("{}".utf8), environment: .sandbox, pod: nil, signingStatus: nil
        )
        let result = await signed.verified { _, _, _, _ in .success([]) }
        guard case .failure(let rejection) = result else { throw ReceiptRejection(.malformed, "it was accepted") }
        #expect(rejection.code == .malformed)
    }

    @Test func everyWrittenReceiptIsReadBack() throws {
        var random = SeededGenerator(seed: 8)
        for _ in 0..<2_000 {
            let receipt = TransactionReceipt.random(with: &random)
            #expect(try TransactionReceipt(purchaseInfo: receipt.purchaseInfo) == receipt)
        }
    }

    @Test func receiptsOf2011HaveOnlyReadableDates() throws {
        let text = """
            {
            \t"quantity" = "1"; "product-id" = "p"; "transaction-id" = "1"; "original-transaction-id" = "1"; "bid" = "b"; "bvrs" = "1";
            \t"purchase-date" = "2011-08-01 07:00:00 Etc/GMT"; "original-purchase-date" = "2011-08-01 07:00:00 Etc/GMT";
            }
            """
        let receipt = try TransactionReceipt(purchaseInfo: Array(text.utf8))
        #expect(receipt.purchaseDate.milliseconds == 1_312_182_000_000)
    }

    @Test(
        arguments: [
            ("quantity", nil), ("quantity", "0"), ("quantity", "-1"), ("quantity", "x"), ("product-id", nil),
            ("product-id", ""),
            ("transaction-id", nil), ("original-transaction-id", nil), ("bid", nil), ("bvrs", nil),
            ("purchase-date-ms", "soon"),
            ("original-purchase-date-ms", ""), ("expires-date", "2015-11-24"), ("is-trial-period", "yes"),
            ("is-in-intro-offer-period", "1"),
        ] as [(String, String?)])
    func impossibleValuesAreRefused(key: String, value: String?) {
        var entries = VerifyReceiptTransactionResponseTests.subscription.entries.filter { $0.key != key }
        if let value { entries.append(.init(key: key, value: value)) }
        #expect(throws: ReceiptRejection.self) {
            try TransactionReceipt(purchaseInfo: ASCIIPropertyList(entries: entries).text)
        }
    }

    @Test func theFirstBytesShowTheKind() {
        #expect(ReceiptKind.detect([0x30, 0x82]) == .app)
        #expect(ReceiptKind.detect([0x30, 0x80]) == .app)
        #expect(ReceiptKind.detect(Array(" \n\t{".utf8)) == .transaction)
        for other in ["", "x{", "[", String(repeating: " ", count: 100) + "{"] {
            #expect(ReceiptKind.detect(Array(other.utf8)) == nil)
        }
    }

    @Test func damagedReceiptsAreRefusedOrReadButNeverCrash() async throws {
        let receipt = VerifyReceiptTransactionResponseTests.subscription
        let signed = try SignedTransactionReceipt.signed(receipt, environment: .sandbox, certificate: [1, 2, 3]) { _ in
            [UInt8](repeating: 9, count: 256)
        }
        var random = SeededGenerator(seed: 9)
        let alphabet = Array("{}\"=;\\U0127 \n\t()<>abA+/".utf8)
        var counts = (outer: 0, inner: 0)
        for _ in 0..<10_000 {
            let outer = signed.bytes.damaged(with: &random, alphabet: alphabet)
            if (try? SignedTransactionReceipt(bytes: outer)) != nil { counts.outer += 1 }
            let inner = receipt.purchaseInfo.damaged(with: &random, alphabet: alphabet)
            if let read = try? TransactionReceipt(purchaseInfo: inner) {
                counts.inner += 1
                #expect(try TransactionReceipt(purchaseInfo: read.purchaseInfo) == read)
            }
        }
        #expect(counts.outer > 100 && counts.inner > 100)
    }
}

extension TransactionReceipt {
    fileprivate static func random(with random: inout SeededGenerator) -> TransactionReceipt {
        func text(_ random: inout SeededGenerator) -> String {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 1...10, using: &random) {
                let range: ClosedRange<UInt32> = Bool.random(using: &random) ? 0...0x7F : 0...0x10_FFFF
                scalars.append(Unicode.Scalar(UInt32.random(in: range, using: &random)) ?? "x")
            }
            return String(scalars)
        }
        func maybe<Value>(_ random: inout SeededGenerator, _ value: (inout SeededGenerator) -> Value) -> Value? {
            Bool.random(using: &random) ? value(&random) : nil
        }
        func date(_ random: inout SeededGenerator) -> ReceiptDate {
            ReceiptDate(milliseconds: .random(in: ReceiptDate.earliest...ReceiptDate.latest, using: &random))
        }
        let extra = (0..<Int.random(in: 0...3, using: &random)).map {
            Entry(key: "x\($0)-" + text(&random), value: text(&random))
        }
        return TransactionReceipt(
            quantity: .random(in: 1...Int64.max, using: &random), productID: text(&random),
            transactionID: text(&random),
            originalTransactionID: text(&random), bundleID: text(&random), bundleVersion: text(&random),
            purchaseDate: date(&random),
            originalPurchaseDate: date(&random), itemID: maybe(&random, text), uniqueIdentifier: maybe(&random, text),
            uniqueVendorIdentifier: maybe(&random, text), appItemID: maybe(&random, text),
            versionExternalIdentifier: maybe(&random, text), expiresDate: maybe(&random, date),
            webOrderLineItemID: maybe(&random, text), isTrialPeriod: maybe(&random) { Bool.random(using: &$0) },
            isInIntroOfferPeriod: maybe(&random) { Bool.random(using: &$0) }, hostedIAPVersion: maybe(&random, text),
            otherEntries: extra
        )
    }
}
