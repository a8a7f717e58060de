import Foundation
import Merchant
import MerchantWire
import StoreWire
import Testing

@testable import MerchantServer

@Suite("Answers that are written without an encoder", .timeLimit(.minutes(1)))
struct CounterAnswerTests {
    /// Names that have to be escaped, or must not be.
    private static let names = ["coins", "a\"b\\c", "Zoë/🦊", "line\nbreak\u{1}\u{7F}", ""]

    /// What was written is what the apps' decoder reads.
    private func check<Answer: CounterAnswer & Codable & Equatable>(_ answer: Answer) throws {
        #expect(try JSONDecoder().decode(Answer.self, from: Data(answer.json)) == answer)
    }

    @Test func balancesAndSpendsAreReadBack() throws {
        try check(BalanceList(balances: []))
        try check(
            BalanceList(
                balances: Self.names.map { Balance(currency: CurrencyID($0), amount: .random(in: .min ... .max)) }))
        for name in Self.names {
            for number in [Int64.min, -1, 0, 9, 10, .max] {
                try check(
                    SpendAnswer(key: name, currency: CurrencyID(name), amount: number, balance: number, entry: number))
            }
        }
    }

    @Test func redemptionsAreReadBack() throws {
        try check(RedemptionAnswer(redeemed: [], refused: []))
        for name in Self.names {
            let grants: [ProductGrant] = [
                .credits(CurrencyID(name), amount: 10, lifetime: nil),
                .credits(CurrencyID(name), amount: 1, lifetime: 86_400), .entitlement(EntitlementID(name)),
                .entitlement(EntitlementID(name), lifetime: 60),
                .content(ContentItemID(name)),
            ]
            let redeemed = StoreEnvironment.allCases.flatMap { environment in
                [nil, Int64(1_800_000_000_000)].map { expiresAt in
                    RedeemedTransaction(
                        transactionID: name, originalTransactionID: name + "o", productID: ProductID(name), quantity: 3,
                        environment: environment, grants: expiresAt == nil ? [] : grants, redeemedAt: 1,
                        expiresAt: expiresAt, wentToNamedOwner: expiresAt == nil)
                }
            }
            let refused = RefusedTransaction(
                transactionID: name, productID: ProductID(name), code: .revoked, message: name)
            try check(RedemptionAnswer(redeemed: redeemed, refused: [refused, refused]))
        }
    }
}
