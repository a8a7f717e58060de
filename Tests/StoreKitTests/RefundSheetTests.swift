import Foundation
import Testing

@testable import StoreKit

@Suite("The sheet of a refund request", .timeLimit(.minutes(1))) struct RefundSheetTests {
    private let prompt = RefundPrompt(
        productIdentifier: "credits5", productName: "Five\u{1B}[2J Credits", price: Decimal(99) / 100,
        priceLocale: Locale(identifier: "en_US@currency=USD"), account: "ape@example.com")

    @Test func `the terminal lists the reasons`() {
        let text = TerminalPaymentSheet.text(of: prompt)
        #expect(text.contains("Refund of Five[2J Credits, $0.99") && text.contains("Account: ape@example.com"))
        for (index, reason) in RefundPrompt.Reason.allCases.enumerated() {
            #expect(text.contains("  \(index + 1)  \(reason.words)\n"))
            #expect(TerminalPaymentSheet.reason(" \(index + 1) ") == reason)
        }
    }

    @Test(arguments: ["", "0", "6", "-1", "c", "cancel", "1.5", "99999999999999999999", nil] as [String?])
    func `every other answer cancels`(line: String?) {
        #expect(TerminalPaymentSheet.reason(line) == nil)
    }

    @Test func `an automatic sheet answers as for a purchase`() async {
        let approving = AutomaticPaymentSheet(answer: .buy, credentials: nil)
        #expect(await approving.chooseRefundReason(prompt) == .other)
        let declining = AutomaticPaymentSheet(answer: .cancel, credentials: nil)
        #expect(await declining.chooseRefundReason(prompt) == nil)
        let silent = ProgrammedPaymentSheet(confirm: { _ in .buy }, signIn: { _ in nil })
        #expect(await silent.chooseRefundReason(prompt) == nil)
    }

    @Test func `the errors have texts`() {
        let errors: [Transaction.RefundRequestError] = [.duplicateRequest, .failed]
        #expect(Set(errors.map(\.localizedDescription)).count == 2)
        // As an app calls it.
        let call: @Sendable (UInt64) async throws -> Transaction.RefundRequestStatus = {
            try await Transaction.beginRefundRequest(for: $0)
        }
        _ = call
    }
}
