import Foundation
import StoreWire

/// The routes of the control port. Both ends use this table: the server routes by ``template``, and the command line
/// requests ``path``. Tests compare the server's routes and `Documentation/ControlPort.md` with ``all``.
public enum ControlRoute: Sendable, Hashable {
    /// Gets whether the process works. It needs no token.
    case health
    /// Gets whether the process can serve requests, and if not, why: for load balancers. It needs no token.
    case readiness
    /// Gets the metrics of the process in Prometheus' text format.
    case metrics
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
    /// Removes the fault of an operation.
    case removeFault(StoreEnvironment, operation: String)
    /// Lists the last requests that met a fault, newest first: ``ControlAPI/FaultHit``.
    case faultHits(StoreEnvironment)
    /// Lists the faults that each operation can take: ``ControlAPI/FaultChoice``.
    case faultChoices
    /// Lists the rules by which payments are declined: ``ControlAPI/PaymentRule``.
    case paymentRules(StoreEnvironment)
    /// Adds or replaces a rule: ``ControlAPI/PaymentRule``.
    case addPaymentRule(StoreEnvironment)
    /// Removes all rules.
    case clearPaymentRules(StoreEnvironment)
    /// Removes one rule.
    case removePaymentRule(StoreEnvironment, name: String)
    /// Lists accounts by e-mail address: a ``ControlAPI/Page`` of ``ControlAPI/Account``. `start` is the start of the
    /// addresses, and `flag` selects by a property.
    case accounts(
        StoreEnvironment, after: String? = nil, start: String? = nil, flag: AccountFlag? = nil, limit: Int? = nil)
    /// Gets an account by its e-mail address or identifier: ``ControlAPI/AccountDetail``.
    case account(StoreEnvironment, email: String)
    /// Creates an account: ``ControlAPI/NewAccount``, answered with ``ControlAPI/Account``.
    case createAccount(StoreEnvironment)
    /// Changes an account: ``ControlAPI/AccountChange``, answered with ``ControlAPI/Account``.
    case changeAccount(StoreEnvironment, email: String)
    /// Signs an account's devices out, all or one: ``ControlAPI/SignedOut``.
    case signOut(StoreEnvironment, email: String, device: String? = nil)
    /// Deletes a tester's purchase history, in the sandbox only: ``ControlAPI/ClearedHistory``.
    case clearHistory(StoreEnvironment, email: String)
    /// Makes an account's app receipt: ``ControlAPI/Receipt``.
    case appReceipt(
        StoreEnvironment, email: String, bundle: String, version: String? = nil, device: String? = nil)
    /// Lists families: a ``ControlAPI/Page`` of ``ControlAPI/Family``.
    case families(StoreEnvironment, after: String? = nil, limit: Int? = nil)
    /// Creates a family with its organizer: ``ControlAPI/NewFamilyMember``, answered with ``ControlAPI/Family``.
    case createFamily(StoreEnvironment)
    /// Deletes the family of an account.
    case deleteFamily(StoreEnvironment, email: String)
    /// Adds a member to the family of an account: ``ControlAPI/NewFamilyMember``, answered with ``ControlAPI/Family``.
    case addToFamily(StoreEnvironment, email: String)
    /// Gets the family of an account: ``ControlAPI/Family``.
    case family(StoreEnvironment, email: String)
    /// Changes a member of a family: ``ControlAPI/FamilyMemberChange``, answered with ``ControlAPI/Family``.
    case changeFamilyMember(StoreEnvironment, email: String)
    /// Removes an account from its family, answered with ``ControlAPI/Family``.
    case leaveFamily(StoreEnvironment, email: String)
    /// Finds transactions, accounts, products and apps: ``ControlAPI/SearchHit``.
    case search(StoreEnvironment, text: String)
    /// Lists rows of the ledger, newest first: a ``ControlAPI/Page`` of ``ControlAPI/Transaction``.
    case transactions(StoreEnvironment, LedgerFilter = LedgerFilter(), before: String? = nil, limit: Int? = nil)
    /// Gets a transaction, or the purchase of an item, by its id: ``ControlAPI/TransactionDetail``.
    case transaction(StoreEnvironment, id: String)
    /// Makes the receipt of a transaction: ``ControlAPI/Receipt``.
    case transactionReceipt(StoreEnvironment, id: String, version: String? = nil, device: String? = nil)
    /// Lists attempts to buy products, newest first: a ``ControlAPI/Page`` of ``ControlAPI/Attempt``.
    case attempts(StoreEnvironment, AttemptFilter = AttemptFilter(), before: String? = nil, limit: Int? = nil)
    /// Refunds a transaction: ``ControlAPI/Refund``, answered with ``ControlAPI/Refunded``.
    case refund(StoreEnvironment, id: String)
    /// Takes a refund back and charges its amount again, answered with ``ControlAPI/Refunded``.
    case reverseRefund(StoreEnvironment, id: String)
    /// Refuses a refund that the customer asked for.
    case declineRefund(StoreEnvironment, id: String)
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
    /// Lists the promoted purchases of an account that wait for a device: ``ControlAPI/WaitingPromotion``.
    case promotions(StoreEnvironment, account: String)
    /// Withdraws a promoted purchase.
    case withdrawPromotion(StoreEnvironment, id: UUID, account: String)
    /// Lists the price increases of an account, or the newest 200 of all accounts: ``ControlAPI/PriceIncrease``.
    case priceIncreases(StoreEnvironment, account: String? = nil)
    /// Orders a price increase: ``ControlAPI/NewPriceIncrease``, answered with ``ControlAPI/PriceIncrease``.
    case increasePrice(StoreEnvironment)
    /// Gives a customer's answer to a price increase: ``ControlAPI/PriceAnswer``, answered with
    /// ``ControlAPI/PriceIncrease``.
    case answerPriceIncrease(StoreEnvironment)
    /// Withdraws a price increase that the customer has not answered.
    case withdrawPriceIncrease(StoreEnvironment, account: String, bundle: String, product: String)
    /// Lists the current periods of subscriptions, newest first: a ``ControlAPI/Page`` of ``ControlAPI/Subscriber``.
    case subscribers(StoreEnvironment, SubscriberFilter = SubscriberFilter(), before: String? = nil, limit: Int? = nil)
    /// Lists the periods of an account's subscriptions, newest first: a ``ControlAPI/Page`` of
    /// ``ControlAPI/SubscriptionPeriod``.
    case subscriptionPeriods(StoreEnvironment, email: String, before: String? = nil, limit: Int? = nil)
    /// Lists an account's subscriptions with their states and news: ``ControlAPI/Subscription``.
    case subscriptions(StoreEnvironment, account: String)
    /// Turns auto-renew of a subscription on or off, or changes its plan: ``ControlAPI/SubscriptionChange``, answered
    /// with ``ControlAPI/Subscription``.
    case changeSubscription(StoreEnvironment, id: String)
    /// Lets something happen to a subscription now, answered with ``ControlAPI/Subscription``. Only
    /// ``SubscriptionAction/extend`` has a body: ``ControlAPI/SubscriptionExtension``.
    case actOnSubscription(StoreEnvironment, id: String, SubscriptionAction)
    /// Extends all subscriptions of a product: ``ControlAPI/MassExtension``, answered with
    /// ``ControlAPI/MassExtended``.
    case extendSubscriptions(StoreEnvironment)
    /// Describes an app's products as a device gets them: ``ControlAPI/Preview``.
    case preview(StoreEnvironment, PreviewQuery)
    /// Lists the codes, newest first: ``ControlAPI/Code``.
    case codes(StoreEnvironment)
    /// Creates a code: ``ControlAPI/NewCode``, answered with ``ControlAPI/Code``.
    case addCode(StoreEnvironment)
    /// Withdraws a code that nobody has redeemed.
    case withdrawCode(StoreEnvironment, code: String)
    /// Lists the batches of offer codes and the custom codes, newest first: ``ControlAPI/OfferCodeBatch``.
    case offerCodes(StoreEnvironment)
    /// Creates a batch of offer codes or a custom code: ``ControlAPI/NewOfferCodes``, answered with
    /// ``ControlAPI/OfferCodeBatch``.
    case createOfferCodes(StoreEnvironment)
    /// Gets a batch or a custom code: ``ControlAPI/OfferCodeBatch``.
    case offerCodeBatch(StoreEnvironment, id: String)
    /// Lists the one-time codes of a batch in alphabetical order: a ``ControlAPI/Page`` of ``ControlAPI/OfferCode``.
    case offerCodesOfBatch(StoreEnvironment, id: String, after: String? = nil, limit: Int? = nil)
    /// Deactivates a batch or a custom code.
    case deactivateOfferCodes(StoreEnvironment, id: String)

    // The routes of the catalog, which both environments share.
    /// Gets the catalog's files and problems: ``ControlAPI/CatalogState``.
    case catalog
    /// Gets an app with its products in full: ``ControlAPI/CatalogApp``. `product` selects one product.
    case app(bundle: String, product: String? = nil)
    /// Sets the billing grace period of an app: ``ControlAPI/GracePeriod``.
    case setGracePeriod(bundle: String)
    /// Removes the billing grace period of an app.
    case removeGracePeriod(bundle: String)
    /// Shows the shared secret of an app: ``ControlAPI/SharedSecret``.
    case revealSecret(bundle: String)

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

    // The App Store Server API.
    /// Lists the API keys: ``ControlAPI/APIKey``.
    case apiKeys
    /// Creates an API key: ``ControlAPI/NewAPIKey``, answered with ``ControlAPI/CreatedAPIKey``.
    case makeAPIKey
    /// Revokes an API key. The answer is ``ControlAPI/APIKey``.
    case revokeAPIKey(name: String)

    // The server itself.
    /// Follows the changes as `text/event-stream`; the data of an event is ``ControlAPI/Changed``.
    case events
    /// Lists the payment sheets that wait: ``ControlAPI/WaitingSheet``.
    case sheets
    /// Lists the apps that run on a page in a browser: ``ControlAPI/Screen``.
    case screens
    /// Says that an app runs on a page: ``ControlAPI/ScreenAnnouncement``. The app repeats it while it runs.
    case announceScreen
    /// Lists the last `verifyReceipt` and refused requests, newest first: ``ControlAPI/LoggedRequest``. `before` is a
    /// number.
    case requests(before: Int? = nil, limit: Int? = nil)
    /// Gets addresses, root certificates and limits: ``ControlAPI/Settings``.
    case settings
    /// Shows the password of the sandbox tester that the first start created: ``ControlAPI/TesterPassword``.
    case revealTester
    /// Shows the certificates of the certificate authority: ``ControlAPI/Authority``.
    case authority
    /// Replaces the leaf certificates. The answer is ``ControlAPI/Authority``.
    case rotateAuthority
    /// Lists the changes that operators made, of all subjects or of one, newest first: ``ControlAPI/AuditEntry``.
    /// `before` is a number.
    case audit(subject: String? = nil, before: Int64? = nil, limit: Int? = nil)
    /// The managed catalog.
    case managed(ManagedRoute)
    /// App Store Server Notifications.
    case notifications(NotificationRoute)
    /// Customers' requests for refunds.
    case refundRequests(RefundRequestRoute)
    /// The rate limits of the App Store Server API.
    case rateLimits(RateLimitRoute)

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

    /// The name of the header field in which a client names the operator for ``ControlAPI/AuditEntry``.
    public static let operatorField = "x-operator"

    /// The name of a part of a path or query.
    public enum Parameter: String, Sendable, CaseIterable {
        /// In a path: `sandbox` or `production`.
        case environment
        /// In a path: an account's e-mail address or identifier.
        case email
        /// In a path: an operation that can fail.
        case operation
        /// In a path: a redemption code.
        case code
        /// In a path: the id of a transaction, a batch of codes, upload, version, review, sheet or notification,
        /// or of a request for a refund.
        case id
        /// In a path: the name of a partner, a payment rule or a file, or the identifier of an API key.
        case name
        /// In a path: a purchase's key.
        case key
        /// In a query: the e-mail address or the cursor after which the list begins.
        case after
        /// In a query: the transaction, attempt, notification, request for a refund or number before which the list
        /// begins.
        case before
        /// In a query: the subject of an operator's change.
        case subject
        /// In a path or a query: an app's bundle identifier.
        case bundle
        /// In a query: a product's identifier.
        case product
        /// In a query: an account's e-mail address or identifier.
        case account
        /// In a query: the start of an e-mail address.
        case start
        /// In a query: a property of accounts.
        case flag
        /// In a query: a kind of product, or `item`.
        case kind
        /// In a query: a state of transactions, attempts, notifications or requests for refunds.
        case state
        /// In a query: a type of notifications, such as `DID_RENEW`.
        case type
        /// In a query: the first date, in ISO 8601.
        case from
        /// In a query: the date before which the list ends, in ISO 8601.
        case until
        /// In a query: the text to search for.
        case text
        /// In a query: an app's `CFBundleVersion`.
        case version
        /// In a query: a device's identifier.
        case device
        /// In a query: the largest number of rows.
        case limit
        /// In a query: the number of bytes that have arrived.
        case offset
        /// In a query: an item's number.
        case item
        /// In a query: `true` for hidden reviews only.
        case hidden
        /// In a query: a storefront's country code, three letters.
        case storefront
        /// In a query: languages, best first, with commas between them.
        case language
        /// In a query: a subscription group's identifier.
        case group
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
        case .readiness: Line(.get, "/ready")
        case .metrics: Line(.get, "/metrics")
        case .apps: Line(.get, "/control/v1/apps")
        case .clock(let store): Line(.get, store, "clock")
        case .changeClock(let store): Line(.put, store, "clock")
        case .faults(let store): Line(.get, store, "faults")
        case .orderFault(let store): Line(.post, store, "faults")
        case .clearFaults(let store): Line(.delete, store, "faults")
        case .paymentRules(let store): Line(.get, store, "payment-rules")
        case .addPaymentRule(let store): Line(.post, store, "payment-rules")
        case .clearPaymentRules(let store): Line(.delete, store, "payment-rules")
        case .removeFault(let store, let operation):
            Line(.delete, store, "faults/{operation}", [(.operation, operation)])
        case .faultHits(let store): Line(.get, store, "fault-hits")
        case .faultChoices: Line(.get, "/control/v1/fault-choices")
        case .removePaymentRule(let store, let name): Line(.delete, store, "payment-rules/{name}", [(.name, name)])
        case .accounts(let store, let after, let start, let flag, let limit):
            Line(
                .get, store, "accounts",
                query: [(.after, after), (.start, start), (.flag, flag?.rawValue), (.limit, limit.map(String.init))])
        case .account(let store, let email): Line(.get, store, "accounts/{email}", [(.email, email)])
        case .signOut(let store, let email, let device):
            Line(.delete, store, "accounts/{email}/devices", [(.email, email)], query: [(.device, device)])
        case .clearHistory(let store, let email):
            Line(.delete, store, "accounts/{email}/history", [(.email, email)])
        case .appReceipt(let store, let email, let bundle, let version, let device):
            Line(
                .get, store, "accounts/{email}/receipt", [(.email, email)],
                query: [(.bundle, bundle), (.version, version), (.device, device)])
        case .families(let store, let after, let limit):
            Line(.get, store, "families", query: [(.after, after), (.limit, limit.map(String.init))])
        case .createFamily(let store): Line(.post, store, "families")
        case .deleteFamily(let store, let email): Line(.delete, store, "families/{email}", [(.email, email)])
        case .addToFamily(let store, let email): Line(.post, store, "families/{email}/members", [(.email, email)])
        case .family(let store, let email): Line(.get, store, "accounts/{email}/family", [(.email, email)])
        case .changeFamilyMember(let store, let email):
            Line(.patch, store, "accounts/{email}/family", [(.email, email)])
        case .leaveFamily(let store, let email): Line(.delete, store, "accounts/{email}/family", [(.email, email)])
        case .search(let store, let text): Line(.get, store, "search", query: [(.text, text)])
        case .createAccount(let store): Line(.post, store, "accounts")
        case .changeAccount(let store, let email): Line(.patch, store, "accounts/{email}", [(.email, email)])
        case .transactions(let store, let filter, let before, let limit):
            Line(
                .get, store, "transactions",
                query: [(.before, before)] + filter.query + [(.limit, limit.map(String.init))])
        case .transaction(let store, let id): Line(.get, store, "transactions/{id}", [(.id, id)])
        case .transactionReceipt(let store, let id, let version, let device):
            Line(
                .get, store, "transactions/{id}/receipt", [(.id, id)],
                query: [(.version, version), (.device, device)])
        case .attempts(let store, let filter, let before, let limit):
            Line(
                .get, store, "attempts",
                query: [(.before, before)] + filter.query + [(.limit, limit.map(String.init))])
        case .refund(let store, let id): Line(.post, store, "transactions/{id}/refund", [(.id, id)])
        case .reverseRefund(let store, let id): Line(.post, store, "transactions/{id}/refund/reverse", [(.id, id)])
        case .declineRefund(let store, let id): Line(.post, store, "transactions/{id}/refund/decline", [(.id, id)])
        case .pendingPurchases(let store): Line(.get, store, "pending-purchases")
        case .approve(let store, let key):
            Line(.post, store, "pending-purchases/{key}/approve", [(.key, key.uuidString)])
        case .decline(let store, let key):
            Line(.post, store, "pending-purchases/{key}/decline", [(.key, key.uuidString)])
        case .resolve(let store, let key):
            Line(.post, store, "pending-purchases/{key}/resolve", [(.key, key.uuidString)])
        case .promote(let store): Line(.post, store, "promoted")
        case .promotions(let store, let account): Line(.get, store, "promoted", query: [(.account, account)])
        case .withdrawPromotion(let store, let id, let account):
            Line(.delete, store, "promoted/{id}", [(.id, id.uuidString)], query: [(.account, account)])
        case .priceIncreases(let store, let account): Line(.get, store, "price-increases", query: [(.account, account)])
        case .increasePrice(let store): Line(.post, store, "price-increases")
        case .answerPriceIncrease(let store): Line(.post, store, "price-increases/answer")
        case .withdrawPriceIncrease(let store, let account, let bundle, let product):
            Line(
                .delete, store, "price-increases",
                query: [(.account, account), (.bundle, bundle), (.product, product)])
        case .subscribers(let store, let filter, let before, let limit):
            Line(
                .get, store, "subscribers",
                query: [(.before, before)] + filter.query + [(.limit, limit.map(String.init))])
        case .subscriptionPeriods(let store, let email, let before, let limit):
            Line(
                .get, store, "accounts/{email}/subscriptions", [(.email, email)],
                query: [(.before, before), (.limit, limit.map(String.init))])
        case .subscriptions(let store, let account): Line(.get, store, "subscriptions", query: [(.account, account)])
        case .changeSubscription(let store, let id): Line(.patch, store, "subscriptions/{id}", [(.id, id)])
        case .actOnSubscription(let store, let id, let action):
            Line(.post, store, "subscriptions/{id}/\(action.rawValue)", [(.id, id)])
        case .extendSubscriptions(let store): Line(.post, store, "subscription-extensions")
        case .preview(let store, let query): Line(.get, store, "preview", query: query.query)
        case .codes(let store): Line(.get, store, "codes")
        case .addCode(let store): Line(.post, store, "codes")
        case .withdrawCode(let store, let code): Line(.delete, store, "codes/{code}", [(.code, code)])
        case .offerCodes(let store): Line(.get, store, "offer-codes")
        case .createOfferCodes(let store): Line(.post, store, "offer-codes")
        case .offerCodeBatch(let store, let id): Line(.get, store, "offer-codes/{id}", [(.id, id)])
        case .offerCodesOfBatch(let store, let id, let after, let limit):
            Line(
                .get, store, "offer-codes/{id}/codes", [(.id, id)],
                query: [(.after, after), (.limit, limit.map(String.init))])
        case .deactivateOfferCodes(let store, let id): Line(.delete, store, "offer-codes/{id}", [(.id, id)])
        case .catalog: Line(.get, "/control/v1/catalog")
        case .app(let bundle, let product):
            Line(.get, "/control/v1/apps/{bundle}", [(.bundle, bundle)], query: [(.product, product)])
        case .setGracePeriod(let bundle): Line(.put, "/control/v1/apps/{bundle}/grace-period", [(.bundle, bundle)])
        case .removeGracePeriod(let bundle):
            Line(.delete, "/control/v1/apps/{bundle}/grace-period", [(.bundle, bundle)])
        case .revealSecret(let bundle): Line(.post, "/control/v1/apps/{bundle}/secret", [(.bundle, bundle)])
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
        case .apiKeys: Line(.get, "/control/v1/api-keys")
        case .makeAPIKey: Line(.post, "/control/v1/api-keys")
        case .revokeAPIKey(let name): Line(.delete, "/control/v1/api-keys/{name}", [(.name, name)])
        case .events: Line(.get, "/control/v1/events")
        case .sheets: Line(.get, "/control/v1/sheets")
        case .screens: Line(.get, "/control/v1/screens")
        case .announceScreen: Line(.post, "/control/v1/screens")
        case .requests(let before, let limit):
            Line(
                .get, "/control/v1/requests",
                query: [(.before, before.map(String.init)), (.limit, limit.map(String.init))])
        case .settings: Line(.get, "/control/v1/settings")
        case .revealTester: Line(.post, "/control/v1/sandbox-tester")
        case .authority: Line(.get, "/control/v1/authority")
        case .rotateAuthority: Line(.post, "/control/v1/authority/rotate")
        case .audit(let subject, let before, let limit):
            Line(
                .get, "/control/v1/audit",
                query: [
                    (.subject, subject), (.before, before.map(String.init)), (.limit, limit.map(String.init)),
                ])
        case .managed(let route): Line(route.method, route.template)
        case .notifications(let route): Line(route.method, route.template)
        case .refundRequests(let route): Line(route.method, route.template)
        case .rateLimits(let route): Line(route.method, route.template)
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
        if case .notifications(let route) = self { return route.queryNames }
        if case .refundRequests(let route) = self { return route.queryNames }
        if case .sheet(.outcome) = self { return [SheetRoute.wait] }
        return line.query.map(\.0.rawValue)
    }

    /// The path and query of the request. Parameters that are nil are left out.
    public var path: String {
        if case .managed(let route) = self { return route.path }
        if case .notifications(let route) = self { return route.path }
        if case .refundRequests(let route) = self { return route.path }
        if case .rateLimits(let route) = self { return route.path }
        if case .sheet(let route) = self { return route.path }
        let line = line
        return RouteLine(line.method, template: line.template, line.values.map(\.1), query: line.query).path
    }

    /// One route of each line of the table, with values that stand for any.
    public static let all: [ControlRoute] =
        [
            .health, .readiness, .metrics, .apps, .clock(.sandbox), .changeClock(.sandbox), .faults(.sandbox),
            .orderFault(.sandbox),
            .clearFaults(.sandbox), .paymentRules(.sandbox), .addPaymentRule(.sandbox), .clearPaymentRules(.sandbox),
            .accounts(.sandbox), .createAccount(.sandbox), .changeAccount(.sandbox, email: ""), .transactions(.sandbox),
            .refund(.sandbox, id: ""), .pendingPurchases(.sandbox), .approve(.sandbox, key: UUID()),
            .decline(.sandbox, key: UUID()), .resolve(.sandbox, key: UUID()), .promote(.sandbox),
            .priceIncreases(.sandbox), .withdrawPriceIncrease(.sandbox, account: "", bundle: "", product: ""),
            .answerPriceIncrease(.sandbox),
            .subscribers(.sandbox), .subscriptionPeriods(.sandbox, email: ""), .subscriptions(.sandbox, account: ""),
            .changeSubscription(.sandbox, id: ""), .extendSubscriptions(.sandbox), .reverseRefund(.sandbox, id: ""),
            .declineRefund(.sandbox, id: ""), .setGracePeriod(bundle: ""), .removeGracePeriod(bundle: ""),
            .preview(.sandbox, PreviewQuery(bundle: "")), .increasePrice(.sandbox), .codes(.sandbox),
            .addCode(.sandbox), .offerCodes(.sandbox), .createOfferCodes(.sandbox), .offerCodeBatch(.sandbox, id: ""),
            .offerCodesOfBatch(.sandbox, id: ""), .deactivateOfferCodes(.sandbox, id: ""),
            .content(), .setHosting, .setContentRule, .beginUpload, .upload(UUID()), .appendToUpload(UUID(), offset: 0),
            .cancelUpload(UUID()), .completeUpload(UUID()), .campaigns(item: 1), .reviews(), .review(UUID()),
            .answerReview(UUID()),
            .removeReviewAnswer(UUID()), .hideReview(UUID()), .unhideReview(UUID()), .feeds, .buildFeed,
            .partners, .addPartner, .removePartner(name: ""), .apiKeys, .makeAPIKey, .revokeAPIKey(name: ""),
            .account(.sandbox, email: ""), .signOut(.sandbox, email: ""), .clearHistory(.sandbox, email: ""),
            .appReceipt(.sandbox, email: "", bundle: ""), .search(.sandbox, text: ""), .transaction(.sandbox, id: ""),
            .transactionReceipt(.sandbox, id: ""), .attempts(.sandbox), .removeFault(.sandbox, operation: ""),
            .faultHits(.sandbox), .faultChoices, .removePaymentRule(.sandbox, name: ""),
            .promotions(.sandbox, account: ""), .withdrawPromotion(.sandbox, id: UUID(), account: ""),
            .families(.sandbox), .createFamily(.sandbox), .deleteFamily(.sandbox, email: ""),
            .addToFamily(.sandbox, email: ""), .family(.sandbox, email: ""), .changeFamilyMember(.sandbox, email: ""),
            .leaveFamily(.sandbox, email: ""),
            .withdrawCode(.sandbox, code: ""), .catalog, .app(bundle: ""), .revealSecret(bundle: ""), .events, .sheets,
            .screens, .announceScreen,
            .requests(), .settings, .revealTester, .audit(), .authority, .rotateAuthority,
        ] + SubscriptionAction.allCases.map { .actOnSubscription(.sandbox, id: "", $0) }
        + ContentStepName.allCases.map { .step($0, version: UUID()) } + fromOtherTables

    private static let fromOtherTables: [ControlRoute] =
        ManagedRoute.all.map { .managed($0) } + NotificationRoute.all.map { .notifications($0) }
        + RefundRequestRoute.all.map { .refundRequests($0) } + RateLimitRoute.all.map { .rateLimits($0) }
        + [SheetRoute.post, .outcome("", wait: nil), .page(""), .answer(""), .asset("")].map { .sheet($0) }
}
