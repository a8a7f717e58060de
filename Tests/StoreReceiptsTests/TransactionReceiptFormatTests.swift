import Foundation
import Testing

@testable import StoreReceipts

/// The property list and the signature blob, each for itself.
@Suite(.timeLimit(.minutes(1))) struct TransactionReceiptFormatTests {
    private func code(of text: [UInt8]) -> ReceiptRejection.Code? {
        do throws(ReceiptRejection) {
            _ = try ASCIIPropertyList(text: text)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [
        ("{}", []),
        ("{\n}", []),
        ("{\"a\" = \"b\";}", ["a", "b"]),
        (" {a=b;c = \"d e\" ; } \n", ["a", "b", "c", "d e"]),
        (#"{"a" = "\"\\\n\t\r\a\b\f\v\'";}"#, ["a", "\"\\\n\t\r\u{7}\u{8}\u{C}\u{B}'"]),
        (#"{"a" = "\101\7\1012\U00e9\ud83d\ude00x";}"#, ["a", "A\u{7}A2é😀x"]),
        ("{\"é\" = \"😀\";}", ["é", "😀"]),
        ("{\"a\" = \"\";}", ["a", ""]),
    ])
    func propertyListsAreRead(text: String, expected: [String]) throws {
        let list = try ASCIIPropertyList(text: Array(text.utf8))
        #expect(list.entries.flatMap { [$0.key, $0.value] } == expected)
    }

    @Test(
        arguments: [
            ("", .truncated), ("{", .truncated), ("{\"a", .truncated), ("{\"a\"", .truncated), ("{\"a\"=", .truncated),
            ("{\"a\"=\"b", .truncated),
            ("{\"a\"=\"b\"", .truncated), ("{\"a\"=\"b\";", .truncated), ("{\"a\"=\"\\", .truncated),
            ("{\"a\"=\"\\U00", .truncated), ("{a", .truncated),
            ("x", .malformed), ("[]", .malformed), ("{;}", .malformed), ("{\"a\"=\"b\"}", .malformed),
            ("{\"a\" \"b\";}", .malformed),
            ("{\"a\"=;}", .malformed), ("{\"a\"=\"b\";\"a\"=\"c\";}", .malformed), ("{\"a\"=\"\\x\";}", .malformed),
            ("{\"a\"=\"\\200\";}", .malformed), ("{\"a\"=\"\\Ud83d\";}", .malformed),
            ("{\"a\"=\"\\Ude00\\Ud83d\";}", .malformed),
            ("{\"a\"=\"\\U00g0\";}", .malformed), ("{}x", .trailingData), ("{}{}", .trailingData),
            ("{\"a\"={};}", .tooDeep), ("{\"a\"=(\"b\");}", .tooDeep), ("{\"a\"=<00>;}", .tooDeep),
        ] as [(String, ReceiptRejection.Code)])
    func otherPropertyListsAreRefusedForTheRightReason(text: String, expected: ReceiptRejection.Code) {
        #expect(code(of: Array(text.utf8)) == expected)
    }

    @Test func badUTF8AndTooMuchAreRefused() {
        #expect(code(of: Array("{\"a\"=\"".utf8) + [0xFF] + Array("\";}".utf8)) == .malformed)
        #expect(code(of: [UInt8](repeating: UInt8(ascii: "{"), count: ASCIIPropertyList.maximumSize + 1)) == .tooLarge)
        let many = (0...ASCIIPropertyList.maximumEntries).map { "k\($0)=v;" }.joined()
        #expect(code(of: Array("{\(many)}".utf8)) == .tooLarge)
    }

    @Test func everyPrefixOfAReceiptIsTruncated() {
        let text = VerifyReceiptTransactionResponseTests.subscription.purchaseInfo
        for length in text.indices { #expect(code(of: Array(text[..<length])) == .truncated) }
        #expect(code(of: text) == nil)
    }

    @Test func thePropertyListIsWrittenAsApplesServerDoes() {
        let list = ASCIIPropertyList(entries: [
            .init(key: "pod", value: "100"), .init(key: "a\"b", value: "é\\\n\u{1}"),
        ])
        #expect(
            String(decoding: list.text, as: UTF8.self)
                == "{\n\t\"pod\" = \"100\";\n\t\"a\\\"b\" = \"\\U00e9\\\\\\n\\U0001\";\n}")
    }

    @Test(arguments: TransactionSignature.Version.allCases)
    func signaturesAreReadBack(version: TransactionSignature.Version) throws {
        let size = version.signatureSize
        let signature = try TransactionSignature(
            version: version, signature: (0..<size).map { UInt8(truncatingIfNeeded: $0) },
            certificate: [UInt8](repeating: 5, count: 300)
        )
        let blob = signature.blob
        #expect(blob.count == 1 + size + 4 + 300)
        #expect(Array(blob[(1 + size)..<(5 + size)]) == [0, 0, 1, 44])
        #expect(try TransactionSignature(blob: blob) == signature)
        for length in blob.indices {
            #expect(throws: ReceiptRejection.self) { try TransactionSignature(blob: Array(blob[..<length])) }
        }
        #expect(throws: ReceiptRejection(.trailingData, "something follows the certificate")) {
            try TransactionSignature(blob: blob + [0])
        }
    }

    @Test(arguments: [0, 1, 4, 255] as [UInt8]) func otherVersionsAreRefused(version: UInt8) {
        let blob = [version] + [UInt8](repeating: 0, count: 600)
        #expect { try TransactionSignature(blob: blob) } throws: {
            ($0 as? ReceiptRejection)?.code == .unsupportedAlgorithm
        }
    }

    @Test func certificatesAreBounded() {
        let signature = [UInt8](repeating: 0, count: 256)
        for count in [0, TransactionSignature.maximumCertificate + 1] {
            #expect(throws: ReceiptRejection.self) {
                try TransactionSignature(
                    version: .three, signature: signature, certificate: [UInt8](repeating: 0, count: count))
            }
        }
        // A length that is far beyond the bytes, and would overflow 32 signed bits.
        #expect { try TransactionSignature(blob: [3] + signature + [0xFF, 0xFF, 0xFF, 0xFF, 0]) } throws: {
            ($0 as? ReceiptRejection)?.code == .truncated
        }
    }
}
