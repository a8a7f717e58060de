import Foundation
import StoreWire
import Testing

@Suite("A restore's messages have the published form", .timeLimit(.minutes(1)))
struct RestoreWireFormatTests {
    private let wire = WireFormatTests()

    @Test func restores() throws {
        let device = try #require(UUID(uuidString: "0A0B0C0D-0000-4000-8000-0102030405FF"))
        try wire.expect(
            RestoreRequest(
                idempotencyKey: WireFormatTests.key, bundleID: "com.example.monkeys", deviceID: device,
                applicationUsername: nil, after: nil),
            #"{"bundleId":"com.example.monkeys","deviceId":"0A0B0C0D-0000-4000-8000-0102030405FF","#
                + #""idempotencyKey":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70"}"#)
        try wire.expect(
            RestoreRequest(
                idempotencyKey: WireFormatTests.key, bundleID: "com.example.monkeys", deviceID: device,
                applicationUsername: "ape", after: TransactionID(rawValue: 2_000_000_123_456_789)),
            #"{"after":"2000000123456789","applicationUsername":"ape","bundleId":"com.example.monkeys","#
                + #""deviceId":"0A0B0C0D-0000-4000-8000-0102030405FF","#
                + #""idempotencyKey":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70"}"#)
        try wire.expectAnswer(
            RestoreResponse(
                transactions: [WireFormatTests.transaction], next: TransactionID(rawValue: 2_000_000_123_456_789)),
            #"{"transactions":["# + WireFormatTests.transactionJSON + #"],"next":"2000000123456789"}"#)
        try wire.expectAnswer(RestoreResponse(transactions: [], next: nil), #"{"transactions":[]}"#)
    }

    @Test func aReceiptWithTestProperties() throws {
        let plain = AppReceiptRequest(bundleID: "a.b", bundleVersion: "1", vendorIdentifier: WireFormatTests.key)
        let written =
            #""bundleId":"a.b","bundleVersion":"1","#
        let vendor = #""vendorIdentifier":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70"}"#
        try wire.expect(plain, "{" + written + vendor)
        var pretended = plain
        pretended.pretence = ReceiptPretence(isExpired: true, isRevoked: false, isVolumePurchase: true)
        try wire.expect(
            pretended,
            "{" + written + #""pretence":{"isExpired":true,"isRevoked":false,"isVolumePurchase":true},"# + vendor)
    }
}
