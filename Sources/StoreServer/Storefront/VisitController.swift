import ConsolePages
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import StoreWire

/// Serves an item's page within an app. Anyone who knows the page's unguessable address can buy and review the one item
/// with the customer's account; no other address can.
struct VisitController: Sendable {
    let pages: ItemPages
    let reviews: Reviews
    let visits: VisitDesk
    let stores: [Store]

    /// The largest form, in bytes: a review of 6,000 characters, each of up to 12 bytes.
    private static let largestForm = 96 << 10

    func addRoutes(to router: Router<StoreRequestContext>) {
        // A middleware applies to the routes that follow it.
        router.add(middleware: GoneVisitMiddleware(pages: pages))
        router.get("/visit/:id") { request, context in try await page(try await place(context), request) }
        router.get("/visit/:id/buy") { _, context in try await confirmation(try await place(context)) }
        router.post("/visit/:id/buy") { request, context in
            try await buy(try await place(context), try await form(request))
        }
        router.post("/visit/:id/review") { request, context in
            try await review(try await place(context), try await form(request))
        }
        router.post("/visit/:id/review/remove") { _, context in
            let place = try await place(context)
            try await reviews.remove(place.item.number, by: place.reviewer)
            stores.first?.changes.record(ChangeTopic(.reviews, nil))
            return Self.back(place, "removed")
        }
        router.post("/visit/:id/done") { _, context in
            let place = try await place(context)
            visits.board.end(place.id, .closed)
            if let address = place.visit.returnAddress {
                return Response(status: .seeOther, headers: [.location: address.text, .cacheControl: "no-store"])
            }
            return try pages.response(
                NotePage(
                    frame: pages.frame("Done", place.storefront, isInApp: true), heading: "Done",
                    text: "You can return to the app."))
        }
    }

    /// A visit with everything that its requests need.
    private struct Place {
        var id: String
        var visit: Visit
        var store: Store
        var account: Account
        var storefront: Storefront
        var item: CatalogItem

        var reviewer: Reviewer { Reviewer(account, in: visit.environment) }
        func path(_ end: String = "") -> String { "/visit/\(id)\(end)" }
    }

    private func place(_ context: StoreRequestContext) async throws -> Place {
        try visits.board.processes.check(id: context.parameters.get("id") ?? "")
        guard let id = context.parameters.get("id"), let visit = visits.board.visit(id),
            let store = stores.first(where: { $0.environment == visit.environment }),
            let account = try await visit.account(in: store),
            let storefront = Storefront.named(account.storefront), let number = visit.item,
            let item = try pages.index.value.item(number), item.availability.includes(storefront)
        else { throw GoneVisit() }
        return Place(id: id, visit: visit, store: store, account: account, storefront: storefront, item: item)
    }

    private func form(_ request: Request) async throws -> QueryParameters {
        QueryParameters(query: String(buffer: try await request.boundedBody(upTo: Self.largestForm)))
    }

    // MARK: Pages

    private func page(_ place: Place, _ request: Request) async throws -> Response {
        let query = QueryParameters(query: request.uri.query ?? "")
        var page = try pages.page(
            of: place.item, in: place.storefront, promoted: place.visit.promoted, isInApp: true)
        page.message = query["done"].flatMap { Self.messages[$0] }
        page.problem = query["problem"].flatMap { Self.problems[$0] }
        let isOwned = try await place.store.ownedItem(place.item.number, by: place.account) != nil
        page.buying = PageBuying(isOwned: isOwned, offer: isOwned ? nil : offer(place))
        if isOwned {
            page.reviewing = reviewing(
                try await reviews.review(of: place.item.number, by: place.reviewer), place)
        }
        let after = query["reviews"].flatMap { ReviewCursor($0) }
        let found = try await reviews.page(
            of: place.item.number, in: place.storefront, after: after, limit: ItemPages.reviewsShown + 1)
        page.show(found) { place.path("?reviews=\($0)") }
        page.closing = place.path("/done")
        return try pages.response(page, leadingTo: place.visit.returnAddress)
    }

    private func offer(_ place: Place) -> PageOffer? {
        guard let price = place.item.price(in: place.storefront) else { return nil }
        let text = pages.prices.text(price, in: place.storefront)
        return PageOffer(link: place.path("/buy"), label: price.milliunits == 0 ? "Get" : "Buy for \(text)")
    }

    private func reviewing(_ own: Review?, _ place: Place) -> PageReviewing {
        PageReviewing(
            action: place.path("/review"), heading: own == nil ? "Write a review" : "Your review",
            button: own == nil ? "Send" : "Save",
            choices: (1...5).map {
                PageStarChoice(stars: $0, label: $0 == 1 ? "1 star" : "\($0) stars", isChosen: $0 == own?.stars)
            },
            title: own?.words?.title ?? "", text: own?.words?.text ?? "",
            removal: own == nil ? nil : place.path("/review/remove"))
    }

    private func confirmation(_ place: Place) async throws -> Response {
        // After buying, the browser's back button leads here.
        guard try await place.store.ownedItem(place.item.number, by: place.account) == nil else {
            return Self.back(place)
        }
        guard let price = place.item.price(in: place.storefront) else { return Self.back(place, problem: "not_sold") }
        let name = place.item.text(for: ItemPages.languages(place.storefront)).name
        let text = pages.prices.text(price, in: place.storefront)
        let isFree = price.milliunits == 0
        return try pages.response(
            ConfirmPage(
                frame: pages.frame(name, place.storefront, isInApp: true),
                artwork: place.item.anyArtworkAddress(200).path,
                heading: isFree ? "Get “\(name)”?" : "Buy “\(name)” for \(text)?",
                text: "The account \(place.account.email) \(isFree ? "gets it for nothing" : "pays \(text)"). "
                    + (place.visit.environment == .sandbox ? "This is the sandbox: no money moves." : ""),
                action: place.path("/buy"), key: UUID().uuidString, agreed: String(price.milliunits),
                label: isFree ? "Get" : "Buy", cancel: place.path()))
    }

    // MARK: Changes

    private func buy(_ place: Place, _ form: QueryParameters) async throws -> Response {
        guard let key = form["key"].flatMap({ UUID(uuidString: $0) }),
            let milliunits = form["price"].flatMap({ Int64($0) })
        else { return Self.back(place, problem: "invalid") }
        let agreed = Money(milliunits: milliunits, currency: place.storefront.currency)
        do {
            _ = try await place.store.buyItem(
                ItemPurchaseRequest(item: place.item.number, agreedPrice: agreed, idempotencyKey: key),
                by: place.account)
        } catch let error as StoreError {
            if error.code == .awaitsApproval { return Self.back(place, "asked") }
            return Self.back(
                place, problem: Self.problems[error.code.rawValue] == nil ? "invalid" : error.code.rawValue)
        }
        visits.board.end(place.id, .bought)
        return Self.back(place, "bought")
    }

    private func review(_ place: Place, _ form: QueryParameters) async throws -> Response {
        guard let stars = form["stars"].flatMap({ Int($0) }) else { return Self.back(place, problem: "invalid") }
        let number = place.item.number
        let owns = try await place.store.ownedItem(number, by: place.account) != nil
        do {
            // A form sends line ends as CR and LF.
            let words = try ReviewWords(title: form["title"], text: form["text"]?.replacing("\r\n", with: "\n"))
            if words == nil, form["title"] == nil || form["text"] == nil {
                _ = try await reviews.rate(number, stars: stars, by: place.reviewer, owns: owns)
            } else {
                // The page's form has both fields. Empty ones remove the words.
                _ = try await reviews.write(words, stars: stars, about: number, by: place.reviewer, owns: owns)
            }
            stores.first?.changes.record(ChangeTopic(.reviews, nil))
        } catch let error as StoreError {
            let code = error.code.rawValue
            return Self.back(place, problem: Self.problems[code] == nil ? "words" : code)
        }
        return Self.back(place, "reviewed")
    }

    /// Back to the page, so that a reload repeats nothing.
    private static func back(_ place: Place, _ done: String? = nil, problem: String? = nil) -> Response {
        let query = done.map { "?done=\($0)" } ?? problem.map { "?problem=\($0)" } ?? ""
        return Response(status: .seeOther, headers: [.location: place.path(query), .cacheControl: "no-store"])
    }

    private static let messages = [
        "bought": "Thank you. It is in your library now.", "reviewed": "Thank you for your review.",
        "asked": "The request to buy was sent. It is yours once it is approved.", "removed": "Your review was removed.",
    ]
    private static let problems = [
        "invalid": "The form was incomplete. Try again.", "not_sold": "This storefront does not sell it.",
        "product_not_available": "This storefront does not sell it.",
        "payment_declined": "The payment was declined.",
        "payment_not_allowed": "This account may not pay.",
        "price_changed": "The price has changed. Look at it again.",
        "idempotency_key_reused": "The form was used before. Try again.",
        "unavailable": "The store cannot be reached right now. Try again.",
        "words": "A review needs stars from 1 to 5, and a title and a text or neither.",
        "review_too_long": "The review is too long: a title has at most 100 characters, a text 6,000.",
        "not_owned": "Only customers who own the item can review it.",
    ]
}

extension Visit {
    /// The account that the visit's device is signed in with; nil when it no longer is, or the account is locked.
    func account(in store: Store) async throws -> Account? {
        guard let token else {
            let account = try await store.accounts.account(accountID)
            return account?.isLocked == false ? account : nil
        }
        do { return try await store.accounts.account(token: token) } catch is StoreError { return nil }
    }
}

/// The address of a page that is unknown, expired, or whose account may no longer use it.
struct GoneVisit: Error {
    /// The advice to the customer.
    var text = "This page has expired. Open it again in the app."
}

/// Answers an unknown or expired page of a visit with a page.
struct GoneVisitMiddleware: RouterMiddleware {
    let pages: ItemPages

    func handle(
        _ request: Request, context: StoreRequestContext,
        next: (Request, StoreRequestContext) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let gone as GoneVisit {
            return try pages.response(pages.missingPage(gone.text, in: .unitedStates), status: .notFound)
        }
    }
}
