import Crypto
import Foundation
import StoreWire
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct SignedPayloadTests {
    static let names = Fixtures.names(in: "jws", ending: ".jws")

    private func fixture(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Fixtures.directory.appendingPathComponent("jws/\(name)")))
    }

    private func code(_ result: Result<VerifiedPayload, ReceiptRejection>) -> ReceiptRejection.Code? {
        switch result {
        case .success: nil
        case .failure(let rejection): rejection.code
        }
    }

    @Test(.enabled(if: Fixtures.arePresent), arguments: names)
    func readsWhatStandsBesideIt(name: String) throws {
        let content = try SignedPayload.parse(try fixture(name))
        let decoded = try Data(
            contentsOf: Fixtures.directory.appendingPathComponent("jws/\(name.dropLast(4)).decoded.json")
        )
        let expected = try #require(try JSONSerialization.jsonObject(with: decoded) as? [String: Any])
        let payload = try JSONSerialization.jsonObject(with: Data(content.payload)) as? NSDictionary
        #expect(payload == (expected["payload"] as? NSDictionary))
        #expect(content.certificates.count == (expected["x5c"] as? [String])?.count)
        #expect(content.environment == String(name.split(separator: "_").first { $0 != "apple" } ?? ""))
    }

    @Test(.enabled(if: Fixtures.arePresent), arguments: names)
    func verifiesOnlyUnderItsRoot(name: String) async throws {
        let bytes = try fixture(name)
        let apple = try ReceiptVerifier(roots: [try Fixtures.certificate("Apple_Root_CA_-_G3")])
        let isApples = name.hasPrefix("apple__")
        #expect(
            code(await apple.verifySignedPayload(bytes, expecting: ReceiptExpectation()))
                == (isApples ? nil : .unknownIssuer))
        let own = try #require(try SignedPayload.parse(bytes).certificates.last)
        let verifier = try ReceiptVerifier(roots: [own])
        let expected: ReceiptRejection.Code? =
            name.contains("Sandbox__transaction") ? .missingMarker : name.hasPrefix("Xcode") ? .unknownIssuer : nil
        #expect(code(await verifier.verifySignedPayload(bytes, expecting: ReceiptExpectation())) == expected)
        let allowing = ReceiptExpectation(allowsXcode: true)
        let answer = code(await verifier.verifySignedPayload(bytes, expecting: allowing))
        #expect(answer == (name.hasPrefix("Xcode") ? nil : expected))
    }

    @Test func signedPayloadsVerifyAndNoCharacterMayChange() async throws {
        let directory = try TemporaryDirectory()
        let authority = try await CertificateAuthority.open(directory: directory.url, at: .sample)
        let verifier = try ReceiptVerifier(roots: [authority.jwsRoot])
        let payload = Array(#"{"bundleId":"com.example.app","environment":"Sandbox","signedDate":1766774387123}"#.utf8)
        let text = Array(try authority.jwsIdentity(for: .sandbox).sign(payload).utf8)
        guard
            case .success(let verified) = await verifier.verifySignedPayload(
                text, expecting: ReceiptExpectation(bundleID: "com.example.app"))
        else {
            Issue.record("refused")
            return
        }
        #expect(verified.content.payload == payload)
        #expect(verified.content.signedDate.timeIntervalSince1970 == 1_766_774_387.123)
        #expect(verified.rootFingerprint == Array(SHA256.hash(data: authority.jwsRoot)))
        let other = ReceiptExpectation(bundleID: "com.example.other")
        #expect(code(await verifier.verifySignedPayload(text, expecting: other)) == .wrongBundleID)
        for position in stride(from: 0, to: text.count, by: 7) {
            var forged = text
            forged[position] = forged[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(
                code(await verifier.verifySignedPayload(forged, expecting: ReceiptExpectation())) != nil,
                "character \(position)")
        }
        for count in stride(from: 0, to: text.count, by: 31) {
            #expect(
                code(await verifier.verifySignedPayload(Array(text[..<count]), expecting: ReceiptExpectation())) != nil)
        }
        let receipts = try ReceiptVerifier(roots: [authority.receiptRoot])
        #expect(code(await receipts.verifySignedPayload(text, expecting: ReceiptExpectation())) == .unknownIssuer)
    }

    @Test func aSignerIsKnownByItsHeaderAndStillChecked() async throws {
        let directory = try TemporaryDirectory()
        let authority = try await CertificateAuthority.open(directory: directory.url, at: .sample)
        let verifier = try ReceiptVerifier(roots: [authority.jwsRoot])
        func sign(_ date: Int) throws -> [UInt8] {
            let payload = Array(#"{"bundleId":"com.example.app","environment":"Sandbox","signedDate":\#(date)}"#.utf8)
            return Array(try authority.jwsIdentity(for: .sandbox).sign(payload).utf8)
        }
        let anything = ReceiptExpectation()
        let first = try sign(1_766_774_387_123)
        #expect(verifier.verifySignedPayloadIfSignerIsKnown(first, expecting: anything) == nil)
        let whole = await verifier.verifySignedPayload(first, expecting: anything)
        #expect(verifier.verifySignedPayloadIfSignerIsKnown(first, expecting: anything) == whole)
        let second = try sign(1_766_774_387_124)
        let known = try #require(verifier.verifySignedPayloadIfSignerIsKnown(second, expecting: anything))
        #expect(code(known) == nil)
        let other = ReceiptExpectation(bundleID: "com.example.other")
        let refused = try #require(verifier.verifySignedPayloadIfSignerIsKnown(second, expecting: other))
        #expect(code(refused) == .wrongBundleID)
        // Another payload under the same header, and another signature, are found out as before.
        let header = second.prefix { $0 != UInt8(ascii: ".") }.count
        for position in stride(from: header + 2, to: second.count, by: 5) {
            var forged = second
            forged[position] = forged[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let answer = verifier.verifySignedPayloadIfSignerIsKnown(forged, expecting: anything)
            #expect(answer.map { code($0) != nil } ?? true, "character \(position)")
        }
        // Outside its certificates' time it is not known.
        let early = try sign(1_000)
        #expect(verifier.verifySignedPayloadIfSignerIsKnown(early, expecting: anything) == nil)
        #expect(code(await verifier.verifySignedPayload(early, expecting: anything)) == .expired)
    }

    @Test(arguments: [
        "", ".", "..", "a.b.c", "e30.e30.e30", "e30.e30.e30.e30", "eyJhbGciOiJub25lIiwieDVjIjpbXX0.e30.",
        "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AAAA",
    ])
    func refusesWhatIsNone(text: String) throws {
        #expect(throws: ReceiptRejection.self) { try SignedPayload.parse(Array(text.utf8)) }
    }
}
