import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A store whose app receives notifications and asks the Server API, with what tests of refunds and extensions do.
struct APIScene {
    let test: TestStore
    let api: ServerAPI
    let outbox: NotificationOutbox

    var store: Store { test.store }

    init(_ test: TestStore) async throws {
        self.test = test
        let identity = try await TestAuthority.value.jwsIdentity(for: test.store.environment)
        api = ServerAPI(
            test.store, identity: { identity },
            keys: try await APIKeys.open(test.databases), realTime: test.clock.now)
        outbox = NotificationOutbox(test.store) { identity }
        try await test.store.apps.setNotificationReceiver(
            try NotificationReceiver(url: "https://example.com/apple"), of: TestStore.bundleID,
            in: test.store.environment)
    }

    // MARK: Bodies

    private static let usual: [Int: [String: String]] = [
        1: [
            "accountTenure": "0", "appAccountToken": "\"\"", "consumptionStatus": "0", "customerConsented": "true",
            "deliveryStatus": "0", "lifetimeDollarsPurchased": "0", "lifetimeDollarsRefunded": "0", "platform": "0",
            "playTime": "0", "sampleContentProvided": "false", "userStatus": "0",
        ],
        2: ["customerConsented": "true", "deliveryStatus": "\"DELIVERED\"", "sampleContentProvided": "false"],
    ]

    /// A body with all members that are required.
    /// - Parameter changes: members with other values, in JSON; nil leaves a member out.
    static func body(_ version: Int, _ changes: [String: String?] = [:]) -> [UInt8] {
        var members = usual[version] ?? [:]
        for (name, value) in changes { members[name] = value }
        let texts = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }
        return Array("{\(texts.joined(separator: ", "))}".utf8)
    }

    func answer(
        _ id: TransactionID, _ changes: [String: String?] = [:], version: Int = 2
    ) async throws {
        try await api.consumption(
            id.description, Self.body(version, changes), version: version, of: TestStore.bundleID)
    }

    // MARK: What the store says

    /// The news of a subscription, the oldest first.
    func news(_ original: TransactionID) async throws -> [String] {
        try await store.news(of: original).reversed().map {
            [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        }
    }

    /// The notifications of a transaction, the oldest first.
    func notifications(_ id: TransactionID) async throws -> [String] {
        try await outbox.list(NotificationFilter(limit: 200)).rows.reversed().filter { $0.transactionID == id }.map {
            [$0.type, $0.subtype].compactMap(\.self).joined(separator: "/")
        }
    }

    func object(_ json: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    /// The member `data` of the payloads of all notifications of a type. They are sent.
    func data(_ type: String) async throws -> [[String: Any]] {
        var found: [[String: Any]] = []
        while true {
            let due = try await outbox.due(of: TestStore.bundleID, limit: 100)
            guard !due.isEmpty else { return found }
            for notification in due {
                let payload = try object(try SignedPayload.parse(Array(notification.signedPayload.utf8)).payload)
                if notification.type == type { found.append(try #require(payload["data"] as? [String: Any])) }
                try await outbox.record(
                    SendAttempt(date: store.clock.milliseconds, result: .success), of: notification)
            }
        }
    }

    func transaction(_ id: TransactionID) async throws -> Transaction {
        try #require(try await test.database.read { try Transactions.find(id, $0) })
    }

    /// Moves the clock, and does what is due then.
    func advance(by milliseconds: Int64) async throws {
        try await store.changeClock { try $0.advance(by: milliseconds) }
    }

    /// Moves the clock to a request's deadline.
    func pass(_ request: RefundRequest) async throws {
        try await advance(by: request.deadline - store.clock.milliseconds)
    }
}

extension Backend {
    /// Runs a test with a store whose app receives notifications, and whose rule is to ask the operator.
    func withRefunds(
        _ environment: StoreEnvironment = .sandbox, processor: (any PaymentProcessor)? = nil,
        _ body: (APIScene) async throws -> Void
    ) async throws {
        try await withStore(environment, processor: processor) { test async throws in
            try await test.store.setRefundRule(.ask)
            try await body(try await APIScene(test))
        }
    }
}
