import Foundation
import KillTestApp
import MerchantWire
import TestSupport

/// What one client was told by the merchant, and what it therefore holds for settled.
package struct MerchantKillLog: Sendable {
    package var user: UserID
    package var item: ContentItemID
    /// Transactions that were redeemed for this user.
    package var redeemed: Set<String> = []
    /// Those of them that gave content, which no account has.
    package var content: Set<String> = []
    /// Those that were another's.
    package var refused: Set<String> = []
    /// By key.
    package var spent: [String: Int64] = [:]
    package var unspent: Set<String> = []
    /// Transactions of whose refund the merchant has taken note.
    package var refunded: Set<String> = []
    /// The SHA-256 of each version of the item.
    package var uploads: [String] = []
    package var deliveries = 0
    /// What no kill explains.
    package var wrong: [String] = []

    package init(user: UserID, item: ContentItemID) {
        self.user = user
        self.item = item
    }
}

/// A user with an app, a backend that uploads, and the store's news, all by turns. Whatever breaks off is repeated
/// until it is answered.
struct MerchantKillClient: Sendable {
    private let setup: MerchantSetup
    private let caller: MerchantCaller
    private let number: Int
    private let token: String
    private let key: String
    private var chance: SeededGenerator
    private var next = 0
    private(set) var log: MerchantKillLog
    /// Hands out transactions that several clients bring.
    private let contested: @Sendable () -> String

    static let startingContent = 600_000

    init(
        _ setup: MerchantSetup, _ merchant: MerchantProcess, number: Int, key: String, seed: UInt64,
        contested: @escaping @Sendable () -> String
    ) async throws {
        self.setup = setup
        caller = MerchantCaller(merchant)
        self.number = number
        self.key = key
        chance = SeededGenerator(seed: seed)
        log = MerchantKillLog(user: UserID("user\(number)"), item: ContentItemID(Self.item(number)))
        token = try await setup.token(log.user)
        self.contested = contested
    }

    static func item(_ number: Int) -> String { "issue-\(number)" }

    /// What only this client brings.
    private mutating func newTransaction() -> String {
        next += 1
        return "2\(number + 1)" + String(repeating: "0", count: 14 - String(next).count) + String(next)
    }

    /// Puts content in and makes sure that the user may have it.
    mutating func begin() async throws {
        try await upload()
        let transaction = newTransaction()
        log.content.insert(transaction)
        try await redeem("get-\(Self.item(number))", transaction)
    }

    /// Does one thing.
    mutating func act() async throws {
        switch Int.random(in: 0..<20, using: &chance) {
        case 0..<6:
            let transaction = newTransaction()
            try await redeem("coins", transaction)
        case 6..<8: try await redeem("coins", contested())
        case 8..<13: try await spend()
        case 13..<16: try await refund()
        case 16..<18: try await deliver()
        case 18: try await upload()
        default: try await repeatSomething()
        }
    }

    private mutating func redeem(_ product: String, _ transaction: String) async throws {
        let reply = try await caller.settle(
            .redemptions, as: token, try setup.signed(product, transaction), type: "application/jose")
        switch (reply.status, reply.code) {
        case (200, _): log.redeemed.insert(transaction)
        case (_, "already_redeemed"): log.refused.insert(transaction)
        default: log.wrong.append("\(transaction) was answered with \(reply.status) \(reply.code ?? "")")
        }
    }

    private mutating func spend() async throws {
        next += 1
        let request = SpendRequest(
            key: "spend\(next)", currency: "coins", amount: Int64.random(in: 1...60, using: &chance))
        let reply = try await caller.settle(.spends, as: token, Array(try JSONEncoder().encode(request)))
        switch (reply.status, reply.code) {
        case (200, _): log.spent[request.key] = request.amount
        case (_, "insufficient_balance"): log.unspent.insert(request.key)
        default: log.wrong.append("\(request.key) was answered with \(reply.status) \(reply.code ?? "")")
        }
    }

    /// The store tells of a refund, sometimes twice.
    private mutating func refund() async throws {
        let open = log.redeemed.subtracting(log.refunded).filter { $0.hasPrefix("2\(number + 1)") }
            .subtracting(log.content).sorted()
        guard let transaction = open.randomElement(using: &chance) else { return }
        let body = try setup.notification("REFUND", "coins", transaction, id: UUID().uuidString)
        for _ in 0..<Int.random(in: 1...2, using: &chance) {
            let reply = try await caller.settle(.notifications, as: nil, body)
            if reply.status != 200 { log.wrong.append("a refund was answered with \(reply.status)") }
        }
        log.refunded.insert(transaction)
    }

    private mutating func upload() async throws {
        next += 1
        let bytes =
            Array("\(number) \(next) ".utf8)
            + SampleBytes.make(Self.startingContent + Int.random(in: 0..<1_000, using: &chance))
        let reply = try await caller.settle(
            .putContent(log.item), as: key, bytes, type: "application/octet-stream")
        let digest = KillTestApp.sha256(bytes)
        guard reply.status == 201, let version = try? reply.decoded(ContentVersion.self), version.digest == digest
        else {
            log.wrong.append("an upload was answered with \(reply.status) \(reply.code ?? "")")
            return
        }
        log.uploads.append(digest)
        if version.version != Int64(log.uploads.count) {
            log.wrong.append("upload \(log.uploads.count) became version \(version.version)")
        }
    }

    private mutating func deliver() async throws {
        let reply = try await caller.settle(.contentFile(log.item), as: token)
        if reply.status != 200 || KillTestApp.sha256(reply.body) != log.uploads.last {
            log.wrong.append("content was delivered with \(reply.status), or is not the newest")
        }
        log.deliveries += 1
    }

    /// What was answered is answered so again, however often the merchant has died since.
    private mutating func repeatSomething() async throws {
        if let (key, amount) = log.spent.sorted(by: { $0.key < $1.key }).randomElement(using: &chance) {
            let request = SpendRequest(key: key, currency: "coins", amount: amount)
            let reply = try await caller.settle(.spends, as: token, Array(try JSONEncoder().encode(request)))
            if reply.status != 200 { log.wrong.append("\(key), repeated, was answered with \(reply.status)") }
        }
        let kept = log.redeemed.subtracting(log.refunded).subtracting(log.content).sorted()
        if let transaction = kept.randomElement(using: &chance) { try await redeem("coins", transaction) }
    }
}

/// Bytes of content.
enum SampleBytes {
    static func make(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x2A, count: count) }
}
