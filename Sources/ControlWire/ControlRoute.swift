import CornerstoreEncoding
import Foundation
import StoreWire

/// The routes of the control port. Both ends use this table: the server routes by ``template``, and the command line
/// requests ``path``. Tests compare the server's routes and `Documentation/ControlPort.md` with ``all``.
public enum ControlRoute: Sendable, Hashable {
    /// Gets whether both stores' databases answer.
    case health
    /// Lists the apps: ``ControlAPI/App``.
    case apps

    // The routes of one environment.
    /// Gets the store's time: ``ControlAPI/Clock``.
    case clock(StoreEnvironment)
    /// Changes the store's time: ``ControlAPI/ClockChange``, answered with ``ControlAPI/Clock``.
    case changeClock(StoreEnvironment)
    /// Lists the ordered faults: ``ControlAPI/Fault``.
    case faults(StoreEnvironment)
    /// Orders a fault: ``ControlAPI/Fault``, answered with all of them.
    case orderFault(StoreEnvironment)
    /// Removes all faults.
    case clearFaults(StoreEnvironment)
    /// Lists the rules by which payments are declined: ``ControlAPI/PaymentRule``.
    case paymentRules(StoreEnvironment)
    /// Adds or replaces a rule: ``ControlAPI/PaymentRule``.
    case addPaymentRule(StoreEnvironment)
    /// Removes all rules.
    case clearPaymentRules(StoreEnvironment)
    /// Lists accounts by e-mail address: ``ControlAPI/Account``.
    case accounts(StoreEnvironment, after: String? = nil)
    /// Creates an account: ``ControlAPI/NewAccount``, answered with ``ControlAPI/Account``.
    case createAccount(StoreEnvironment)
    /// Changes an account: ``ControlAPI/AccountChange``, answered with ``ControlAPI/Account``.
    case changeAccount(StoreEnvironment, email: String)
    /// Lists rows of the ledger, newest first: ``ControlAPI/Transaction``. `before` is a transaction's id.
    case transactions(
        StoreEnvironment, before: String? = nil, bundle: String? = nil, account: String? = nil, limit: Int? = nil)
    /// Refunds a transaction: ``ControlAPI/Refund``, answered with ``ControlAPI/Refunded``.
    case refund(StoreEnvironment, id: String)
    /// Lists the purchases that wait: ``ControlAPI/PendingPurchase``.
    case pendingPurchases(StoreEnvironment)
    /// Approves a purchase that waits for approval. The answer is a `PurchaseResponse`.
    case approve(StoreEnvironment, key: UUID)
    /// Declines a purchase that waits.
    case decline(StoreEnvironment, key: UUID)
    /// Completes an interrupted purchase. The answer is a `PurchaseResponse`.
    case resolve(StoreEnvironment, key: UUID)
    /// Promotes a product to an account: ``ControlAPI/Promotion``, answered with ``ControlAPI/Promoted``.
    case promote(StoreEnvironment)
    /// Lists an account's price increases: ``ControlAPI/PriceIncrease``.
    case priceIncreases(StoreEnvironment, account: String)
    /// Orders a price increase: ``ControlAPI/NewPriceIncrease``, answered with ``ControlAPI/PriceIncrease``.
    case increasePrice(StoreEnvironment)
    /// Lists the codes, newest first: ``ControlAPI/Code``.
    case codes(StoreEnvironment)
    /// Creates a code: ``ControlAPI/NewCode``, answered with ``ControlAPI/Code``.
    case addCode(StoreEnvironment)

    // The routes of hosted content, which both environments share.
    /// Lists the products with hosted content: ``ControlAPI/HostedProduct``.
    case content(bundle: String? = nil, product: String? = nil)
    /// Turns hosting on or off: ``ControlAPI/Hosting``, answered with ``ControlAPI/HostedProduct`` in a list.
    case setHosting
    /// Sets the review rule of an app or a product: ``ControlAPI/ContentRule``.
    case setContentRule
    /// Begins or continues an upload: ``ControlAPI/NewContentUpload``, answered with ``ControlAPI/ContentUpload``.
    case beginUpload
    /// Gets an upload: ``ControlAPI/ContentUpload``.
    case upload(UUID)
    /// Appends bytes to an upload, from `offset` on. The answer is ``ControlAPI/ContentUpload``, or with 409
    /// ``ControlAPI/WrongOffset``.
    case appendToUpload(UUID, offset: Int64)
    /// Cancels an upload.
    case cancelUpload(UUID)
    /// Completes an upload. The answer is ``ControlAPI/ContentVersion``, or with 422 ``ControlAPI/RefusedContent``.
    case completeUpload(UUID)
    /// Takes the next step of a version: ``ControlAPI/Rejection`` for a rejection, nothing for the others. The answer
    /// is ``ControlAPI/ContentVersion``.
    case step(ContentStepName, version: UUID)

    /// Lists the views of an item's page by campaign: ``ControlAPI/CampaignViews``.
    case campaigns(item: Int64)

    // The routes of reviews, which both environments share.
    /// Lists reviews, the last changed first: ``ControlAPI/Review``. `after` is the cursor of the last one of the list
    /// before.
    case reviews(item: Int64? = nil, hidden: Bool? = nil, after: String? = nil, limit: Int? = nil)
    /// Gets a review: ``ControlAPI/Review``.
    case review(UUID)
    /// Answers a review as the developer: ``ControlAPI/ReviewAnswer``, answered with ``ControlAPI/Review``.
    case answerReview(UUID)
    /// Removes the developer's answer. The answer is ``ControlAPI/Review``.
    case removeReviewAnswer(UUID)
    /// Hides a review: ``ControlAPI/ReviewHiding``, answered with ``ControlAPI/Review``.
    case hideReview(UUID)
    /// Shows and counts a hidden review again. The answer is ``ControlAPI/Review``.
    case unhideReview(UUID)

    // The partner feed.
    /// Lists the feeds: ``ControlAPI/Feeds``.
    case feeds
    /// Begins to build a feed: ``ControlAPI/FeedOrder``, answered with ``ControlAPI/Feeds``.
    case buildFeed
    /// Lists the partners: ``ControlAPI/Partner``.
    case partners
    /// Adds a partner: ``ControlAPI/NewPartner``, answered with ``ControlAPI/PartnerPassword``.
    case addPartner
    /// Removes a partner.
    case removePartner(name: String)

    /// The managed catalog.
    case managed(ManagedRoute)

    /// A payment sheet.
    case sheet(SheetRoute)

    /// A step of a version of hosted content, as the last part of its path.
    public enum ContentStepName: String, Sendable, CaseIterable {
        /// The developer submits the version.
        case submit
        /// The reviewer begins the review.
        case review
        /// The reviewer approves the version.
        case approve
        /// The reviewer rejects the version.
        case reject
        /// The developer removes the version from sale.
        case remove
    }

    /// The name of a part of a path or query.
    public enum Parameter: String, Sendable, CaseIterable {
        /// In a path: `sandbox` or `production`.
        case environment
        /// In a path: an account's e-mail address.
        case email
        /// In a path: the id of a transaction, upload, version, review or sheet.
        case id
        /// In a path: a partner's name.
        case name
        /// In a path: a purchase's key.
        case key
        /// In a query: the e-mail address or the cursor after which the list begins.
        case after
        /// In a query: the transaction before which the list begins.
        case before
        /// In a query: an app's bundle identifier.
        case bundle
        /// In a query: a product's identifier.
        case product
        /// In a query: an account's e-mail address.
        case account
        /// In a query: the largest number of rows.
        case limit
        /// In a query: the number of bytes that have arrived.
        case offset
        /// In a query: an item's number.
        case item
        /// In a query: `true` for hidden reviews only.
        case hidden
    }

    /// One line of the table.
    private struct Line {
        var method: RouteMethod
        var template: String
        var values: [(Parameter, String)]
        var query: [(Parameter, String?)]

        /// A route of both environments.
        init(
            _ method: RouteMethod, _ template: String, _ values: [(Parameter, String)] = [],
            query: [(Parameter, String?)] = []
        ) {
            (self.method, self.template, self.values, self.query) = (method, template, values, query)
        }

        /// A route of one environment.
        init(
            _ method: RouteMethod, _ environment: StoreEnvironment, _ template: String,
            _ values: [(Parameter, String)] = [], query: [(Parameter, String?)] = []
        ) {
            self.init(
                method, "/control/v1/{environment}/" + template, [(.environment, environment.name)] + values,
                query: query)
        }
    }

    private var line: Line {
        switch self {
        case .health: Line(.get, "/health")
        case .apps: Line(.get, "/control/v1/apps")
        case .clock(let store): Line(.get, store, "clock")
        case .changeClock(let store): Line(.put, store, "clock")
        case .faults(let store): Line(.get, store, "faults")
        case .orderFault(let store): Line(.post, store, "faults")
        case .clearFaults(let store): Line(.delete, store, "faults")
        case .paymentRules(let store): Line(.get, store, "payment-rules")
        case .addPaymentRule(let store): Line(.post, store, "payment-rules")
        case .clearPaymentRules(let store): Line(.delete, store, "payment-rules")
        case .accounts(let store, let after): Line(.get, store, "accounts", query: [(.after, after)])
        case .createAccount(let store): Line(.post, store, "accounts")
        case .changeAccount(let store, let email): Line(.patch, store, "accounts/{email}", [(.email, email)])
        case .transactions(let store, let before, let bundle, let account, let limit):
            Line(
                .get, store, "transactions",
                query: [(.before, before), (.bundle, bundle), (.account, account), (.limit, limit.map(String.init))])
        case .refund(let store, let id): Line(.post, store, "transactions/{id}/refund", [(.id, id)])
        case .pendingPurchases(let store): Line(.get, store, "pending-purchases")
        case .approve(let store, let key):
            Line(.post, store, "pending-purchases/{key}/approve", [(.key, key.uuidString)])
        case .decline(let store, let key):
            Line(.post, store, "pending-purchases/{key}/decline", [(.key, key.uuidString)])
        case .resolve(let store, let key):
            Line(.post, store, "pending-purchases/{key}/resolve", [(.key, key.uuidString)])
        case .promote(let store): Line(.post, store, "promoted")
        case .priceIncreases(let store, let account): Line(.get, store, "price-increases", query: [(.account, account)])
        case .increasePrice(let store): Line(.post, store, "price-increases")
        case .codes(let store): Line(.get, store, "codes")
        case .addCode(let store): Line(.post, store, "codes")
        case .content(let bundle, let product):
            Line(.get, "/control/v1/content", query: [(.bundle, bundle), (.product, product)])
        case .setHosting: Line(.put, "/control/v1/content/hosting")
        case .setContentRule: Line(.put, "/control/v1/content/rule")
        case .beginUpload: Line(.post, "/control/v1/content/uploads")
        case .upload(let id): Line(.get, "/control/v1/content/uploads/{id}", [(.id, id.uuidString)])
        case .appendToUpload(let id, let offset):
            Line(.patch, "/control/v1/content/uploads/{id}", [(.id, id.uuidString)], query: [(.offset, String(offset))])
        case .cancelUpload(let id): Line(.delete, "/control/v1/content/uploads/{id}", [(.id, id.uuidString)])
        case .completeUpload(let id): Line(.post, "/control/v1/content/uploads/{id}/complete", [(.id, id.uuidString)])
        case .step(let step, let version):
            Line(.post, "/control/v1/content/versions/{id}/\(step.rawValue)", [(.id, version.uuidString)])
        case .reviews(let item, let hidden, let after, let limit):
            Line(
                .get, "/control/v1/reviews",
                query: [
                    (.item, item.map(String.init)), (.hidden, hidden.map(String.init)), (.after, after),
                    (.limit, limit.map(String.init)),
                ])
        case .campaigns(let item): Line(.get, "/control/v1/items/{id}/campaigns", [(.id, String(item))])
        case .review(let id): Line(.get, "/control/v1/reviews/{id}", [(.id, id.uuidString)])
        case .answerReview(let id): Line(.put, "/control/v1/reviews/{id}/answer", [(.id, id.uuidString)])
        case .removeReviewAnswer(let id): Line(.delete, "/control/v1/reviews/{id}/answer", [(.id, id.uuidString)])
        case .hideReview(let id): Line(.put, "/control/v1/reviews/{id}/hiding", [(.id, id.uuidString)])
        case .unhideReview(let id): Line(.delete, "/control/v1/reviews/{id}/hiding", [(.id, id.uuidString)])
        case .feeds: Line(.get, "/control/v1/feeds")
        case .buildFeed: Line(.post, "/control/v1/feeds")
        case .partners: Line(.get, "/control/v1/partners")
        case .addPartner: Line(.post, "/control/v1/partners")
        case .removePartner(let name): Line(.delete, "/control/v1/partners/{name}", [(.name, name)])
        case .managed(let route): Line(route.method, route.template)
        case .sheet(let route): Line(route.method, route.template)
        }
    }

    /// The HTTP method of the request.
    public var method: RouteMethod { line.method }

    /// The path, with the names of parameters in braces.
    public var template: String { line.template }

    /// The names of the parameters in the query.
    public var queryNames: [String] {
        if case .managed(let route) = self { return route.queryNames }
        if case .sheet(.outcome) = self { return [SheetRoute.wait] }
        return line.query.map(\.0.rawValue)
    }

    /// The path and query of the request. Parameters that are nil are left out.
    public var path: String {
        if case .managed(let route) = self { return route.path }
        if case .sheet(let route) = self { return route.path }
        let line = line
        let path = line.values.reduce(line.template) { path, value in
            path.replacing("{\(value.0.rawValue)}", with: value.1.percentEncoded)
        }
        let pairs = line.query.compactMap { name, value in value.map { "\(name.rawValue)=\($0.percentEncoded)" } }
        return path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    /// One route of each line of the table, with values that stand for any.
    public static let all: [ControlRoute] =
        [
            .health, .apps, .clock(.sandbox), .changeClock(.sandbox), .faults(.sandbox), .orderFault(.sandbox),
            .clearFaults(.sandbox), .paymentRules(.sandbox), .addPaymentRule(.sandbox), .clearPaymentRules(.sandbox),
            .accounts(.sandbox), .createAccount(.sandbox), .changeAccount(.sandbox, email: ""), .transactions(.sandbox),
            .refund(.sandbox, id: ""), .pendingPurchases(.sandbox), .approve(.sandbox, key: UUID()),
            .decline(.sandbox, key: UUID()), .resolve(.sandbox, key: UUID()), .promote(.sandbox),
            .priceIncreases(.sandbox, account: ""), .increasePrice(.sandbox), .codes(.sandbox), .addCode(.sandbox),
            .content(), .setHosting, .setContentRule, .beginUpload, .upload(UUID()), .appendToUpload(UUID(), offset: 0),
            .cancelUpload(UUID()), .completeUpload(UUID()), .campaigns(item: 1), .reviews(), .review(UUID()),
            .answerReview(UUID()),
            .removeReviewAnswer(UUID()), .hideReview(UUID()), .unhideReview(UUID()), .feeds, .buildFeed,
            .partners, .addPartner, .removePartner(name: ""),
        ] + ContentStepName.allCases.map { .step($0, version: UUID()) } + ManagedRoute.all.map { .managed($0) }
        + [SheetRoute.post, .outcome("", wait: nil), .page(""), .answer("")].map { .sheet($0) }
}
