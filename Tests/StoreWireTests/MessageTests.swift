import CornerstoreEncoding
import Foundation
import StoreWire
import TestSupport
import Testing

@Suite("A message's one reader and writer agree with Codable", .timeLimit(.minutes(1)))
struct MessageTests {
    private static let key = WireFormatTests.key
    /// Texts that have to be escaped, or must not be.
    static let texts = ["credits5", "a\"b\\c", "Zoë/🙈", "line\nbreak\u{1}\u{7F}", "e\u{301}\u{2028}\u{FEFF}"]

    private static func request(_ text: String, _ number: Int64) -> PurchaseRequest {
        PurchaseRequest(
            idempotencyKey: key, bundleID: BundleID(text), productID: ProductID(text), quantity: Int(number),
            applicationUsername: text, simulatesAskToBuy: true, agreedPrice: Money(milliunits: number, currency: text),
            offer: SignedOffer(offerID: text, keyID: text, nonce: key, signature: text, timestamp: number),
            offerJWS: OfferJWS(offerID: text, compactJWS: text), winBackOfferID: text)
    }

    private static func transaction(_ text: String, _ number: Int64, _ kind: ProductKind) -> TransactionDescription {
        TransactionDescription(
            transactionID: TransactionID(rawValue: 2_000_000_123_456_789),
            originalTransactionID: TransactionID(rawValue: 1), bundleID: BundleID(text), productID: ProductID(text),
            kind: kind, quantity: Int(number), purchaseDate: number, originalPurchaseDate: number,
            expiresDate: number, applicationUsername: text, idempotencyKey: key,
            content: HostedContent(version: text, lengths: [number, 0]))
    }

    @Test func purchaseRequestsAreRead() throws {
        #expect(try MessageCheck.complaints(aboutReaderOf: Self.request("credits5", 3)) == [])
        for text in Self.texts {
            for number in [Int64.min, -1, 0, 9, 10, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max] {
                let request = Self.request(text, number)
                let json = try JSONEncoder().encode(request)
                #expect(try PurchaseRequest(json: Array(json)) == request)
            }
        }
    }

    @Test func leftOutMembersAreNil() throws {
        var request = Self.request("credits5", 3)
        (request.applicationUsername, request.agreedPrice, request.offer) = (nil, nil, nil)
        (request.offerJWS, request.winBackOfferID) = (nil, nil)
        #expect(try PurchaseRequest(json: Array(JSONEncoder().encode(request))) == request)
    }

    @Test(arguments: [
        "7A4F6C1E0B5D4E589D6C1B2A3C4D5E6F", "{7A4F6C1E-0B5D-4E58-9D6C-1B2A3C4D5E6F}", "",
        "7A4F6C1E-0B5D-4E58-9D6C-1B2A3C4D5E6F\\u0000", "7A4F6C1E-0B5D-4E58-9D6C-1B2A3C4D5E6G",
    ]) func aKeyMustBeAUUID(_ key: String) throws {
        let json = #"{"idempotencyKey":"\#(key)","bundleId":"b","productId":"p","quantity":1,"simulatesAskToBuy":true}"#
        let failure = #expect(throws: FlatJSONScanner.Failure.self) { try PurchaseRequest(json: Array(json.utf8)) }
        #expect(failure?.sentence == "“idempotencyKey” is not a UUID.")
    }

    @Test func answersAreWritten() {
        for text in Self.texts {
            let error = WireError(
                code: .ordered, message: text, requestID: text, error: OrderedError(domain: text, code: -5000))
            for (index, kind) in ProductKind.allCases.enumerated() {
                let states = PurchaseResponse.State.allCases
                let state = states[index % states.count]
                let transaction = Self.transaction(text, 1_721_736_000_123, kind)
                #expect(
                    MessageCheck.complaints(
                        aboutWriterOf: PurchaseResponse(state: state, transaction: transaction, failure: error)) == [])
                let next = TransactionID(rawValue: 7)
                #expect(
                    MessageCheck.complaints(
                        aboutWriterOf: UnfinishedTransactionsResponse(
                            transactions: [transaction, transaction], next: next)) == [])
                #expect(
                    MessageCheck.complaints(
                        aboutWriterOf: RestoreResponse(transactions: [transaction, transaction], next: next)) == [])
            }
        }
    }

    @Test func numbersOfAnySizeAreWritten() throws {
        for number in [Int64.min, -1, 0, 9, 10, .max] {
            let response = PurchaseResponse(
                state: .purchased, transaction: Self.transaction("a", number, .consumable), failure: nil)
            #expect(try JSONDecoder().decode(PurchaseResponse.self, from: Data(response.json)) == response)
        }
    }

    /// A check that cannot complain would be none: it finds what a reader or a writer leaves out.
    @Test func theCheckSeesAFieldThatIsLeftOut() throws {
        struct Forgetful: JSONReadable, JSONWritable, Codable, Equatable {
            var name = "a"
            var count: Int64 = 1
            init() {}
            init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
                name = try members.string(required: "name")
            }
            func write(to json: inout JSONBytes) { json.member("name", name) }
        }
        #expect(try MessageCheck.complaints(aboutReaderOf: Forgetful()).contains { $0.contains("count is not judged") })
        #expect(MessageCheck.complaints(aboutWriterOf: Forgetful()) != [])
        var empty = Self.request("credits5", 3)
        empty.agreedPrice = nil
        #expect(try MessageCheck.complaints(aboutReaderOf: empty).contains("PurchaseRequest.agreedPrice is empty"))
    }
}
