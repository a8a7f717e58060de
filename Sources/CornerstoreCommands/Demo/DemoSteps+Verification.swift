import Foundation
import StoreReceipts
import StoreWire

/// The steps of the app's own server: it does not take the app's word for it.
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
            "production says 21007: this receipt is from the sandbox", production.status == 21007,
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
            "the sandbox says 0: it is genuine", sandbox.status == 0 && sandbox.environment == "Sandbox", "\(sandbox)")
        let ledger = try await transactions()
        let bought = sandbox.receipt?.inApp.first { $0["product_id"] == Self.ten }
        try teller.check(
            "in_app has the last purchase as the ledger has it",
            bought?["transaction_id"] == ledger.first?.transactionId && bought?["quantity"] == "3", "\(sandbox)")
    }

    private func openSSL(_ file: URL, _ receipt: [UInt8]) async throws {
        teller.begin("OpenSSL agrees")
        guard let openSSL = places.openSSL else {
            teller.explain("openssl is not installed: left out.")
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
        try teller.check("the signature and the chain to the store's root are good", result.status == 0, result.all)
        let parsed = try ReceiptContainer.parse(receipt)
        let found = try BoundedInput.read(payload.path, limit: ReceiptLimits.standard.byteCount, what: "payload")
        try teller.check("what it extracts is the payload that verifyReceipt read", found == parsed.payload)
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
            throw CommandError(.failed, "verifyReceipt answered HTTP \(answer.status) and not in its JSON.")
        }
        return read
    }
}
