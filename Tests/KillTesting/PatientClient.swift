import Foundation
import StoreWire
import Synchronization
import TestSupport

/// What a run found wrong, one sentence each.
final class Findings: Sendable {
    private let sentences = Mutex<[String]>([])

    func add(_ sentence: String) { sentences.withLock { $0.append(sentence) } }

    /// Adds a sentence unless a condition holds.
    func check(_ condition: Bool, _ sentence: @autoclosure () -> String) {
        if !condition { add(sentence()) }
    }

    var all: [String] { sentences.withLock { $0 } }
}

extension HTTPReply {
    /// Asks again and again until the answer is right, for half a minute at most.
    /// - Returns: the last answer.
    static func eventually(
        _ ask: () async throws -> HTTPReply, until isRight: (HTTPReply) -> Bool
    ) async throws -> HTTPReply {
        let end = ContinuousClock.now + .seconds(30)
        while true {
            let reply = try await ask()
            if isRight(reply) || ContinuousClock.now >= end { return reply }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Asks again while a store answers that it has not heard the others for five seconds, as when the machine stood
    /// still. It has done nothing then.
    static func fromCurrent(_ ask: () async throws -> HTTPReply) async throws -> HTTPReply {
        try await eventually(ask) { $0.status != 503 }
    }
}

/// Sends a request until it is answered, each time to the next address, as devices and operators repeat theirs.
struct PatientClient: Sendable {
    let addresses: [String]
    let findings: Findings
    /// Where the first attempt goes, an index of the addresses; nil for any of them.
    var first: Int?
    /// The bearer token of requests that have no other.
    var token: String?

    /// Returns the first answer but 502, 503 and 504, which mean that a server is away. A 500 is never right.
    /// - Throws: ``KillTestError`` when there is no answer for a minute.
    func settle(
        _ method: String, _ path: String, token: String? = nil, body: [UInt8]? = nil
    ) async throws -> HTTPReply {
        let end = ContinuousClock.now + .seconds(60)
        var attempt = first ?? Int.random(in: addresses.indices)
        var last = ""
        while ContinuousClock.now < end {
            let address = addresses[attempt % addresses.count]
            attempt += 1
            do {
                let reply = try await HTTPReply(method, address + path, token: token ?? self.token, body: body)
                switch reply.status {
                case 502...504: last = "\(reply.status) \(reply.text.prefix(200))"
                case 500...:
                    last = "\(reply.status) \(reply.text.prefix(200))"
                    findings.add("\(method) \(path) was answered with \(last)")
                default: return reply
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                last = "\(error)"
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw KillTestError("\(method) \(path) was not answered: \(last)")
    }

    func settle(
        _ method: String, _ path: String, token: String? = nil, json: [String: Any]
    ) async throws -> HTTPReply {
        try await settle(
            method, path, token: token, body: Array(try JSONSerialization.data(withJSONObject: json)))
    }
}

/// A customer with a device.
struct ClusterCustomer: Sendable {
    /// The answer to a refused purchase.
    struct Refusal: Equatable {
        var status: Int
        /// The code of the error, or of the purchase's failure.
        var code: String
    }

    static let password = "banana-banana"
    let email: String
    let device: UUID
    /// The customer's name at the merchants.
    let user: String
    private(set) var token = ""
    /// The transactions whose purchase was answered.
    private(set) var bought: [String] = []
    /// Why the store refused the last purchase that it refused.
    private(set) var refusal = Refusal(status: 0, code: "")
    let client: PatientClient

    init(_ number: Int, _ client: PatientClient) {
        email = "customer\(number)@example.com"
        device = UUID()
        user = "user\(number)"
        self.client = client
    }

    /// The same customer, with the same device, at another store.
    init(_ other: ClusterCustomer, at client: PatientClient) {
        (email, device, user, token) = (other.email, other.device, other.user, other.token)
        self.client = client
    }

    /// Makes an account and signs in.
    /// - Parameter environment: that of the addresses of `device`.
    static func signUp(
        _ number: Int, _ device: PatientClient, _ control: PatientClient, in environment: StoreEnvironment = .sandbox
    ) async throws -> ClusterCustomer {
        var customer = ClusterCustomer(number, device)
        let made = try await control.settle(
            "POST", "/control/v1/\(environment.name)/accounts",
            json: ["email": customer.email, "password": password])
        // 409: an earlier attempt whose answer was lost.
        guard made.status == 201 || made.status == 409 else {
            throw KillTestError("no account: \(made.status) \(made.text.prefix(300))")
        }
        try await customer.signIn()
        return customer
    }

    mutating func signIn() async throws {
        let reply = try await client.settle(
            "POST", "/device/v1/session",
            json: ["email": email, "password": Self.password, "deviceId": device.uuidString])
        guard let token = reply.json["token"] as? String else {
            throw KillTestError("\(email) cannot sign in: \(reply.status) \(reply.text.prefix(300))")
        }
        self.token = token
    }

    /// Buys a consumable under a new key and finishes it.
    /// - Returns: the transaction; nil when the store refused the purchase.
    mutating func buy(_ product: String) async throws -> String? {
        guard let transaction = try await buyUnfinished(product) else { return nil }
        try await finish(transaction)
        return transaction
    }

    /// Buys a consumable under a new key. The app receipt has it until it is finished.
    /// - Returns: the transaction; nil when the store refused the purchase.
    mutating func buyUnfinished(_ product: String) async throws -> String? {
        let body: [String: Any] = [
            "idempotencyKey": UUID().uuidString, "bundleId": StoreProcess.bundleID, "productId": product,
            "quantity": 1, "simulatesAskToBuy": false,
        ]
        let reply = try await client.settle("POST", "/device/v1/purchases", token: token, json: body)
        guard reply.status == 200, reply.json["state"] as? String == "purchased" else {
            let failure = reply.json["failure"] as? [String: Any]
            refusal = Refusal(status: reply.status, code: reply.code ?? (failure?["code"] as? String) ?? "")
            return nil
        }
        guard let transaction = (reply.json["transaction"] as? [String: Any])?["transactionId"] as? String else {
            throw KillTestError("a purchase without a transaction: \(reply.text.prefix(300))")
        }
        bought.append(transaction)
        return transaction
    }

    func finish(_ transaction: String) async throws {
        let finished = try await client.settle(
            "POST", "/device/v1/transactions/\(transaction)/finish", token: token, body: [])
        guard (200..<300).contains(finished.status) else {
            throw KillTestError("\(transaction) cannot be finished: \(finished.status) \(finished.text.prefix(300))")
        }
    }

    /// The app receipt, Base64.
    func receipt() async throws -> String {
        let reply = try await client.settle(
            "POST", "/device/v1/receipt", token: token,
            json: [
                "bundleId": StoreProcess.bundleID, "bundleVersion": "1", "vendorIdentifier": device.uuidString,
            ])
        guard reply.status == 200 else {
            throw KillTestError("\(email) gets no receipt: \(reply.status) \(reply.text.prefix(300))")
        }
        return Data(reply.body).base64EncodedString()
    }

    func restore() async throws {
        let reply = try await client.settle(
            "POST", "/device/v1/restores", token: token,
            json: [
                "idempotencyKey": UUID().uuidString, "bundleId": StoreProcess.bundleID,
                "deviceId": device.uuidString,
            ])
        guard reply.status == 200 else {
            throw KillTestError("\(email) cannot restore: \(reply.status) \(reply.text.prefix(300))")
        }
    }

    /// Compares the purchases that were answered with the ledger. Every purchase is repeated until it is answered, so
    /// the ledger has no others.
    /// - Parameter ledger: the ids of the account's transactions.
    func compare(with ledger: [String], _ findings: Findings) {
        findings.check(ledger.count == Set(ledger).count, "the ledger of \(email) has a transaction twice")
        for lost in Set(bought).subtracting(ledger) {
            findings.add("\(lost) of \(email) was confirmed and is lost")
        }
        for strange in Set(ledger).subtracting(bought) {
            findings.add("\(strange) of \(email) is in the ledger and was never confirmed")
        }
    }
}
