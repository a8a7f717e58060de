import Foundation
import StoreWire
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1))) struct VerifyReceiptStatusTests {
    /// What leads to a status, and the whole answer of the sandbox's host.
    struct Row: CustomTestStringConvertible, Sendable {
        var outcome: VerificationOutcome
        var status: Int
        var body: String
        var testDescription: String { "\(outcome)" }
    }

    static let rows: [Row] = [
        Row(outcome: .notPost, status: 21_000, body: #"{"status":21000}"#),
        Row(outcome: .notJSON, status: 21_000, body: #"{"status":21000}"#),
        Row(outcome: .malformedReceipt, status: 21_002, body: #"{"status":21002}"#),
        Row(outcome: .secretMismatch, status: 21_004, body: #"{"environment":"Sandbox","status":21004}"#),
        Row(
            outcome: .ordered(21_005), status: 21_005,
            body: #"{"environment":"Sandbox","status":21005,"is_retryable":true}"#),
        Row(
            outcome: .wrongEnvironment(receipt: .sandbox, host: .production), status: 21_007, body: #"{"status":21007}"#
        ),
        Row(
            outcome: .wrongEnvironment(receipt: .production, host: .sandbox), status: 21_008, body: #"{"status":21008}"#
        ),
        Row(
            outcome: .ordered(21_009), status: 21_009,
            body: #"{"environment":"Sandbox","status":21009,"is_retryable":true}"#),
        Row(
            outcome: .accountNotFound, status: 21_010,
            body: #"{"environment":"Sandbox","status":21010,"is_retryable":false}"#),
        Row(
            outcome: .ordered(21_100), status: 21_100,
            body: #"{"environment":"Sandbox","status":21100,"is_retryable":true}"#),
        Row(
            outcome: .ordered(21_199), status: 21_199,
            body: #"{"environment":"Sandbox","status":21199,"is_retryable":true}"#),
        // What is not temporary cannot be ordered.
        Row(
            outcome: .ordered(0), status: 21_009, body: #"{"environment":"Sandbox","status":21009,"is_retryable":true}"#
        ),
        Row(
            outcome: .ordered(21_003), status: 21_009,
            body: #"{"environment":"Sandbox","status":21009,"is_retryable":true}"#),
        Row(
            outcome: .ordered(21_200), status: 21_009,
            body: #"{"environment":"Sandbox","status":21009,"is_retryable":true}"#),
    ]

    @Test(arguments: rows) func eachOutcomeHasItsStatusAndItsAnswer(row: Row) {
        #expect(VerifyReceiptStatus(row.outcome).rawValue == row.status)
        let response = VerifyReceiptResponse.failure(VerifyReceiptFailure(row.outcome, from: .sandbox))
        #expect(response.status.rawValue == row.status)
        #expect(String(decoding: response.json, as: UTF8.self) == row.body)
    }

    @Test func statusesWithAReceiptAreNotErrors() {
        #expect(VerifyReceiptStatus(.ok) == .ok)
        #expect(VerifyReceiptStatus(.expiredSubscription).rawValue == 21_006)
        for environment in StoreEnvironment.allCases {
            #expect(VerifyReceiptStatus(.wrongEnvironment(receipt: environment, host: environment)) == .ok)
        }
    }

    @Test(arguments: ReceiptRejection.Code.allCases)
    func aRefusedReceiptIsMalformedOrNotAuthenticated(code: ReceiptRejection.Code) {
        let malformed: Set<ReceiptRejection.Code> = [.malformed, .truncated, .trailingData, .tooDeep, .tooLarge]
        let expected = malformed.contains(code) ? #"{"status":21002}"# : #"{"environment":"Production","status":21003}"#
        let response = VerifyReceiptResponse.failure(VerifyReceiptFailure(.rejected(code), from: .production))
        #expect(String(decoding: response.json, as: UTF8.self) == expected)
    }

    @Test func everyDocumentedStatusHasAMeaningAndOnlyTemporaryOnesMayBeRepeated() {
        let documented = [0] + Array(21_000...21_010) + Array(21_100...21_199)
        for number in documented {
            let status = VerifyReceiptStatus(rawValue: number)
            #expect(status.meaning != nil, "\(number)")
            #expect(status.isRetryable == (number == 21_005 || number == 21_009 || number >= 21_100), "\(number)")
        }
        for number in [-1, 1, 20_999, 21_011, 21_099, 21_200] {
            #expect(VerifyReceiptStatus(rawValue: number).meaning == nil)
            #expect(!VerifyReceiptStatus(rawValue: number).isRetryable)
        }
    }

    @Test func aRequestThatCannotBeReadHasAnOutcome() {
        #expect(VerifyReceiptRequest.Failure(.notJSON, "").outcome == .notJSON)
        #expect(VerifyReceiptRequest.Failure(.malformedReceipt, "").outcome == .malformedReceipt)
    }
}
