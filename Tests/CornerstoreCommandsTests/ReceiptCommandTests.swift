import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import CornerstoreCommands

private let root = "certificates/Apple_Root_CA__Apple_Certification_Authority__b0b173.der"

@Suite(.timeLimit(.minutes(1))) struct ReceiptCommandTests {
    private static let keys: Set<String> = [
        "kind", "valid", "reason", "detail", "environment", "bundleId", "applicationVersion", "creationDate", "inApp",
    ]

    private static func files(_ folder: String, _ suffix: String) -> [String] {
        guard let url = Fixtures.url(folder), let names = try? FileManager.default.contentsOfDirectory(atPath: url.path)
        else { return [] }
        return names.filter { $0.hasSuffix(suffix) }.sorted().map { "\(folder)/\($0)" }
    }

    /// A JSON value with the names of its objects in order.
    private static func text(_ value: Any) -> String {
        guard let object = value as? [String: Any] else { return "\(value)" }
        return object.sorted { $0.key < $1.key }.map { "\($0.key)=\(text($0.value))" }.joined(separator: " ")
    }

    private func path(_ fixture: String) throws -> String { try #require(Fixtures.url(fixture)).path }

    @Test(.enabled(if: Fixtures.directory != nil, "no fixtures"), arguments: files("app-receipts", ".b64"))
    func inspectingSaysWhatADecoderSays(_ name: String) async throws {
        let result = await Capture.run(["receipt", "inspect", try path(name), "--json"])
        #expect(result.status == 0)
        let report = try result.output.object()
        #expect(Set(report.keys).subtracting(Self.keysOfAppReceipts) == Self.keys)
        #expect(report["kind"] as? String == "app")
        #expect(report["valid"] is NSNull)
        #expect(report["reason"] as? String == "not-verified")
        let data = try #require(try Fixtures.data(name.replacing(".b64", with: ".decoded.json")))
        let decoded = try String(decoding: data, as: UTF8.self).object()
        let expected = (decoded["inapp"] as? [[String: Any]] ?? []).map { $0["transaction_id"] as? String }
        let found = (report["inApp"] as? [[String: String]] ?? []).map { $0["transaction_id"] }
        #expect(Set(found) == Set(expected))
        #expect(found.count == expected.count)
        // What the receipt says is there, and what it is silent about is not.
        for (key, name) in [
            ("originalApplicationVersion", "original_application_version"),
            ("originalPurchaseDate", "original_purchase_date"), ("expirationDate", "expiration_date"),
        ] {
            #expect(report[key] as? String == decoded[name] as? String, "\(key)")
        }
        let purchases = try #require(report["inApp"] as? [[String: String]])
        for expected in decoded["inapp"] as? [[String: Any]] ?? [] {
            let found = try #require(purchases.first { $0["transaction_id"] == expected["transaction_id"] as? String })
            #expect(Self.comparable(found) == Self.comparable(decoded: expected))
        }
    }

    private static let keysOfAppReceipts: Set = [
        "originalApplicationVersion", "originalPurchaseDate", "expirationDate",
    ]

    /// A purchase of the report with each date in one form.
    private static func comparable(_ purchase: [String: String]) -> [String: String] {
        var fields: [String: String] = [:]
        for (name, value) in purchase where !name.hasSuffix("_ms") && !name.hasSuffix("_pst") {
            let isDate = name.hasSuffix("_date")
            fields[name] =
                isDate ? value.replacing(" Etc/GMT", with: "Z").replacing(" ", with: "T") : value
        }
        return fields
    }

    /// A purchase as another decoder read it, with the report's names. Empty texts are nothing that is said.
    private static func comparable(decoded purchase: [String: Any]) -> [String: String] {
        var fields: [String: String] = [:]
        for (name, value) in purchase {
            let text = (value as? String) ?? (value as? NSNumber)?.stringValue ?? "?"
            guard !text.isEmpty else { continue }
            switch name {
            case "is_trial_period", "is_in_intro_offer_period": fields[name] = text == "1" ? "true" : "false"
            case "product_type": fields["1707"] = text
            default: fields[name.hasPrefix("type") ? String(name.dropFirst(4)) : name] = text
            }
        }
        return fields
    }

    @Test(.enabled(if: Fixtures.directory != nil, "no fixtures"))
    func aPersonIsToldWhatTheReceiptSays() async throws {
        let file = try #require(Self.files("app-receipts", ".b64").first { $0.contains("dev.bonzer") })
        let apples = await Capture.run(["receipt", "inspect", try path(file)]).output
        #expect(apples.contains("first version  1.0\n"))
        #expect(apples.contains("first got      2013-08-01T07:00:00Z\n"))
        #expect(apples.contains("1722=0"))
        #expect(!apples.contains("\nexpires"))
        let xcodes = try #require(Self.files("app-receipts", ".b64").first { $0.contains("/Xcode__") })
        let text = await Capture.run(["receipt", "inspect", try path(xcodes)]).output
        #expect(text.contains("\nexpires      4001-01-01T00:00:00Z\n"))
        #expect(!text.contains("first") && !text.contains("1722"))
    }

    @Test(.enabled(if: Fixtures.directory != nil, "no fixtures"), arguments: files("app-receipts", ".b64"))
    func verifyingKnowsWhoSigned(_ name: String) async throws {
        let isApples = name.contains("/ProductionSandbox__")
        let result = await Capture.run(["receipt", "verify", try path(name), "--root", try path(root), "--json"])
        #expect(result.status == (isApples ? 0 : 1))
        let report = try result.output.object()
        #expect(report["valid"] as? Bool == isApples)
        #expect(report["reason"] as? String == (isApples ? "ok" : "unknown-issuer"))
    }

    @Test(.enabled(if: Fixtures.directory != nil, "no fixtures"), arguments: files("jws", ".jws"))
    func signedPayloadsAreReadAndVerified(_ name: String) async throws {
        let inspected = try await Capture.run(["receipt", "inspect", try path(name), "--json"]).output.object()
        #expect(inspected["kind"] as? String == "jws")
        let data = try #require(try Fixtures.data(name.replacing(".jws", with: ".decoded.json")))
        let decoded = try String(decoding: data, as: UTF8.self).object()
        let payload = try #require(inspected["payload"] as? [String: Any])
        let expected = try #require(decoded["payload"] as? [String: Any])
        // By their texts: the same fraction may be another last bit in two readers.
        #expect(Self.text(payload) == Self.text(expected))
        let rootG3 = "certificates/Apple_Root_CA_-_G3__Apple_Certification_Authority__63343a.der"
        let result = await Capture.run(["receipt", "verify", try path(name), "--root", try path(rootG3), "--json"])
        let isApples = name.contains("/apple__")
        #expect(result.status == (isApples ? 0 : 1))
        #expect(try result.output.object()["valid"] as? Bool == isApples)
    }

    @Test(.enabled(if: Fixtures.directory != nil, "no fixtures"), arguments: files("transaction-receipts", ".b64"))
    func transactionReceiptsAreReadToo(_ name: String) async throws {
        let inspected = try await Capture.run(["receipt", "inspect", try path(name), "--json"]).output.object()
        #expect(inspected["kind"] as? String == "transaction")
        #expect((inspected["inApp"] as? [[String: String]])?.first?["product_id"]?.isEmpty == false)
        let result = await Capture.run(["receipt", "verify", try path(name), "--root", try path(root), "--json"])
        #expect(result.status == 1)
        #expect(try result.output.object()["reason"] as? String == "unknown-issuer")
    }

    @Test func `the issuer of a transaction receipt comes from the store's data directory`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let keys = directory.url.appendingPathComponent("keys")
            try await SharedAuthority.copy(to: keys)
            let date = ReceiptDate(milliseconds: 1_770_000_000_000)
            let authority = try await CertificateAuthority.open(directory: keys, at: date.date)
            let signer = authority.receiptSigner(for: .sandbox)
            let receipt = try SignedTransactionReceipt.signed(
                TransactionReceipt(
                    quantity: 1, productID: "com.example.app.coins", transactionID: "1", originalTransactionID: "1",
                    bundleID: "com.example.app", bundleVersion: "1", purchaseDate: date, originalPurchaseDate: date),
                environment: .sandbox, certificate: signer.leafCertificate, by: signer.signature(overSHA1Of:))
            try Data(receipt.bytes).write(to: directory.url.appendingPathComponent("receipt"))
            let data = directory.url.appendingPathComponent("data")
            for folder in ["authority", "roots"] {
                try FileManager.default.createDirectory(
                    at: data.appendingPathComponent(folder), withIntermediateDirectories: true)
            }
            try Data(authority.receiptRoot).write(to: data.appendingPathComponent("roots/receipt-root.der"))
            func reason() async throws -> String? {
                let options = ["--data", data.path, "--json"]
                return try await Capture.run(["receipt", "verify", directory.path("receipt")] + options)
                    .output.object()["reason"] as? String
            }
            #expect(try await reason() == "unknown-issuer")
            // A store whose authority is in its database writes the certificate beside the roots.
            let published = data.appendingPathComponent("roots/receipt-intermediate.der")
            try Data(signer.certificates[1]).write(to: published)
            #expect(try await reason() == "ok")
            try FileManager.default.removeItem(at: published)
            let name = "receipt-intermediate.pem"
            try FileManager.default.copyItem(
                at: keys.appendingPathComponent(name), to: data.appendingPathComponent("authority/\(name)"))
            #expect(try await reason() == "ok")
        }
    }

    @Test(
        .enabled(if: Fixtures.directory != nil, "no fixtures"),
        arguments: [
            (["--bundle-id", "dev.bonzer.weeka.app"], "ok"), (["--bundle-id", "com.example.other"], "wrong-bundle-id"),
            (["--app-version", "none"], "wrong-version"),
            (["--device-id", "956328D9-CC6A-47F4-BE40-6953FB0AB6C7"], "ok"),
            (["--device-id", "00000000-0000-0000-0000-000000000000"], "wrong-device-hash"),
        ])
    func expectationsAreChecked(_ options: [String], _ reason: String) async throws {
        let file = try #require(Self.files("app-receipts", ".b64").first { $0.contains("dev.bonzer") })
        let result = await Capture.run(
            ["receipt", "verify", try path(file), "--root", try path(root), "--json"] + options)
        #expect(try result.output.object()["reason"] as? String == reason)
        #expect(result.status == (reason == "ok" ? 0 : 1))
    }

    @Test(.enabled(if: Fixtures.directory != nil, "no fixtures"))
    func binaryWrappedAndPEMAreTheSame() async throws {
        let file = try #require(Self.files("app-receipts", ".b64").first { $0.contains("cocoanetics") })
        let text = String(decoding: try #require(try Fixtures.data(file)), as: UTF8.self)
        let binary = try #require(Data(base64Encoded: text.filter { !$0.isWhitespace }))
        let certificate = try #require(try Fixtures.data(root)).base64EncodedString(options: .lineLength64Characters)
        try await TemporaryDirectory.with { directory in
            let wrapped = binary.base64EncodedString(options: [
                .lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
            ])
            try binary.write(to: directory.url.appendingPathComponent("binary"))
            try Data(wrapped.utf8).write(to: directory.url.appendingPathComponent("wrapped"))
            let pem = "-----BEGIN CERTIFICATE-----\n\(certificate)\n-----END CERTIFICATE-----\n"
            try Data(pem.utf8).write(to: directory.url.appendingPathComponent("root.pem"))
            for name in ["binary", "wrapped"] {
                let result = await Capture.run([
                    "receipt", "verify", directory.path(name), "--root", directory.path("root.pem"),
                ])
                #expect(result.status == 0, "\(name): \(result.errors)\(result.output)")
                #expect(result.output.hasPrefix("✓ genuine\n"))
            }
        }
    }

    @Test func aFileThatIsNotAReceiptGivesTheSameDocument() async throws {
        try await TemporaryDirectory.with { directory in
            try Data("no receipt".utf8).write(to: directory.url.appendingPathComponent("x"))
            let result = await Capture.run(["receipt", "inspect", directory.path("x"), "--json"])
            #expect(result.status == 1)
            #expect(
                result.output == """
                    {
                      "applicationVersion" : null,
                      "bundleId" : null,
                      "creationDate" : null,
                      "detail" : "neither an app receipt nor a transaction receipt, nor Base64 of one, nor a JWS",
                      "environment" : null,
                      "inApp" : [

                      ],
                      "kind" : null,
                      "reason" : "malformed",
                      "valid" : false
                    }

                    """)
        }
    }

    @Test(arguments: ["/dev/zero"])
    func endlessInputIsRefused(_ file: String) async {
        let result = await Capture.run(["receipt", "inspect", file])
        #expect(result.status == 1)
        #expect(result.errors.contains("too large"))
    }
}
