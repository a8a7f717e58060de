import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("What apps' servers say of consumption", .timeLimit(.minutes(1))) struct ConsumptionAnswerTests {
    private typealias Scene = APIScene

    private static let minute: Int64 = 60_000

    @Test(arguments: Backend.available) func theLastAnswerInTimeIsKept(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let account = try await scene.test.account()
            let id = try await scene.test.buy("credits5", by: account).transactionID
            // Without a request it is accepted.
            try await scene.answer(id)
            let made = try await scene.store.requestRefund(of: id, reason: .other)
            let token = "F47AC10B-58CC-4372-A567-0E02B2C3D479"
            try await scene.answer(
                id, ["appAccountToken": "\"\(token)\"", "refundPreference": "2", "playTime": "7", "more": "[{}]"],
                version: 1)
            var kept = try #require(try await scene.store.refundRequest(made.requestID).consumption)
            #expect(kept.version == 1 && kept.preference == .decline && kept.consumed == nil)
            var members = try scene.object(Array(kept.json.utf8))
            #expect(members.count == 12 && members["more"] == nil)
            #expect(members["appAccountToken"] as? String == token.lowercased() && members["playTime"] as? Int == 7)

            try await scene.answer(
                id, ["consumptionPercentage": "67932", "refundPreference": "\"GRANT_PRORATED\"", "userStatus": "9"])
            kept = try #require(try await scene.store.refundRequest(made.requestID).consumption)
            #expect(kept.version == 2 && kept.preference == .grantProrated && kept.consumed == 67_932)
            members = try scene.object(Array(kept.json.utf8))
            #expect(
                Set(members.keys) == [
                    "customerConsented", "sampleContentProvided", "deliveryStatus", "consumptionPercentage",
                    "refundPreference",
                ])
            // A body with an error changes nothing, and neither does a late one.
            await #expect(throws: APIError.self) { try await scene.answer(id, ["customerConsented": "false"]) }
            try await scene.advance(by: 5 * Self.minute - 1)
            try await scene.answer(id, ["refundPreference": "\"DECLINE\""])
            #expect(try await scene.store.refundRequest(made.requestID).consumption?.preference == .decline)
            try await scene.advance(by: 1)
            try await scene.answer(id, ["refundPreference": "\"GRANT_FULL\""])
            var request = try await scene.store.refundRequest(made.requestID)
            #expect(request.state == .waiting && request.consumption?.preference == .decline)
            // After the decision, too.
            _ = try await scene.store.decideRefund(made.requestID, .decline)
            try await scene.advance(by: -Self.minute)
            try await scene.answer(id, ["refundPreference": "\"GRANT_FULL\""])
            request = try await scene.store.refundRequest(made.requestID)
            #expect(request.state == .declined && request.consumption?.preference == .decline)
        }
    }

    private static let badNumbers: [(name: String, most: Int, error: APIError)] = [
        ("accountTenure", 7, .invalidAccountTenure), ("consumptionStatus", 3, .invalidConsumptionStatus),
        ("deliveryStatus", 5, .invalidDeliveryStatus),
        ("lifetimeDollarsPurchased", 7, .invalidLifetimeDollarsPurchased),
        ("lifetimeDollarsRefunded", 7, .invalidLifetimeDollarsRefunded), ("platform", 2, .invalidPlatform),
        ("playTime", 7, .invalidPlayTime), ("userStatus", 4, .invalidUserStatus),
    ]

    @Test func badBodiesOfVersion1HaveApplesErrors() throws {
        for (name, most, error) in Self.badNumbers {
            for value in ["-1", "\(most + 1)", "1.5", "1e0", "\"1\"", "true", "null", "[1]", nil] {
                #expect(throws: error, "\(name) \(value ?? "missing")") {
                    try ConsumptionAnswer(Scene.body(1, [name: value]), version: 1)
                }
            }
            for value in ["0", "\(most)"] { _ = try ConsumptionAnswer(Scene.body(1, [name: value]), version: 1) }
        }
        for value in ["-1", "4", "\"1\"", "\"DECLINE\"", "1.0", "false"] {
            #expect(throws: APIError.invalidRefundPreference, "\(value)") {
                try ConsumptionAnswer(Scene.body(1, ["refundPreference": value]), version: 1)
            }
        }
        for (value, preference) in [
            ("0", nil), ("1", .grantFull), ("2", .decline), ("3", nil), ("null", nil), (nil, nil),
        ] as [(String?, RefundPreference?)] {
            let answer = try ConsumptionAnswer(Scene.body(1, ["refundPreference": value]), version: 1)
            #expect(answer.preference == preference, "\(value ?? "missing")")
        }
        for value in ["\"x\"", "\" \"", "7", "null", "\"f47ac10b58cc4372a5670e02b2c3d479\"", nil] {
            #expect(throws: APIError.invalidAppAccountToken, "\(value ?? "missing")") {
                try ConsumptionAnswer(Scene.body(1, ["appAccountToken": value]), version: 1)
            }
        }
    }

    @Test func badBodiesOfVersion2HaveApplesErrors() throws {
        for value in ["0", "\"delivered\"", "\"\"", "\"UNDELIVERED\"", "null", "true", nil] {
            #expect(throws: APIError.invalidDeliveryStatus, "\(value ?? "missing")") {
                try ConsumptionAnswer(Scene.body(2, ["deliveryStatus": value]), version: 2)
            }
        }
        for value in ["0", "\"grant_full\"", "\"\"", "\"GRANT\"", "[]"] {
            #expect(throws: APIError.invalidRefundPreference, "\(value)") {
                try ConsumptionAnswer(Scene.body(2, ["refundPreference": value]), version: 2)
            }
        }
        for (value, preference) in [
            ("\"DECLINE\"", .decline), ("\"GRANT_FULL\"", .grantFull), ("\"GRANT_PRORATED\"", .grantProrated),
            ("null", nil), (nil, nil),
        ] as [(String?, RefundPreference?)] {
            let answer = try ConsumptionAnswer(Scene.body(2, ["refundPreference": value]), version: 2)
            #expect(answer.preference == preference, "\(value ?? "missing")")
        }
        for value in ["-1", "100001", "1.5", "\"1\"", "99999999999999999999"] {
            #expect(throws: APIError.badRequest, "\(value)") {
                try ConsumptionAnswer(Scene.body(2, ["consumptionPercentage": value]), version: 2)
            }
        }
        for status in ["QUALITY_ISSUE", "WRONG_ITEM", "SERVER_OUTAGE", "OTHER"].map({ "\"UNDELIVERED_\($0)\"" }) {
            let nothing: [String: String?] = ["deliveryStatus": status, "consumptionPercentage": "0"]
            #expect(try ConsumptionAnswer(Scene.body(2, nothing), version: 2).consumed == 0)
            #expect(throws: APIError.badRequest, "\(status)") {
                try ConsumptionAnswer(
                    Scene.body(2, ["deliveryStatus": status, "consumptionPercentage": "1"]), version: 2)
            }
        }
    }

    @Test(arguments: [1, 2]) func badBodiesOfBothVersionsHaveApplesErrors(_ version: Int) throws {
        for value in ["false", "null", "1", "\"true\"", nil] {
            #expect(throws: APIError.invalidCustomerConsented, "\(value ?? "missing")") {
                try ConsumptionAnswer(Scene.body(version, ["customerConsented": value]), version: version)
            }
        }
        for value in ["null", "0", "\"false\"", nil] {
            #expect(throws: APIError.invalidSampleContentProvided, "\(value ?? "missing")") {
                try ConsumptionAnswer(Scene.body(version, ["sampleContentProvided": value]), version: version)
            }
        }
        for text in ["", "{", "[]", "null", "{} {}", "{\"playTime\": 1, \"playTime\": 2}"] {
            #expect(throws: APIError.badRequest, "\(text)") {
                try ConsumptionAnswer(Array(text.utf8), version: version)
            }
        }
    }

    /// Numbers and texts are Apple's.
    @Test func theErrorsAreApples() {
        let errors: [APIError] = [
            .invalidAccountTenure, .invalidAppAccountToken, .invalidConsumptionStatus, .invalidCustomerConsented,
            .invalidDeliveryStatus, .invalidLifetimeDollarsPurchased, .invalidLifetimeDollarsRefunded,
            .invalidPlatform, .invalidPlayTime, .invalidSampleContentProvided, .invalidUserStatus,
        ]
        #expect(errors.map(\.code) == Array(4_000_032...4_000_042))
        #expect(APIError.invalidRefundPreference.code == 4_000_044)
        #expect(APIError.transactionTypeNotSupported.code == 4_000_047)
        #expect(APIError.percentageOfSubscription.code == 4_000_209 && APIError.familyShared.code == 4_000_185)
        #expect(errors.allSatisfy { $0.status == 400 && $0.message.hasPrefix("Invalid request. The ") })
    }

    @Test(arguments: Backend.available) func otherTransactionsHaveApplesErrors(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let scene = try await Scene(home.test)
            let gym = try await home.test.buy("gym.monthly", by: home.anna).transactionID
            let hats = try await home.test.buy("hats", by: home.anna).transactionID
            let season = try await home.test.buy("season", by: home.anna).transactionID
            for version in [1, 2] {
                for (id, app, error) in [
                    ("abc", TestStore.bundleID, .invalidTransactionID),
                    ("0", TestStore.bundleID, .invalidTransactionID),
                    ("7", TestStore.bundleID, .transactionNotFound),
                    (gym.description, "com.example.other", .transactionNotFound),
                    (AppTransactionID(gym).description, TestStore.bundleID, .appTransactionNotSupported),
                ] as [(String, BundleID, APIError)] {
                    await #expect(throws: error, "\(id)") {
                        try await scene.api.consumption(id, Scene.body(version), version: version, of: app)
                    }
                }
                for share in try await home.ledger(home.ben) {
                    await #expect(throws: APIError.familyShared) {
                        try await scene.answer(share.transactionID, version: version)
                    }
                }
            }
            try await scene.answer(gym, version: 1)
            try await scene.answer(gym)
            await #expect(throws: APIError.percentageOfSubscription) {
                try await scene.answer(gym, ["consumptionPercentage": "0"])
            }
            for id in [hats, season] {
                await #expect(throws: APIError.transactionTypeNotSupported) { try await scene.answer(id, version: 1) }
                // Version 2 is for all products.
                let made = try await scene.store.requestRefund(of: id, reason: .other)
                try await scene.answer(id, ["consumptionPercentage": "1000"])
                #expect(try await scene.store.refundRequest(made.requestID).consumption?.consumed == 1000)
            }
            // The identifier of a restore is good, too.
            let made = try await scene.store.requestRefund(of: gym, reason: .other)
            try await scene.store.finish(gym, of: home.anna)
            let restored = try await scene.store.restore(
                RestoreRequest(
                    idempotencyKey: UUID(), bundleID: TestStore.bundleID, deviceID: TestStore.device,
                    applicationUsername: nil, after: nil), for: home.anna)
            try await scene.answer(try #require(restored.transactions.first).transactionID)
            #expect(try await scene.store.refundRequest(made.requestID).consumption?.version == 2)
        }
    }
}
