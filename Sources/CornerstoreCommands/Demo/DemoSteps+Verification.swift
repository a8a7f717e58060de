import Foundation
import StoreReceipts
import StoreWire

/// The steps of the app's own server, which verifies the receipt.
extension DemoSteps {
    func verify() async throws {
        let file = places.path("device/apps/\(Self.bundleID)/sandboxReceipt")
        let receipt = try BoundedInput.read(file.path, limit: ReceiptLimits.standard.byteCount, what: "receipt")
        try await verifyReceipt(receipt)
        try await openSSL(file, receipt)
    }

    private func verifyReceipt(_ receipt: [UInt8]) async throws {
        teller.begin("The app's server sends the receipt to verifyReceipt")
        teller.explain("First to production, as Apple advises:")
        let request = VerifyReceiptRequest(receiptData: receipt, password: nil, excludeOldTransactions: false).body
        teller.show("POST \(addresses.production)/verifyReceipt")
        let production = try await post(request, to: .production)
        teller.show("status \(production.status)")
        try teller.check(
            "production answers 21007: the receipt is from the sandbox", production.status == 21007,
            "\(production.status)")
        teller.show("POST \(addresses.sandbox)/verifyReceipt")
        let sandbox = try await post(request, to: .sandbox)
        teller.show("status \(sandbox.status), environment \(sandbox.environment ?? "none")")
        for purchase in sandbox.receipt?.inApp ?? [] {
            let fields = ["transaction_id", "product_id", "quantity", "purchase_date"].map {
                "\($0) \(purchase[$0] ?? "none")"
            }
            teller.show("in_app: " + fields.joined(separator: ", "))
        }
        try teller.check(
            "the sandbox answers 0: the receipt is genuine", sandbox.status == 0 && sandbox.environment == "Sandbox",
            "\(sandbox)")
        let ledger = try await transactions()
        let bought = sandbox.receipt?.inApp.first { $0["product_id"] == Self.ten }
        try teller.check(
            "the last purchase in in_app matches the ledger",
            bought?["transaction_id"] == ledger.first?.transactionId && bought?["quantity"] == "3", "\(sandbox)")
    }

    private func openSSL(_ file: URL, _ receipt: [UInt8]) async throws {
        teller.begin("OpenSSL verifies the receipt")
        guard let openSSL = places.openSSL else {
            teller.explain("openssl is not installed. This step is skipped.")
            return
        }
        let root = try BoundedInput.read(
            places.path("roots/receipt-root.der").path, limit: 64 << 10, what: "certificate")
        let pem = places.path("receipt-root.pem")
        let body = Data(root).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        try Data("-----BEGIN CERTIFICATE-----\n\(body)\n-----END CERTIFICATE-----\n".utf8).write(
            to: pem, options: .atomic)
        let payload = places.path("payload.der")
        teller.show("openssl cms -verify -inform DER -in sandboxReceipt -CAfile receipt-root.pem -out payload.der")
        let arguments = [
            "cms", "-verify", "-inform", "DER", "-in", file.path, "-CAfile", pem.path, "-out", payload.path,
        ]
        let result = try await ChildProcess(
            executable: openSSL, arguments: arguments, environment: ["PATH": "/usr/bin:/bin"], input: ""
        ).run(within: .seconds(60))
        teller.show(result.all)
        try teller.check("the signature and the certificate chain are valid", result.status == 0, result.all)
        let parsed = try ReceiptContainer.parse(receipt)
        let found = try BoundedInput.read(payload.path, limit: ReceiptLimits.standard.byteCount, what: "payload")
        try teller.check("the extracted payload is the one that verifyReceipt read", found == parsed.payload)
    }

    private struct Answer: Decodable {
        struct Receipt: Decodable {
            var inApp: [[String: String]]

            enum CodingKeys: String, CodingKey { case inApp = "in_app" }
        }

        var status: Int
        var environment: String?
        var receipt: Receipt?
    }

    private func post(_ body: [UInt8], to environment: StoreEnvironment) async throws -> Answer {
        let url = addresses.store(environment) + StoreRoute.verifyReceipt.path
        let answer = try await PlainHTTP.send("POST", url, body: Data(body), limit: 1 << 20)
        guard answer.status == 200, let read = try? JSONDecoder().decode(Answer.self, from: answer.body) else {
            throw CommandError(.failed, "Cannot read the response of verifyReceipt (HTTP \(answer.status)).")
        }
        return read
    }
}
