import CornerstoreEncoding
import Foundation
import StoreWire
import Synchronization

@testable import StoreKit

/// A small store with the protocol's semantics: idempotent by key, an unfinished list for each account, receipts made
/// on request. It can be told to fail, and it remembers everything it was asked.
final class FakeStore: StoreTransport {
    enum Fault: Equatable {
        /// The request does not arrive.
        case lostRequest
        /// The request is done, and its answer does not arrive.
        case lostAnswer
        /// Refused with this status and body.
        case refusal(Int, WireError)
        /// Something in between answers.
        case garbage(Int)
    }

    struct Hosted {
        var version: String
        var length: Int64
        var sha256: String
        var unpackedLength: Int64

        var content: HostedContent { HostedContent(version: version, lengths: [length]) }
    }

    struct Purchase: Equatable {
        var request: PurchaseRequest
        var account: AccountID
        var response: PurchaseResponse
    }

    struct State {
        var isDown = false
        var faults: [(route: String, fault: Fault)] = []
        var asked: [String] = []
        var passwords = ["monkey@example.com": "bananas"]
        var tokens: [String: AccountID] = [:]
        var nextToken = 1
        var accounts: [String: AccountID] = ["monkey@example.com": "account-1"]
        var purchases: [UUID: Purchase] = [:]
        var purchaseRequests: [PurchaseRequest] = []
        var unfinished: [TransactionID: (account: AccountID, transaction: TransactionDescription)] = [:]
        var finished: [TransactionID] = []
        /// What can be restored, by account, oldest first.
        var restorable: [(account: AccountID, transaction: TransactionDescription)] = []
        /// The ids that were given in a restore, by its key and the source.
        var restored: [UUID: [TransactionID: TransactionDescription]] = [:]
        var unfinishedRestored: Set<TransactionID> = []
        var restoreRequests: [RestoreRequest] = []
        var receiptRequests: [AppReceiptRequest] = []
        var nextTransaction: Int64 = 2_000_000_000_000_001
        var declines = false
        /// What is hosted, by product, and the address below which the packages are.
        var hosted: [ProductID: Hosted] = [:]
        var contentBase = ""
        var contentRequests: [ContentRequest] = []
        var page = 2
        var vendors: Set<UUID> = []
        /// What was refunded, oldest first, told in pages; nil when the store has no notices at all.
        var lost: [ProductID]?
        /// Answers each request for news with other marks.
        var isRestless = false
        /// Says with every page of notices that there is more.
        var saysThereIsMore = false
        /// Promoted purchases that no app has taken up.
        var promotions: [PromotionDescription] = []
        var reviewRequests: [ReviewRequest] = []
        /// The items with a page, by number.
        var visits: [Int64: VisitDescription] = [:]
        /// The requests for pages of customers who were signed in.
        var visitRequests: [VisitRequest] = []
        /// The answers to the next questions for a visit's state; then it is closed.
        var visitStates: [VisitState] = []
        var visitReviews: [VisitReviewRequest] = []
        var itemsBought: [Int64] = []
        /// The keys of all requests to buy an item.
        var itemKeys: [UUID] = []
        /// The grants of items' files, by number.
        var itemFiles: [Int64: ContentGrant] = [:]
        /// Makes the app receipts; a line of text when there is nothing.
        var makeReceipt: (@Sendable (AppReceiptRequest) -> Data)?
    }

    private let state = Mutex(State())

    static let price = Money(milliunits: 990, currency: "USD")
    static let sold: Set<ProductID> = ["com.example.monkeys.credits5", "com.example.monkeys.credits10"]

    func change<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try state.withLock { try body(&$0) }
    }

    var asked: [String] { change { $0.asked } }
    var purchases: [UUID: Purchase] { change { $0.purchases } }
    var finished: [TransactionID] { change { $0.finished } }
    var unfinishedCount: Int { change { $0.unfinished.count } }

    /// Fails the next request of a route's template (`purchases`, `finish`, …) in this way.
    func failNext(_ route: String, _ fault: Fault) { change { $0.faults.append((route, fault)) } }

    func decide(_ key: UUID, approve: Bool) {
        change { state in
            guard var purchase = state.purchases[key], purchase.response.state == .deferred else { return }
            if approve {
                purchase.response = Self.paid(purchase.request, account: purchase.account, &state)
            } else {
                purchase.response = PurchaseResponse(
                    state: .failed, transaction: nil,
                    failure: WireError(code: .paymentDeclined, message: "Not approved."))
            }
            state.purchases[key] = purchase
        }
    }

    /// A transaction that no payment of the device made.
    func sell(_ product: ProductID, to account: AccountID) -> TransactionID {
        change { state in
            let request = PurchaseRequest(
                idempotencyKey: UUID(), bundleID: "com.example.monkeys", productID: product, quantity: 1,
                applicationUsername: nil, simulatesAskToBuy: false, agreedPrice: nil)
            var transaction = Self.transaction(request, &state)
            transaction.idempotencyKey = nil
            state.unfinished[transaction.transactionID] = (account, transaction)
            return transaction.transactionID
        }
    }

    /// Non-consumables that were bought and finished on another device.
    func own(_ count: Int, username: String? = nil, account: AccountID = "account-1") {
        change { state in
            for _ in 0..<count {
                let request = PurchaseRequest(
                    idempotencyKey: UUID(), bundleID: "com.example.monkeys",
                    productID: ProductID("com.example.monkeys.hat\(state.restorable.count + 1)"), quantity: 1,
                    applicationUsername: username, simulatesAskToBuy: false, agreedPrice: nil)
                var transaction = Self.transaction(request, &state)
                transaction.kind = .nonConsumable
                state.restorable.append((account, transaction))
            }
        }
    }

    // MARK: The protocol

    static func name(_ route: StoreRoute) -> String {
        switch route {
        case .signIn: "signIn"
        case .signOut: "signOut"
        case .account: "account"
        case .products: "products"
        case .purchases: "purchases"
        case .unfinishedTransactions: "unfinished"
        case .arrivedTransactions: "arrived"
        case .news: "news"
        case .finish: "finish"
        case .restores: "restores"
        case .appReceipt: "appReceipt"
        case .transactionReceipt: "transactionReceipt"
        case .verifyReceipt: "verifyReceipt"
        case .notices: "notices"
        case .promotions: "promotions"
        case .priceConsents: "priceConsents"
        case .redemptions: "redemptions"
        case .content: "content"
        case .review: "review"
        case .writeReview: "writeReview"
        case .openVisit: "openVisit"
        case .visit: "visit"
        case .reviewVisit: "reviewVisit"
        case .library: "library"
        case .buyItem: "buyItem"
        case .itemFile: "itemFile"
        case .subscriptions: "subscriptions"
        case .setRenewal: "setRenewal"
        case .changePlan: "changePlan"
        case .openSubscriptions: "openSubscriptions"
        case .refundable: "refundable"
        case .requestRefund: "requestRefund"
        }
    }

    struct Lost: Error {}

    func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse { try answer(request) }

    /// Answers a request at once.
    func answer(_ request: StoreTransportRequest) throws -> StoreTransportResponse {
        let name = Self.name(request.route)
        return try change { state in
            state.asked.append(name)
            guard !state.isDown else { throw Lost() }
            let fault = state.faults.firstIndex { $0.route == name }.map { state.faults.remove(at: $0).fault }
            switch fault {
            case nil: return try Self.answer(request, &state)
            case .lostRequest: throw Lost()
            case .lostAnswer:
                _ = try Self.answer(request, &state)
                throw Lost()
            case .refusal(let status, let error): return try Self.json(status, error)
            case .garbage(let status): return StoreTransportResponse(status: status, body: Data("<html>".utf8))
            }
        }
    }

    private static func json(_ status: Int, _ value: some Encodable) throws -> StoreTransportResponse {
        StoreTransportResponse(status: status, body: try JSONEncoder().encode(value))
    }

    private static func answered(_ message: some JSONWritable) -> StoreTransportResponse {
        StoreTransportResponse(status: 200, body: Data(message.json))
    }

    private static func refuse(_ status: Int, _ code: WireError.Code) throws -> StoreTransportResponse {
        try json(status, WireError(code: code, message: "\(code)"))
    }

    private static func answer(_ request: StoreTransportRequest, _ state: inout State) throws -> StoreTransportResponse
    {
        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: request.body ?? Data())
        }
        switch request.route {
        case .signIn: return try signIn(decoded(SignInRequest.self), &state)
        case .products:
            if let token = request.token, state.tokens[token] == nil { return try refuse(401, .notSignedIn) }
            return try json(200, products(decoded(ProductsRequest.self), state.hosted))
        case .openVisit where state.visits[try decoded(VisitRequest.self).item] == nil:
            return try refuse(404, .notFound)
        default: break
        }
        guard let token = request.token, let account = state.tokens[token] else { return try refuse(401, .notSignedIn) }
        switch request.route {
        case .purchases: return try purchase(PurchaseRequest(json: Array(request.body ?? Data())), account, &state)
        case .unfinishedTransactions(_, let after):
            let rest = state.unfinished.values.filter { $0.account == account }.map(\.transaction)
                .filter { $0.transactionID > after ?? TransactionID(rawValue: 0) }.sorted {
                    $0.transactionID < $1.transactionID
                }
            let page = Array(rest.prefix(state.page))
            return answered(
                UnfinishedTransactionsResponse(
                    transactions: page, next: rest.count > page.count ? page.last?.transactionID : nil))
        case .arrivedTransactions(_, let after):
            let rest = arrived(account, state).filter { $0.transactionID > after ?? TransactionID(rawValue: 0) }
            let page = Array(rest.prefix(state.page))
            return answered(
                UnfinishedTransactionsResponse(
                    transactions: page, next: rest.count > page.count ? page.last?.transactionID : nil))
        case .news:
            let waiting = arrived(account, state).map { "\($0.transactionID)" }
            let asked = state.isRestless ? state.asked.count : 0
            return try json(
                200,
                NewsMarks(
                    transactions: waiting.isEmpty ? NewsMarks.nothing : waiting.joined(separator: "."),
                    notices: "\(state.lost?.count ?? 0).\(state.promotions.count).\(asked)"))
        case .finish(let id):
            if state.unfinishedRestored.remove(id) != nil {
                state.finished.append(id)
                return StoreTransportResponse(status: 204, body: Data())
            }
            guard state.unfinished[id]?.account == account || state.finished.contains(id) else {
                return try refuse(404, .unknownTransaction)
            }
            if state.unfinished.removeValue(forKey: id) != nil { state.finished.append(id) }
            return StoreTransportResponse(status: 204, body: Data())
        case .notices(_, let after, _):
            guard let lost = state.lost else { return try refuse(404, .invalidRequest) }
            let rest = lost.dropFirst(Int(after ?? 0)).prefix(state.page)
            let cursor = (after ?? 0) + Int64(rest.count)
            return try json(
                200,
                NoticesResponse(
                    account: description(account, state.accounts.first { $0.value == account }?.key ?? ""),
                    revokedProductIDs: Array(rest), cursor: cursor,
                    hasMore: state.saysThereIsMore || cursor < lost.count, promotions: state.promotions,
                    priceIncreases: []))
        case .promotions:
            let taken = try decoded(PromotionRequest.self).promotionID
            guard let index = state.promotions.firstIndex(where: { $0.promotionID == taken }) else {
                return try refuse(409, .wrongState)
            }
            state.promotions.remove(at: index)
            return StoreTransportResponse(status: 204, body: Data())
        case .restores: return try answered(restore(decoded(RestoreRequest.self), account, &state))
        case .appReceipt:
            let asked = try decoded(AppReceiptRequest.self)
            state.receiptRequests.append(asked)
            state.vendors.insert(asked.vendorIdentifier)
            if let make = state.makeReceipt { return StoreTransportResponse(status: 200, body: make(asked)) }
            let all = state.purchases.values.compactMap { $0.response.transaction?.transactionID }.sorted()
            return StoreTransportResponse(status: 200, body: Data("receipt \(all)".utf8))
        case .transactionReceipt(let id):
            return StoreTransportResponse(status: 200, body: Data("receipt of \(id)".utf8))
        case .writeReview:
            state.reviewRequests.append(try decoded(ReviewRequest.self))
            return try json(200, ReviewResponse(review: nil))
        case .openVisit:
            let asked = try decoded(VisitRequest.self)
            guard let visit = state.visits[asked.item] else { return try refuse(404, .notFound) }
            state.visitRequests.append(asked)
            return try json(200, visit)
        case .visit:
            let next = state.visitStates.isEmpty ? VisitState.closed : state.visitStates.removeFirst()
            return try json(200, ["state": next])
        case .reviewVisit:
            let asked = try decoded(VisitReviewRequest.self)
            state.visitReviews.append(asked)
            return try json(
                200,
                ReviewResponse(
                    review: ReviewDescription(
                        stars: asked.stars, title: asked.title, text: asked.text, version: nil, editedAt: 1,
                        answer: nil, answeredAt: nil, isHidden: false)))
        case .buyItem:
            let asked = try decoded(ItemPurchaseMessage.self)
            state.itemKeys.append(asked.idempotencyKey)
            guard let visit = state.visits[asked.item], visit.amount == asked.agreedPrice, let price = visit.amount
            else { return try refuse(409, .priceChanged) }
            state.itemsBought.append(asked.item)
            return try json(
                200,
                OwnedItem(
                    transactionID: TransactionID(rawValue: 7), item: asked.item, name: visit.name, kind: "song",
                    price: price, purchaseDate: 1))
        case .itemFile(let item):
            guard state.itemsBought.contains(item) else { return try refuse(403, .notOwned) }
            guard let grant = state.itemFiles[item] else { return try refuse(404, .noContent) }
            return try json(200, grant)
        case .content(let id): return try content(of: id, decoded(ContentRequest.self), account, &state)
        default: return try refuse(404, .invalidRequest)
        }
    }

    /// The unfinished transactions that no payment of a device made, oldest first.
    private static func arrived(_ account: AccountID, _ state: State) -> [TransactionDescription] {
        state.unfinished.values.filter { $0.account == account && $0.transaction.idempotencyKey == nil }
            .map(\.transaction).sorted { $0.transactionID < $1.transactionID }
    }

    private static func content(
        of id: TransactionID, _ request: ContentRequest, _ account: AccountID, _ state: inout State
    ) throws -> StoreTransportResponse {
        state.contentRequests.append(request)
        let restored = state.restored.values.lazy.flatMap(\.values).first { $0.transactionID == id }
        guard let transaction = restored ?? state.unfinished[id]?.transaction else {
            return try refuse(state.finished.contains(id) ? 409 : 404, .wrongState)
        }
        guard let hosted = state.hosted[transaction.productID] else { return try refuse(404, .noContent) }
        return try json(
            200,
            ContentGrant(
                contentID: transaction.productID, version: hosted.version, length: hosted.length,
                unpackedLength: hosted.unpackedLength, sha256: hosted.sha256,
                url: "\(state.contentBase)\(transaction.productID).pkg?\(state.contentRequests.count)", expires: 0))
    }

    private static func restore(
        _ request: RestoreRequest, _ account: AccountID, _ state: inout State
    ) -> RestoreResponse {
        state.restoreRequests.append(request)
        let rest = state.restorable.filter { $0.account == account }.map(\.transaction).filter {
            $0.transactionID > request.after ?? TransactionID(rawValue: 0)
                && (request.applicationUsername == nil || $0.applicationUsername == request.applicationUsername)
        }
        let page = Array(rest.prefix(state.page))
        let restored = page.map { source in
            if let known = state.restored[request.idempotencyKey]?[source.transactionID] { return known }
            // What an earlier restore gave and was not finished comes again under the id that it had.
            let open = state.restored.values.lazy.compactMap { $0[source.transactionID] }
                .first { state.unfinishedRestored.contains($0.transactionID) }
            if let open {
                state.restored[request.idempotencyKey, default: [:]][source.transactionID] = open
                return open
            }
            var restored = source
            restored.transactionID = TransactionID(rawValue: state.nextTransaction)
            restored.purchaseDate = 1_800_000_000_000
            restored.idempotencyKey = nil
            restored.content = state.hosted[restored.productID]?.content
            state.nextTransaction += 1
            state.restored[request.idempotencyKey, default: [:]][source.transactionID] = restored
            state.unfinishedRestored.insert(restored.transactionID)
            return restored
        }
        return RestoreResponse(
            transactions: restored, next: rest.count > page.count ? page.last?.transactionID : nil)
    }

    private static func signIn(_ request: SignInRequest, _ state: inout State) throws -> StoreTransportResponse {
        guard let account = state.accounts[request.email], state.passwords[request.email] == request.password else {
            return try refuse(401, .wrongPassword)
        }
        // No token is used twice: a late refusal of a dropped one must not end the session that came after it.
        let token = "token-\(state.nextToken)"
        state.nextToken += 1
        state.tokens[token] = account
        return try json(
            200,
            SignInResponse(
                token: token,
                account: description(account, request.email)))
    }

    private static func description(_ account: AccountID, _ email: String) -> AccountDescription {
        AccountDescription(
            accountID: account, email: email,
            storefront: StorefrontDescription(countryCode: "USA", identifier: "143441"), canMakePayments: true)
    }

    private static func products(
        _ request: ProductsRequest, _ hosted: [ProductID: Hosted]
    ) -> ProductsResponse {
        ProductsResponse(
            products: request.productIDs.filter { sold.contains($0) || hosted[$0] != nil }.map {
                ProductDescription(
                    productID: $0, kind: .consumable, displayName: "Credits", description: "For monkeys", price: price,
                    priceLocale: "en_US@currency=USD", isFamilyShareable: false, subscription: nil,
                    content: hosted[$0]?.content)
            },
            invalidProductIDs: request.productIDs.filter { !sold.contains($0) && hosted[$0] == nil },
            storefront: StorefrontDescription(countryCode: "USA", identifier: "143441"),
            items: request.itemIDs.map { $0.compactMap(item) })
    }

    /// Monkeys has the number 1, Apes 2, and a product of each 11 and 12.
    private static func item(_ itemID: Int64) -> StoreItem? {
        guard [1, 2, 11, 12].contains(itemID) else { return nil }
        let isMonkeys = itemID % 10 == 1
        let product = ProductDescription(
            productID: isMonkeys ? "com.example.monkeys.credits5" : "com.example.apes.hat", kind: .consumable,
            displayName: isMonkeys ? "Credits" : "Hat", description: "For all", price: price,
            priceLocale: "en_US@currency=USD", isFamilyShareable: false, subscription: nil)
        return StoreItem(
            itemID: itemID, bundleID: isMonkeys ? "com.example.monkeys" : "com.example.apes",
            appName: isMonkeys ? "Monkeys" : nil, product: itemID > 10 ? product : nil)
    }

    private static func purchase(
        _ request: PurchaseRequest, _ account: AccountID, _ state: inout State
    ) throws -> StoreTransportResponse {
        state.purchaseRequests.append(request)
        if let known = state.purchases[request.idempotencyKey] {
            guard known.request == request, known.account == account else {
                return try refuse(409, .idempotencyKeyReused)
            }
            return answered(known.response)
        }
        let response: PurchaseResponse
        if state.declines {
            response = PurchaseResponse(
                state: .failed, transaction: nil,
                failure: WireError(code: .paymentDeclined, message: "Your card was declined."))
        } else if request.simulatesAskToBuy {
            response = PurchaseResponse(state: .deferred, transaction: nil, failure: nil)
        } else {
            response = paid(request, account: account, &state)
        }
        state.purchases[request.idempotencyKey] = Purchase(request: request, account: account, response: response)
        return answered(response)
    }

    private static func paid(_ request: PurchaseRequest, account: AccountID, _ state: inout State) -> PurchaseResponse {
        let transaction = transaction(request, &state)
        state.unfinished[transaction.transactionID] = (account, transaction)
        return PurchaseResponse(state: .purchased, transaction: transaction, failure: nil)
    }

    private static func transaction(_ request: PurchaseRequest, _ state: inout State) -> TransactionDescription {
        let id = TransactionID(rawValue: state.nextTransaction)
        state.nextTransaction += 1
        return TransactionDescription(
            transactionID: id, originalTransactionID: id, bundleID: request.bundleID, productID: request.productID,
            kind: .consumable, quantity: request.quantity, purchaseDate: 1_700_000_000_000,
            originalPurchaseDate: 1_700_000_000_000, expiresDate: nil, applicationUsername: request.applicationUsername,
            idempotencyKey: request.idempotencyKey, content: state.hosted[request.productID]?.content)
    }
}
