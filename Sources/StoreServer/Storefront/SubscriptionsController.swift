import ConsolePages
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Store
import StoreWire

/// Serves the page where a customer manages subscriptions. Its address is unguessable: a device opens the page for its
/// customer, or the customer signs in at ``start``. Anyone who knows the address can manage the account's
/// subscriptions.
struct SubscriptionsController: Sendable {
    /// The path of the page where customers sign in.
    static let start = "/subscriptions"

    let pages: ItemPages
    let visits: VisitDesk
    let stores: [Store]
    /// The rate limit on sign-ins; nil for no limit.
    var signIns: SignInLimits?
    /// Whether the server is behind a proxy that adds the client's address to `X-Forwarded-For`.
    var isBehindProxy = false

    /// The largest form, in bytes.
    private static let largestForm = 16 << 10

    /// The path of a visit's page.
    static func path(_ id: String, _ end: String = "") -> String { "\(start)/\(id)\(end)" }

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.get("/subscriptions") { _, _ in try signInPage() }
        router.post("/subscriptions") { request, context in try await signIn(request, context) }
        router.get("/subscriptions/:id") { request, context in
            try await list(try await place(context), QueryParameters(query: request.uri.query ?? ""))
        }
        router.post("/subscriptions/:id/done") { _, context in try await close(try await place(context)) }
        router.get("/subscriptions/:id/:subscription/off") { _, context in
            try await askToTurnOff(try await place(context), try Self.subscription(context))
        }
        for isOn in [false, true] {
            router.post(RouterPath("/subscriptions/:id/:subscription/" + (isOn ? "on" : "off"))) { _, context in
                try await turn(isOn, try await place(context), try Self.subscription(context))
            }
        }
        router.get("/subscriptions/:id/:subscription/plan") { request, context in
            try await askToChange(
                try await place(context), try Self.subscription(context),
                QueryParameters(query: request.uri.query ?? ""))
        }
        router.post("/subscriptions/:id/:subscription/plan") { request, context in
            try await change(try await place(context), try Self.subscription(context), try await form(request))
        }
    }

    /// A visit with everything that its requests need.
    private struct Place {
        var id: String
        var visit: Visit
        var store: Store
        var account: Account
        var storefront: Storefront

        /// Whether the page is shown within an app.
        var isInApp: Bool { visit.token != nil }
        func path(_ end: String = "") -> String { SubscriptionsController.path(id, end) }
        func path(of subscription: TransactionID, _ end: String) -> String { path("/\(subscription)/\(end)") }
    }

    private func place(_ context: StoreRequestContext) async throws -> Place {
        try visits.board.processes.check(id: context.parameters.get("id") ?? "")
        guard let id = context.parameters.get("id"), let visit = visits.board.visit(id), visit.item == nil,
            let store = stores.first(where: { $0.environment == visit.environment }),
            let account = try await visit.account(in: store), let storefront = Storefront.named(account.storefront)
        else {
            throw GoneVisit(text: "This page has expired. Open it again in the app, or sign in at \(Self.start).")
        }
        return Place(id: id, visit: visit, store: store, account: account, storefront: storefront)
    }

    private static func subscription(_ context: StoreRequestContext) throws -> TransactionID {
        guard let id = context.parameters.get("subscription").flatMap({ TransactionID($0) }) else {
            throw Store.unknownSubscription
        }
        return id
    }

    private func form(_ request: Request) async throws -> QueryParameters {
        QueryParameters(query: String(buffer: try await request.boundedBody(upTo: Self.largestForm)))
    }

    // MARK: Signing in

    private func signInPage(_ form: QueryParameters? = nil, problem: HTTPProblem? = nil) throws -> Response {
        let chosen = form?["environment"] ?? StoreEnvironment.sandbox.name
        let page = SignInPage(
            frame: pages.frame("Subscriptions", .unitedStates), heading: "Subscriptions",
            text: "Sign in to see and change the subscriptions of your account.", problem: problem?.message,
            action: Self.start, email: form?["email"] ?? "",
            choices: stores.map {
                SignInPage.Choice(
                    value: $0.environment.name, label: $0.environment.rawValue, isChosen: $0.environment.name == chosen)
            })
        return try pages.response(page, status: problem?.status ?? .ok)
    }

    /// Checks the password and opens the page. The store keeps no token for it.
    private func signIn(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        // Browsers set the field themselves, and no page can.
        guard request.headers[.secFetchSite] ?? "same-origin" == "same-origin" else {
            throw HTTPProblem(.forbidden, code: "forbidden", message: "Sign in with the form of this page.")
        }
        let form = try await form(request)
        guard let email = form["email"], let password = form["password"], !email.isEmpty, !password.isEmpty,
            let store = stores.first(where: { $0.environment.name == form["environment"] })
        else {
            return try signInPage(
                form,
                problem: HTTPProblem(
                    .unprocessableContent, code: "invalid_request",
                    message: "Type an e-mail address and a password, and choose a store."))
        }
        do {
            let account = try await account(
                SignInRequest(email: email, password: password, deviceID: UUID()), store, request, context)
            let id = visits.board.open(
                Visit(environment: store.environment, accountID: account.accountID, token: nil, item: nil))
            return Self.lead(to: Self.path(id))
        } catch let error as HTTPProblem {
            return try signInPage(form, problem: error)
        } catch let error as StoreError {
            return try signInPage(
                form,
                problem: HTTPProblem(
                    HTTPProblem.status(of: error.code), code: error.code.rawValue, message: error.detail))
        }
    }

    private func account(
        _ body: SignInRequest, _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Account {
        let address = NetworkAddress(
            of: context.channel.remoteAddress, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy)
        try signIns?.take(body.email, from: address, at: store.clock.realMilliseconds)
        do {
            let (token, account) = try await context.whileClientStays {
                try await store.accounts.signIn(body, from: .client(address.text), at: store.clock.milliseconds)
            }
            try await store.accounts.signOut(token: token)
            signIns?.giveBack(body.email, from: address)
            return account
        } catch let error as StoreError where error.code == .unavailable {
            // The store tried no password.
            signIns?.giveBack(body.email, from: address)
            throw error
        }
    }

    // MARK: Pages

    private func list(_ place: Place, _ query: QueryParameters) async throws -> Response {
        let after = query["after"].flatMap { TransactionID($0) }
        let found = try await place.store.managedSubscriptions(of: place.account, after: after)
        let environment =
            place.visit.environment == .sandbox ? "Sandbox: no money moves." : place.visit.environment.rawValue
        let page = SubscriptionsPage(
            frame: pages.frame("Subscriptions", place.storefront, isInApp: place.isInApp),
            message: query["done"].flatMap { Self.messages[$0] },
            problem: query["problem"].flatMap { Self.problems[$0] }, account: "\(place.account.email) · \(environment)",
            subscriptions: found.subscriptions.map { words(place.storefront).subscription($0, place.path()) },
            nothing: "You have no subscriptions.",
            next: found.hasMore
                ? found.subscriptions.last.map { place.path("?after=\($0.originalTransactionID)") } : nil,
            closing: place.path("/done"))
        return try pages.response(page, leadingTo: place.visit.returnAddress)
    }

    private func words(_ storefront: Storefront) -> SubscriptionWords {
        SubscriptionWords(prices: pages.prices, storefront: storefront)
    }

    private func askToTurnOff(_ place: Place, _ id: TransactionID) async throws -> Response {
        let subscription = try await place.store.managedSubscription(id, of: place.account)
        guard subscription.willRenew else { return Self.lead(to: place.path()) }
        let isOverdue = subscription.state != .active
        let end = SubscriptionWords.date(subscription.expiresDate)
        return try pages.response(
            QuestionPage(
                frame: pages.frame(subscription.productName, place.storefront, isInApp: place.isInApp),
                heading: "Turn off renewal of “\(subscription.productName)”?",
                lines: [
                    isOverdue
                        ? "Its payment is overdue, so the subscription ends at once."
                        : "You keep the subscription until \(end), and nothing is charged after that."
                ],
                action: place.path(of: id, "off"), label: "Turn off renewal", cancel: place.path()))
    }

    private func askToChange(_ place: Place, _ id: TransactionID, _ query: QueryParameters) async throws -> Response {
        let subscription = try await place.store.managedSubscription(id, of: place.account)
        let offerID = query["offer"]
        guard
            let plan = subscription.plans.first(where: {
                $0.productID.rawValue == query["product"] && $0.offer?.offerID == offerID
            })
        else {
            return Self.back(place, problem: offerID == nil ? "product_not_available" : "ineligible_for_offer")
        }
        let price = words(place.storefront).price(plan)
        var lines: [String] = []
        switch plan.effect {
        case .now:
            lines.append("It begins now. The account \(place.account.email) pays \(price).")
            if subscription.state == .active, plan.productID != subscription.productID {
                lines.append("The unused part of the present period is refunded.")
            }
        case .nextRenewal:
            lines.append(
                "It begins on \(SubscriptionWords.date(subscription.expiresDate)), with the next renewal, for \(price). "
                    + "Nothing is paid now.")
        }
        if place.visit.environment == .sandbox { lines.append("This is the sandbox: no money moves.") }
        return try pages.response(
            QuestionPage(
                frame: pages.frame(plan.name, place.storefront, isInApp: place.isInApp),
                heading: SubscriptionWords.verb(plan, subscription) + " “\(plan.name)” for \(price)?", lines: lines,
                action: place.path(of: id, "plan"),
                hidden: [
                    PageHidden("product", plan.productID.rawValue), PageHidden("key", UUID().uuidString),
                    PageHidden("price", String(plan.agreedPrice.milliunits)),
                ] + (offerID.map { [PageHidden("offer", $0)] } ?? []), label: "Confirm", cancel: place.path()))
    }

    // MARK: Changes

    private func turn(_ isOn: Bool, _ place: Place, _ id: TransactionID) async throws -> Response {
        do {
            let subscription = try await place.store.setRenewal(isOn, of: id, by: place.account)
            return Self.back(place, isOn ? "on" : subscription.state == .active ? "off" : "ended")
        } catch let error as StoreError {
            return Self.back(place, problem: error.code.rawValue)
        }
    }

    private func change(_ place: Place, _ id: TransactionID, _ form: QueryParameters) async throws -> Response {
        guard let key = form["key"].flatMap({ UUID(uuidString: $0) }), let product = form["product"],
            let milliunits = form["price"].flatMap({ Int64($0) })
        else { return Self.back(place, problem: "invalid") }
        let request = PlanChangeRequest(
            productID: ProductID(product),
            agreedPrice: Money(milliunits: milliunits, currency: place.storefront.currency), idempotencyKey: key,
            winBackOfferID: form["offer"])
        do {
            let answer = try await place.store.changePlan(of: id, request, by: place.account)
            switch answer.state {
            case .deferred: return Self.back(place, "asked")
            case .failed: return Self.back(place, problem: answer.failure?.code.rawValue ?? "invalid")
            case .purchased:
                // A choice for the next renewal is answered with the transaction of the present period.
                return Self.back(place, answer.transaction?.idempotencyKey == key ? "changed" : "chosen")
            }
        } catch let error as StoreError {
            return Self.back(place, problem: error.code.rawValue)
        }
    }

    private func close(_ place: Place) async throws -> Response {
        visits.board.remove(place.id)
        if let address = place.visit.returnAddress { return Self.lead(to: address.text) }
        guard place.isInApp else { return Self.lead(to: Self.start) }
        return try pages.response(
            NotePage(
                frame: pages.frame("Done", place.storefront, isInApp: true), heading: "Done",
                text: "You can return to the app."))
    }

    private static func lead(to address: String) -> Response {
        Response(status: .seeOther, headers: [.location: address, .cacheControl: "no-store"])
    }

    /// Back to the list, so that a reload repeats nothing.
    private static func back(_ place: Place, _ done: String? = nil, problem: String? = nil) -> Response {
        let known = problem.map { problems[$0] == nil ? "invalid" : $0 }
        return lead(to: place.path(done.map { "?done=\($0)" } ?? known.map { "?problem=\($0)" } ?? ""))
    }

    private static let messages = [
        "off": "Renewal is off. You keep the subscription until its period ends.",
        "ended": "The subscription has ended.", "on": "The subscription renews again.",
        "changed": "Thank you. The plan has begun.", "chosen": "Thank you. The plan begins with the next renewal.",
        "asked": "The request was sent. The plan changes once it is approved.",
    ]
    private static let problems = [
        "invalid": "This did not work. Look at the subscription again.",
        "product_not_available": "This plan is not available.",
        "payment_declined": "The payment was declined.", "payment_not_allowed": "This account may not pay.",
        "price_changed": "The price has changed. Look at it again.",
        "ineligible_for_offer": "This offer is not available to you.",
        "invalid_offer_identifier": "This offer is no longer available.",
        "already_subscribed": "You have this plan already.",
        "interrupted": "The purchase was interrupted. It waits until you resolve it at the store.",
        "idempotency_key_reused": "The form was used before. Try again.",
        "unavailable": "The store cannot be reached right now. Try again.",
        "wrong_state": "The subscription is over, or its payment is overdue. Choose a plan below.",
        "unknown_transaction": "The account has no such subscription.",
    ]
}
