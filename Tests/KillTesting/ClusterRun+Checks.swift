import Foundation
import KillTestApp
import MerchantServer
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport

/// What is checked before and after the customers' work, when all stores run.
extension ClusterRun {
    // MARK: Numbers

    /// Each store has the number that it was given and knows of all others.
    func checkNumbers() async throws {
        for (index, address) in await cluster.stores.controlPorts().enumerated() {
            // The numbers of the stores begin with 1.
            let number = index + 1
            let settings = try await HTTPReply.fromCurrent {
                try await HTTPReply("GET", "\(address)/control/v1/settings")
            }
            if let node = settings.json["node"] as? Int {
                findings.check(node == number, "store \(number) has the number \(node)")
            } else {
                findings.add("store \(number) names no number: \(settings.status) \(settings.text.prefix(200))")
            }
            let expected = "store_processes \(cluster.stores.count)\n"
            // A store that has just started is known to the others after their next beat.
            let metrics = try await HTTPReply.eventually {
                try await HTTPReply("GET", "\(address)/metrics")
            } until: {
                $0.text.contains(expected)
            }
            findings.check(
                metrics.text.contains(expected), "store \(number) does not know of \(cluster.stores.count) processes")
        }
    }

    // MARK: Content

    /// Uploads a package. A store that does not have the upload says which one to use.
    func uploadAcross() async throws {
        let stores = await cluster.stores.controlPorts()
        func send(
            _ method: String, _ address: String, _ path: String, _ body: [UInt8], type: String = "application/json"
        ) async throws -> HTTPReply {
            try await HTTPReply.fromCurrent {
                try await HTTPReply(method, "\(address)/control/v1/content/\(path)", type: type, body: body)
            }
        }
        func json(_ object: [String: Any]) throws -> [UInt8] {
            Array(try JSONSerialization.data(withJSONObject: object))
        }
        let product: [String: Any] = ["bundleId": StoreProcess.bundleID, "productId": "wand"]
        let hosting = try await send(
            "PUT", stores[0], "hosting", try json(product.merging(["hosted": true]) { $1 }))
        guard hosting.status == 200 else { throw KillTestError("no hosting: \(hosting.text.prefix(300))") }
        let package = try SampleContent.package("wand", "1.0", size: 20_000)
        let begun = try await send(
            "POST", stores[1], "uploads",
            try json(
                product.merging(["length": package.count, "sha256": KillTestApp.sha256(package)]) { $1 }))
        guard begun.status == 201, let id = begun.json["uploadId"] as? String else {
            throw KillTestError("no upload: \(begun.status) \(begun.text.prefix(300))")
        }
        func append(at address: String) async throws -> HTTPReply {
            try await send("PATCH", address, "uploads/\(id)?offset=0", package, type: "application/octet-stream")
        }
        // The stores tell each other where their uploads are with their beats.
        let refused = try await HTTPReply.eventually {
            try await append(at: stores[0])
        } until: {
            $0.status == 421
        }
        let node = refused.headers["cornerstore-process"].flatMap { Int($0, radix: 16) }
        findings.check(
            refused.status == 421 && refused.code == "other_process" && node == 2,
            "the bytes of an upload at another store: \(refused.status) \(refused.text.prefix(200))")
        // The numbers of the stores begin with 1.
        guard let node, stores.indices.contains(node - 1) else { return }
        let sent = try await append(at: stores[node - 1])
        findings.check(sent.status == 200, "the bytes of an upload: \(sent.status) \(sent.text.prefix(200))")
        let completed = try await send("POST", stores[node - 1], "uploads/\(id)/complete", Array("{}".utf8))
        findings.check(
            completed.status == 200, "the end of an upload: \(completed.status) \(completed.text.prefix(200))")
        for store in stores {
            let listed = try await HTTPReply.eventually {
                try await HTTPReply("GET", "\(store)/control/v1/content")
            } until: {
                $0.text.contains(KillTestApp.sha256(package))
            }
            findings.check(
                listed.text.contains(KillTestApp.sha256(package)),
                "a store does not know the package: \(listed.text.prefix(300))")
        }
    }

    // MARK: Signatures

    /// Makes a key of the App Store Server API, at any store.
    func makeKey(_ control: PatientClient) async throws -> StoreAPIKey {
        let made = try await control.settle(
            "POST", "/control/v1/api-keys", json: ["bundleId": StoreProcess.bundleID])
        guard let key = made.json["key"] as? [String: Any], let keyID = key["keyId"] as? String,
            let issuerID = key["issuerId"] as? String, let pem = made.json["privateKey"] as? String
        else { throw KillTestError("no API key: \(made.status) \(made.text.prefix(300))") }
        return try StoreAPIKey(
            bundleID: BundleID(StoreProcess.bundleID), keyID: keyID, issuerID: issuerID, pem: pem)
    }

    /// A transaction as a store signs it for the app's server; nil when it does not.
    func signedTransaction(
        _ transaction: String, _ api: StoreAPIKey, at client: PatientClient
    ) async throws -> [UInt8]? {
        let token = try api.token(at: Int64(Date().timeIntervalSince1970))
        let reply = try await client.settle("GET", "/inApps/v1/transactions/\(transaction)", token: token)
        guard reply.status == 200, let signed = reply.json["signedTransactionInfo"] as? String else {
            findings.add("\(transaction) is not signed: \(reply.status) \(reply.text.prefix(200))")
            return nil
        }
        return Array(signed.utf8)
    }

    /// Asks every store for transactions that any of them made.
    func checkSignatures(_ customers: [ClusterCustomer], _ api: StoreAPIKey) async throws {
        let verifier = try ReceiptVerifier(roots: [cluster.setup.authority.jwsRoot])
        let expectation = ReceiptExpectation(bundleID: StoreProcess.bundleID)
        for address in await cluster.stores.sandboxes() {
            let store = PatientClient(addresses: [address], findings: findings)
            for transaction in customers.prefix(8).compactMap(\.bought.first) {
                guard let signed = try await signedTransaction(transaction, api, at: store) else { continue }
                if case .failure(let rejection) = await verifier.verifySignedPayload(signed, expecting: expectation) {
                    findings.add("a signature of \(transaction) is not valid: \(rejection)")
                }
            }
        }
    }

    /// Brings a receipt to every merchant. Nothing is left in it to redeem, which only a valid receipt shows.
    func verify(_ receipt: String, of customer: ClusterCustomer, at merchants: [MerchantProcess]) async throws {
        let token = try await cluster.setup.token(UserID(rawValue: customer.user))
        for merchant in merchants {
            let reply = try await MerchantCaller(merchant).settle(
                .redemptions, as: token, Array(Data(base64Encoded: receipt) ?? Data()),
                type: "application/octet-stream")
            findings.check(
                reply.status == 200 || reply.code == "nothing_to_redeem",
                "a merchant refuses a receipt of \(customer.email): \(reply.status) \(reply.code ?? "")")
        }
    }
}
