import HTTPSupport
import Hummingbird
import Logging
import Store
import StoreWire

/// Opens the storefront's pages for the customers of one store.
public struct VisitDesk: Sendable {
    let board: VisitBoard
    let base: @Sendable () -> String
    let prices: ItemPriceText
    let campaigns: Campaigns

    /// Creates a desk without visits.
    /// - Parameters:
    ///   - base: the storefront's base URL, without a trailing slash.
    ///   - campaigns: counts the views that campaigns led to.
    ///   - node: the number of this process, with which the identifiers of its visits begin.
    ///   - processes: the processes of the store, which have visits of their own.
    public init(
        base: @escaping @Sendable () -> String, prices: ItemPriceText, campaigns: Campaigns, node: Int = 0,
        processes: OtherProcess = OtherProcess(nil)
    ) {
        self.campaigns = campaigns
        board = VisitBoard(node: node, processes: processes, now: { .now })
        self.base = base
        self.prices = prices
    }
}

/// A device's requests about the storefront's items.
extension DeviceController {
    /// The longest time that a request for a visit's state may wait, in seconds.
    private static let longestWait = 25
    /// The most items of a page of the library.
    private static let libraryPage = 500

    @Sendable func openVisit(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let body = try await request.decodeJSON(VisitRequest.self, upTo: 16 << 10)
        let returnAddress = try Self.returnAddress(body.returnAddress)
        // Anyone may learn this from /lookup. An app asks nobody to sign in for a page that does not exist.
        guard store.catalog.value.storeItem(body.item) != nil else {
            throw StoreError(.notFound, "The storefront has no item \(body.item).")
        }
        let account = try await signedIn(request)
        guard let storefront = Storefront.named(account.storefront),
            let item = store.catalog.value.storeItem(body.item),
            item.availability.includes(storefront)
        else {
            throw StoreError(.notFound, "The storefront \(account.storefront) has no item \(body.item).")
        }
        let id = visits.board.open(
            Visit(
                environment: store.environment, accountID: account.accountID,
                token: request.bearerToken.map(String.init) ?? "",
                item: item.number,
                promoted: body.productID, returnAddress: returnAddress))
        if let campaign = body.campaign.flatMap({ Campaign($0) }) {
            // A page is worth more than its count.
            try? await visits.campaigns.count(campaign, of: item.number, at: store.clock.realMilliseconds)
        }
        let price = item.price(in: storefront)
        let isOwned = try await store.ownedItem(item.number, by: account) != nil
        return try .json(
            VisitDescription(
                id: id, url: "\(visits.base())/visit/\(id)",
                name: item.text(for: ["\(storefront.language)_\(storefront.regionCode)"]).name,
                creator: item.creator.name, price: price.map { visits.prices.text($0, in: storefront) }, amount: price,
                isOwned: isOwned,
                files: try await store.files(
                    of: [item.number], in: storefront, includesFormer: isOwned)[item.number],
                reviews: try await itemReviews(of: item, for: account, in: storefront)))
    }

    /// Reads the address to which the browser returns from a page.
    static func returnAddress(_ text: String?) throws -> ReturnAddress? {
        guard let text else { return nil }
        guard let address = ReturnAddress(text) else {
            throw StoreError(
                .invalidRequest,
                "“returnAddress” must be an http or https address of this machine of at most "
                    + "\(ReturnAddress.most) bytes.")
        }
        return address
    }

    @Sendable func visit(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        _ = try await signedIn(request)
        let (id, _) = try visit(of: request, context)
        let wait = request.uri.queryParameters["wait"].flatMap { Int($0) } ?? 0
        let limit = Duration.seconds(min(max(wait, 0), Self.longestWait))
        guard let state = await visits.board.state(id, waiting: limit) else {
            throw StoreError(.notFound, "This page has expired.")
        }
        return try .json(["state": state])
    }

    /// The visit that a request names. Only the device that opened a page may use it.
    private func visit(of request: Request, _ context: StoreRequestContext) throws -> (id: String, visit: Visit) {
        let id = context.parameters.get("id") ?? ""
        try visits.board.processes.check(id: id)
        guard let visit = visits.board.visit(id), visit.token == request.bearerToken.map(String.init),
            visit.environment == store.environment
        else { throw StoreError(.notFound, "This page has expired.") }
        return (id, visit)
    }

    @Sendable func reviewVisit(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        guard let item = try visit(of: request, context).visit.item else {
            throw StoreError(.notFound, "This page shows no item.")
        }
        let body = try await request.decodeJSON(VisitReviewRequest.self, upTo: Self.largestReview)
        let review = try await write(
            stars: body.stars, title: body.title, text: body.text, about: item, by: account,
            owns: try await store.ownedItem(item, by: account) != nil)
        return try .json(ReviewResponse(review: ReviewDescription(review)))
    }

    @Sendable func library(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let after = try request.uri.queryParameters["after"].map { try Self.transactionID($0) }
        let owned = try await store.ownedItems(of: account, after: after, limit: Self.libraryPage + 1)
        return try .json(
            LibraryResponse(
                items: try await describe(Array(owned.prefix(Self.libraryPage)), for: account),
                hasMore: owned.count > Self.libraryPage))
    }

    @Sendable func buyItem(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(ItemPurchaseMessage.self, upTo: 16 << 10)
        let bought = try await store.buyItem(
            ItemPurchaseRequest(item: body.item, agreedPrice: body.agreedPrice, idempotencyKey: body.idempotencyKey),
            by: account)
        let described = try await describe([bought], for: account)
        return try .json(described[0])
    }

    @Sendable func itemFile(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let fault = try await store.faults.next(.content, account: store.knownEmail(token: request.bearerToken))
        if let fault, fault.wrongContent == nil { throw Self.problem(fault) }
        let account = try await signedIn(request)
        guard let item = context.parameters.get("id").flatMap({ Int64($0) }) else {
            throw StoreError(.invalidRequest, "The path must have an item's number.")
        }
        do {
            var grant = try await store.itemFileGrant(item, for: account)
            fault?.wrongContent?.falsify(&grant)
            return try .json(grant)
        } catch let problem as ItemFileProblem {
            context.logger.error(
                "an item's file cannot be delivered",
                metadata: [
                    "item": .stringConvertible(problem.item), "path": .string(problem.path),
                    "reason": .string(problem.reason),
                ])
            throw problem.refusal
        }
    }

    /// Describes purchases in the language of the storefront that sold each.
    private func describe(_ purchases: [ItemPurchase], for account: Account) async throws -> [OwnedItem] {
        let files = try await store.files(
            of: purchases.map(\.item), in: Storefront.named(account.storefront) ?? .unitedStates)
        return purchases.map { describe($0, files[$0.item]) }
    }

    private func describe(_ purchase: ItemPurchase, _ files: [ItemFileDescription]?) -> OwnedItem {
        let item = store.catalog.value.storeItem(purchase.item)
        let storefront = Storefront.named(purchase.storefront) ?? .unitedStates
        return OwnedItem(
            transactionID: purchase.transactionID, item: purchase.item,
            name: item?.text(for: ["\(storefront.language)_\(storefront.regionCode)"]).name, kind: item?.kind.rawValue,
            price: purchase.price, purchaseDate: purchase.purchaseDate, files: files)
    }
}
