import CornerstoreEncoding
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@Suite("A message's one reader and writer agree with Codable", .timeLimit(.minutes(1)))
struct MerchantMessageTests {
    /// Texts that have to be escaped, or must not be.
    private static let texts = ["coins", "a\"b\\c", "Zoë/🦊", "line\nbreak\u{1}\u{7F}"]
    private static let numbers = [Int64.min, -1, 0, 9, 10, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max]

    @Test func requestsAreRead() throws {
        let spend = SpendRequest(key: "k", currency: "coins", amount: 11, note: "a sword", environment: .sandbox)
        #expect(try MessageCheck.complaints(aboutReaderOf: spend) == [])
        let adjustment = AdjustmentRequest(
            key: "k", currency: "coins", amount: -11, note: "a gift", environment: .sandbox)
        #expect(try MessageCheck.complaints(aboutReaderOf: adjustment) == [])
        for text in Self.texts {
            for amount in Self.numbers {
                let spend = SpendRequest(
                    key: text, currency: CurrencyID(text), amount: amount, note: text, environment: .production)
                #expect(try SpendRequest(json: Array(JSONEncoder().encode(spend))) == spend)
            }
        }
        let plain = SpendRequest(key: "k", currency: "coins", amount: 11)
        #expect(try SpendRequest(json: Array(JSONEncoder().encode(plain))) == plain)
        #expect(
            try MessageCheck.complaints(
                aboutReaderOf: RedemptionRequest(receipt: Data([1, 2])),
                emptyOnPurpose: [
                    "RedemptionRequest.signedTransaction", "RedemptionRequest.transactionID",
                    "RedemptionRequest.bundleID",
                ]) == [])
        let named = RedemptionRequest(transactionID: "2000000000000001", bundleID: "com.example.books")
        #expect(try RedemptionRequest(json: Array(JSONEncoder().encode(named))) == named)
        let signed = try RedemptionRequest(json: Array(#"{"signedTransaction":"a.b.c","receipt":null}"#.utf8))
        #expect(signed == RedemptionRequest(signedTransaction: "a.b.c"))
    }

    @Test(arguments: [
        (#"{"receipt":"AA","x":1}"#, "“receipt” is not Base64."),
        (#"{"receipt":"A\nAA="}"#, "“receipt” is not Base64."),
        (#"{"signedTransaction":7}"#, "“signedTransaction” is of the wrong type."),
        (
            #"{"transactionId":"1","signedTransaction":"a.b.c"}"#,
            "“receipt” or “signedTransaction” or “transactionId” must be given, and only one."
        ),
        (#"{}"#, "“receipt” or “signedTransaction” or “transactionId” must be given, and only one."),
        (
            #"{"receipt":"AAAA","signedTransaction":"a.b.c"}"#,
            "“receipt” or “signedTransaction” or “transactionId” must be given, and only one."
        ),
    ]) func aRedemptionHasOneKindOfEvidence(_ json: String, _ sentence: String) {
        let failure = #expect(throws: FlatJSONScanner.Failure.self) { try RedemptionRequest(json: Array(json.utf8)) }
        #expect(failure?.sentence == sentence)
    }

    @Test func anEnvironmentHasItsTwoNames() {
        let json = #"{"key":"k","currency":"coins","amount":1,"environment":"sandbox"}"#
        let failure = #expect(throws: FlatJSONScanner.Failure.self) { try SpendRequest(json: Array(json.utf8)) }
        #expect(failure?.sentence == "“environment” must be Production or Sandbox.")
    }

    @Test func balancesAndSpendsAreWritten() throws {
        for text in Self.texts {
            for number in Self.numbers {
                let balances = StoreEnvironment.allCases.map {
                    Balance(currency: CurrencyID(text), amount: number, environment: $0)
                }
                #expect(MessageCheck.complaints(aboutWriterOf: BalanceList(balances: balances)) == [])
                #expect(
                    MessageCheck.complaints(
                        aboutWriterOf: SpendAnswer(
                            key: text, currency: CurrencyID(text), amount: number, balance: number, entry: number,
                            environment: .sandbox)) == [])
            }
        }
        #expect(BalanceList(balances: []).json == Array(#"{"balances":[]}"#.utf8))
    }

    @Test func redemptionsAreWritten() throws {
        for text in Self.texts {
            let grants: [ProductGrant] = [
                .credits(CurrencyID(text), amount: 1, lifetime: 86_400),
                .entitlement(EntitlementID(text), lifetime: 60), .content(ContentItemID(text)),
            ]
            let redeemed = StoreEnvironment.allCases.map { environment in
                RedeemedTransaction(
                    transactionID: text, originalTransactionID: text + "o", productID: ProductID(text), quantity: 3,
                    environment: environment, grants: grants, redeemedAt: 1, expiresAt: 1_800_000_000_000,
                    wentToNamedOwner: environment == .sandbox)
            }
            let refused = RefusedTransaction(
                transactionID: text, productID: ProductID(text), code: .revoked, message: text)
            #expect(
                MessageCheck.complaints(
                    aboutWriterOf: RedemptionAnswer(redeemed: redeemed, refused: [refused, refused])) == [])
            let short = RedeemedTransaction(
                transactionID: text, originalTransactionID: text, productID: ProductID(text), quantity: 1,
                environment: .sandbox,
                grants: [.credits(CurrencyID(text), amount: 10, lifetime: nil), .entitlement(EntitlementID(text))],
                redeemedAt: 1, expiresAt: nil, wentToNamedOwner: false)
            let answer = RedemptionAnswer(redeemed: [short], refused: [])
            #expect(try JSONDecoder().decode(RedemptionAnswer.self, from: Data(answer.json)) == answer)
        }
    }
}
