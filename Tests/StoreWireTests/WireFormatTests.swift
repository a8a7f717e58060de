import CornerstoreEncoding
import Foundation
import StoreWire
import Testing

/// Devices in the field speak to newer stores: what is on the wire is held by its text, not only by reading back what
/// was written.
@Suite("What travels is written as published", .timeLimit(.minutes(1)))
struct WireFormatTests {
    static let key = UUID(uuidString: "8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70")!
    static let transaction = TransactionDescription(
        transactionID: TransactionID(rawValue: 2_000_000_123_456_789),
        originalTransactionID: TransactionID(rawValue: 2_000_000_123_456_788), bundleID: "com.example.monkeys",
        productID: "com.example.monkeys.pro", kind: .autoRenewableSubscription, quantity: 1,
        purchaseDate: 1_721_736_000_123, originalPurchaseDate: 1_719_057_600_000, expiresDate: 1_724_414_400_123,
        applicationUsername: "user 1/é", idempotencyKey: key
    )
    static let transactionJSON = """
        {"transactionId":"2000000123456789","originalTransactionId":"2000000123456788",\
        "bundleId":"com.example.monkeys","productId":"com.example.monkeys.pro","kind":"autoRenewableSubscription",\
        "quantity":1,"purchaseDate":1721736000123,"originalPurchaseDate":1719057600000,"expiresDate":1724414400123,\
        "applicationUsername":"user 1/é","idempotencyKey":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70"}
        """

    func expect<Value: Codable & Equatable>(
        _ value: Value, _ json: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let written = String(decoding: try encoder.encode(value), as: UTF8.self)
        #expect(written == json, sourceLocation: sourceLocation)
        #expect(try JSONDecoder().decode(Value.self, from: Data(json.utf8)) == value, sourceLocation: sourceLocation)
    }

    /// A request that devices write and the store reads by ``JSONReadable``.
    func expectRequest<Request: Encodable & JSONReadable & Equatable>(
        _ request: Request, _ json: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let written = String(decoding: try encoder.encode(request), as: UTF8.self)
        #expect(written == json, sourceLocation: sourceLocation)
        #expect(try Request(json: Array(json.utf8)) == request, sourceLocation: sourceLocation)
    }

    /// An answer that the store writes by ``JSONWritable`` and devices read.
    func expectAnswer<Answer: Decodable & JSONWritable & Equatable>(
        _ answer: Answer, _ json: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(String(decoding: answer.json, as: UTF8.self) == json, sourceLocation: sourceLocation)
        #expect(try JSONDecoder().decode(Answer.self, from: Data(json.utf8)) == answer, sourceLocation: sourceLocation)
    }

    @Test func products() throws {
        try expect(
            ProductsRequest(bundleID: "com.example.monkeys", productIDs: ["a", "b"], languages: ["de-DE", "en"]),
            #"{"bundleId":"com.example.monkeys","languages":["de-DE","en"],"productIds":["a","b"]}"#
        )
        let offer = OfferDescription(
            offerID: nil, price: Money(milliunits: 0, currency: "USD"), paymentMode: .free,
            period: SubscriptionPeriod(unit: .week, count: 1), numberOfPeriods: 1
        )
        let promotion = OfferDescription(
            offerID: "winback", price: Money(milliunits: 1990, currency: "USD"), paymentMode: .payUpFront,
            period: SubscriptionPeriod(unit: .month, count: 3), numberOfPeriods: 1
        )
        let subscription = SubscriptionDescription(
            groupID: "21482456", groupName: "Pro", groupLevel: 1, period: SubscriptionPeriod(unit: .month, count: 1),
            introductoryOffer: offer, promotionalOffers: [promotion]
        )
        let product = ProductDescription(
            productID: "pro", kind: .autoRenewableSubscription, displayName: "Pro", description: "All of it",
            price: Money(milliunits: 4990, currency: "USD"), priceLocale: "en_US@currency=USD", isFamilyShareable: true,
            subscription: subscription
        )
        let response = ProductsResponse(
            products: [product], invalidProductIDs: ["gone"],
            storefront: StorefrontDescription(countryCode: "USA", identifier: "143441")
        )
        try expect(
            response,
            """
            {"invalidProductIds":["gone"],"products":[{"description":"All of it","displayName":"Pro",\
            "isFamilyShareable":true,"kind":"autoRenewableSubscription","price":{"currency":"USD","milliunits":4990},\
            "priceLocale":"en_US@currency=USD","productId":"pro","subscription":{"groupId":"21482456","groupLevel":1,\
            "groupName":"Pro","introductoryOffer":{"numberOfPeriods":1,"paymentMode":"free","period":"P1W",\
            "price":{"currency":"USD","milliunits":0}},"period":"P1M","promotionalOffers":[{"numberOfPeriods":1,\
            "offerId":"winback","paymentMode":"payUpFront","period":"P3M","price":{"currency":"USD",\
            "milliunits":1990}}]}}],"storefront":{"countryCode":"USA","identifier":"143441"}}
            """
        )
    }

    @Test func purchases() throws {
        try expectRequest(
            PurchaseRequest(
                idempotencyKey: Self.key, bundleID: "com.example.monkeys", productID: "credits5", quantity: 3,
                applicationUsername: nil, simulatesAskToBuy: false, agreedPrice: Money(milliunits: 990, currency: "USD")
            ),
            """
            {"agreedPrice":{"currency":"USD","milliunits":990},"bundleId":"com.example.monkeys",\
            "idempotencyKey":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70","productId":"credits5","quantity":3,\
            "simulatesAskToBuy":false}
            """
        )
        try expectAnswer(
            PurchaseResponse(state: .purchased, transaction: Self.transaction, failure: nil),
            #"{"state":"purchased","transaction":\#(Self.transactionJSON)}"#
        )
        try expectAnswer(PurchaseResponse(state: .deferred, transaction: nil, failure: nil), #"{"state":"deferred"}"#)
        try expectAnswer(
            PurchaseResponse(
                state: .failed, transaction: nil, failure: WireError(code: .paymentDeclined, message: "No.")),
            #"{"state":"failed","failure":{"code":"payment_declined","message":"No."}}"#
        )
        try expectAnswer(
            UnfinishedTransactionsResponse(transactions: [Self.transaction], next: TransactionID(rawValue: 7)),
            #"{"transactions":[\#(Self.transactionJSON)],"next":"7"}"#
        )
        try expectAnswer(UnfinishedTransactionsResponse(transactions: [], next: nil), #"{"transactions":[]}"#)
        try expect(
            AppReceiptRequest(bundleID: "com.example.monkeys", bundleVersion: "1.2", vendorIdentifier: Self.key),
            """
            {"bundleId":"com.example.monkeys","bundleVersion":"1.2",\
            "vendorIdentifier":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70"}
            """
        )
    }

    @Test func sessions() throws {
        let account = AccountDescription(
            accountID: "acc", email: "a@example.com",
            storefront: StorefrontDescription(countryCode: "DEU", identifier: "143443"), canMakePayments: true
        )
        let json = """
            {"accountId":"acc","canMakePayments":true,"email":"a@example.com",\
            "storefront":{"countryCode":"DEU","identifier":"143443"}}
            """
        try expect(account, json)
        let signedIn = try JSONDecoder().decode(
            SignInResponse.self, from: Data(#"{"token":"t","account":\#(json)}"#.utf8))
        #expect(signedIn.token == "t")
        #expect(signedIn.account == account)
        let request = Data(#"{"email":"a@example.com","password":"p","deviceId":"\#(Self.key)"}"#.utf8)
        let decoded = try JSONDecoder().decode(SignInRequest.self, from: request)
        #expect(decoded.email == "a@example.com" && decoded.password == "p" && decoded.deviceID == Self.key)
    }

    @Test func managedSubscriptions() throws {
        let month = SubscriptionPeriod(unit: .month, count: 1)
        let price = Money(milliunits: 4990, currency: "USD")
        let one = ManagedSubscription(
            originalTransactionID: TransactionID(rawValue: 2_000_000_123_456_788), bundleID: "com.example.monkeys",
            appName: "Monkeys", groupID: "1", groupName: "Club", productID: "monthly", productName: "A month",
            state: .gracePeriod, expiresDate: 1, gracePeriodExpiresDate: 2, willRenew: true, canTurnRenewalOn: false,
            nextCharge: NextCharge(productID: "monthly", productName: "A month", price: price, date: 3, period: month),
            obstacle: .renewalLimit,
            plans: [
                SubscriptionPlanChoice(
                    productID: "weekly", name: "A week", price: price, period: month, effect: .nextRenewal)
            ])
        let money = #"{"currency":"USD","milliunits":4990}"#
        try expect(
            SubscriptionsResponse(subscriptions: [one], hasMore: true),
            #"{"hasMore":true,"subscriptions":[{"appName":"Monkeys","bundleId":"com.example.monkeys","#
                + #""canTurnRenewalOn":false,"expiresDate":1,"gracePeriodExpiresDate":2,"groupId":"1","#
                + #""groupName":"Club","nextCharge":{"date":3,"period":"P1M","price":"# + money
                + #","productId":"monthly","productName":"A month"},"obstacle":"renewalLimit","#
                + #""originalTransactionId":"2000000123456788","plans":[{"effect":"nextRenewal","name":"A week","#
                + #""period":"P1M","price":"# + money + #","productId":"weekly"}],"productId":"monthly","#
                + #""productName":"A month","state":"gracePeriod","willRenew":true}]}"#)
        try expect(RenewalRequest(willRenew: false), #"{"willRenew":false}"#)
        try expect(
            PlanChangeRequest(productID: "weekly", agreedPrice: price, idempotencyKey: Self.key),
            #"{"agreedPrice":"# + money
                + #","idempotencyKey":"8D3C1B0A-5E2F-4C77-9A11-2B3C4D5E6F70","productId":"weekly"}"#)
        try expect(
            SubscriptionsPageRequest(returnAddress: "http://localhost/"), #"{"returnAddress":"http://localhost/"}"#)
        try expect(SubscriptionsPageDescription(url: "u"), #"{"url":"u"}"#)
    }

    @Test func errors() throws {
        try expect(
            WireError(code: .unknownApp, message: "No such app.", requestID: "r1"),
            #"{"code":"unknown_app","message":"No such app.","requestId":"r1"}"#
        )
        // A newer store's word is kept, not refused.
        let newer = try JSONDecoder().decode(
            WireError.self, from: Data(#"{"code":"brand_new","message":"","hint":1}"#.utf8))
        #expect(newer.code == "brand_new")
    }

    @Test(arguments: [
        (WireError.Code.invalidRequest, "invalid_request"), (.tooLarge, "too_large"), (.notSignedIn, "not_signed_in"),
        (.wrongPassword, "wrong_password"), (.accountLocked, "account_locked"), (.unknownApp, "unknown_app"),
        (.productNotAvailable, "product_not_available"), (.unknownTransaction, "unknown_transaction"),
        (.invalidQuantity, "invalid_quantity"), (.priceChanged, "price_changed"),
        (.paymentDeclined, "payment_declined"),
        (.paymentNotAllowed, "payment_not_allowed"), (.idempotencyKeyReused, "idempotency_key_reused"),
        (.wrongState, "wrong_state"), (.refundRequested, "refund_requested"),
        (.unavailable, "unavailable"), (.internalError, "internal_error"),
    ])
    func errorCodeIsStable(code: WireError.Code, word: String) {
        #expect(code.rawValue == word)
    }

    @Test(arguments: [
        (ProductKind.consumable, "consumable", 1, false), (.nonConsumable, "nonConsumable", 0, true),
        (.nonRenewingSubscription, "nonRenewingSubscription", 2, false),
        (.autoRenewableSubscription, "autoRenewableSubscription", 3, false),
        (.freeSubscription, "freeSubscription", 2, true),
    ])
    func productKind(kind: ProductKind, word: String, number: Int64, ownedOnce: Bool) {
        #expect(kind.rawValue == word)
        #expect(kind.receiptNumber == number)
        #expect(kind.isOwnedOnce == ownedOnce)
    }

    @Test func environments() {
        #expect(StoreEnvironment.allCases.map(\.rawValue) == ["Production", "Sandbox"])
        #expect(StoreEnvironment.allCases.map(\.receiptType) == ["Production", "ProductionSandbox"])
        for environment in StoreEnvironment.allCases {
            #expect(StoreEnvironment(name: environment.name) == environment)
            #expect(StoreEnvironment(name: environment.rawValue) == environment)
        }
        #expect(StoreEnvironment(name: "xcode") == nil)
        #expect(StoreEnvironment(name: "") == nil)
    }

    @Test(arguments: [
        "{}", "[]", "null", "", "{", #"{"state":"unheard"}"#, #"{"state":1}"#,
        #"{"state":"purchased","transaction":{}}"#,
        #"{"state":"purchased","transaction":{"transactionId":5}}"#,
    ])
    func damageIsRefusedNotGuessed(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PurchaseResponse.self, from: Data(json.utf8)) }
    }
}
