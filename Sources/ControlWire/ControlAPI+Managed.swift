import Foundation

/// The messages of the managed catalog. `by` is the name of the person who makes a change; without it the history has
/// the name in the request's ``ControlRoute/operatorField``, else `operator`.
extension ControlAPI {
    /// An app whose catalog the store manages.
    public struct ManagedApp: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The app's name for customers.
        public var name: String?
        /// The number that a change of the app must name.
        public var revision: Int64
        /// Whether the app may sell in-app purchases. If not, all its products are invalid identifiers.
        public var inAppPurchase: Bool
        /// How submitted products are reviewed: `automatic` or `manual`.
        public var review: String
        /// The default storefront's country code, three letters.
        public var storefront: String?
        /// The default language of texts.
        public var locale: String?
        /// The subscription groups.
        public var groups: [ManagedGroup]
        /// The number of products, without deleted ones.
        public var products: Int
        /// The number of products that wait for a review or are in one.
        public var inReview: Int
        /// The required items of the checklist that are missing. While there is one, all products are invalid
        /// identifiers.
        public var missing: [String]
        /// The date on which the app was registered.
        public var createdDate: String

        /// Creates an app.
        public init(
            bundleId: String, name: String?, revision: Int64, inAppPurchase: Bool, review: String, storefront: String?,
            locale: String?, groups: [ManagedGroup], products: Int, inReview: Int, missing: [String],
            createdDate: String
        ) {
            self.bundleId = bundleId
            self.name = name
            self.revision = revision
            self.inAppPurchase = inAppPurchase
            self.review = review
            self.storefront = storefront
            self.locale = locale
            self.groups = groups
            self.products = products
            self.inReview = inReview
            self.missing = missing
            self.createdDate = createdDate
        }
    }

    /// A subscription group of a managed app.
    public struct ManagedGroup: Codable, Sendable, Equatable {
        /// The group's identifier.
        public var id: String
        /// The group's name for the developer.
        public var name: String
        /// The names that customers see: objects with `locale` and `displayName`.
        public var localizations: CatalogValue

        /// Creates a group.
        public init(id: String, name: String, localizations: CatalogValue) {
            self.id = id
            self.name = name
            self.localizations = localizations
        }
    }

    /// A request that registers an app.
    public struct NewManagedApp: Codable, Sendable {
        /// The app's bundle identifier. It must be explicit, without `*`.
        public var bundleId: String
        /// The app's name for customers.
        public var name: String?
        /// Whether the app may sell in-app purchases; nil for true.
        public var inAppPurchase: Bool?
        /// The person who makes the change.
        public var by: String?

        /// Creates a request.
        public init(bundleId: String, name: String?, inAppPurchase: Bool?, by: String?) {
            self.bundleId = bundleId
            self.name = name
            self.inAppPurchase = inAppPurchase
            self.by = by
        }
    }

    /// A change of an app. Nil keeps the old value.
    public struct ManagedAppChange: Codable, Sendable {
        /// The app's revision that the change is about.
        public var revision: Int64
        /// Whether the app may sell in-app purchases.
        public var inAppPurchase: Bool?
        /// How submitted products are reviewed: `automatic` or `manual`.
        public var review: String?
        /// Keys of the app in a YAML catalog with their new values, such as `name`, `storefront` and `locale`; null
        /// removes a key.
        public var changes: CatalogValue?
        /// The person who makes the change.
        public var by: String?

        /// Creates a change.
        public init(revision: Int64, inAppPurchase: Bool?, review: String?, changes: CatalogValue?, by: String?) {
            self.revision = revision
            self.inAppPurchase = inAppPurchase
            self.review = review
            self.changes = changes
            self.by = by
        }
    }

    /// A change of a subscription group, or a new group.
    public struct ManagedGroupChange: Codable, Sendable {
        /// The app's revision that the change is about.
        public var revision: Int64
        /// The group's name for the developer.
        public var name: String
        /// The names that customers see: objects with `locale` and `displayName`; nil for none.
        public var localizations: CatalogValue?
        /// The person who makes the change.
        public var by: String?

        /// Creates a change.
        public init(revision: Int64, name: String, localizations: CatalogValue?, by: String?) {
            self.revision = revision
            self.name = name
            self.localizations = localizations
            self.by = by
        }
    }

    /// The agreement, tax and bank details that a seller completes before its products are sold. No account numbers are
    /// kept.
    public struct Checklist: Codable, Sendable, Equatable {
        /// One item of the checklist.
        public struct Item: Codable, Sendable, Equatable {
            /// `agreement`, `tax` or `bank`.
            public var item: String
            /// Whether managed apps sell nothing while the item is missing.
            public var required: Bool
            /// The date on which the item was done; nil while it is missing.
            public var doneDate: String?
            /// The person who did the item.
            public var doneBy: String?

            /// Creates an item.
            public init(item: String, required: Bool, doneDate: String?, doneBy: String?) {
                self.item = item
                self.required = required
                self.doneDate = doneDate
                self.doneBy = doneBy
            }
        }

        /// All items.
        public var items: [Item]

        /// Creates a checklist.
        public init(items: [Item]) { self.items = items }
    }

    /// A change of an item of the checklist. Nil keeps the old value.
    public struct ChecklistChange: Codable, Sendable {
        /// `agreement`, `tax` or `bank`.
        public var item: String
        /// Whether managed apps sell nothing while the item is missing.
        public var required: Bool?
        /// Whether the item is done.
        public var done: Bool?
        /// The person who makes the change.
        public var by: String?

        /// Creates a change.
        public init(item: String, required: Bool?, done: Bool?, by: String?) {
            self.item = item
            self.required = required
            self.done = done
            self.by = by
        }
    }

    /// A product of a managed app.
    public struct ManagedProduct: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The type, such as `consumable`.
        public var kind: String
        /// The subscription's group; nil for other types.
        public var groupId: String?
        /// The developer's name for the product.
        public var referenceName: String?
        /// The name in the first localization of the newest version.
        public var displayName: String?
        /// The price in the app's default storefront, as a decimal; nil while the product has no price.
        public var price: String?
        /// The currency of ``price``.
        public var currency: String
        /// The languages of the newest version.
        public var locales: [String]
        /// The number that a change of the product must name.
        public var revision: Int64
        /// The state in App Store Connect's words, such as `READY_TO_SUBMIT`.
        public var state: String
        /// The state for people, such as `Ready to Submit`.
        public var stateName: String
        /// The things that the product needs next, such as `en_US has no description`; empty when nothing is missing.
        public var needs: [String]
        /// Whether the sandbox sells the product now.
        public var inSandbox: Bool
        /// Whether production sells the product now.
        public var inProduction: Bool
        /// Whether a version was ever approved.
        public var wasLive: Bool
        /// Whether the store hosts content for the product.
        public var hosted: Bool
        /// The state of the newest hosted content; nil for a product without hosted content.
        public var contentState: String?
        /// The versions of the texts, newest first.
        public var versions: [ManagedVersion]
        /// The product as a YAML catalog describes it, with the newest version's texts. `displayPrice` is missing while
        /// the product has no price.
        public var document: CatalogValue
        /// The date on which the product was created.
        public var createdDate: String

        /// Creates a product.
        public init(
            bundleId: String, productId: String, kind: String, groupId: String?, referenceName: String?,
            displayName: String?, price: String?, currency: String, locales: [String], revision: Int64, state: String,
            stateName: String, needs: [String], inSandbox: Bool, inProduction: Bool, wasLive: Bool, hosted: Bool,
            contentState: String?, versions: [ManagedVersion], document: CatalogValue, createdDate: String
        ) {
            self.bundleId = bundleId
            self.productId = productId
            self.kind = kind
            self.groupId = groupId
            self.referenceName = referenceName
            self.displayName = displayName
            self.price = price
            self.currency = currency
            self.locales = locales
            self.revision = revision
            self.state = state
            self.stateName = stateName
            self.needs = needs
            self.inSandbox = inSandbox
            self.inProduction = inProduction
            self.wasLive = wasLive
            self.hosted = hosted
            self.contentState = contentState
            self.versions = versions
            self.document = document
            self.createdDate = createdDate
        }
    }

    /// A version of a product's texts.
    public struct ManagedVersion: Codable, Sendable, Equatable {
        /// The version's number, from 1.
        public var number: Int64
        /// The state: `PREPARING`, `WAITING_FOR_REVIEW`, `IN_REVIEW`, `APPROVED` or `REJECTED`.
        public var state: String
        /// The texts: objects with `locale`, `displayName` and `description`.
        public var localizations: CatalogValue
        /// The reviewer's reason for a rejection.
        public var reason: String?
        /// The app's version with which the texts were submitted.
        public var appVersion: String?
        /// The date on which the version was created.
        public var createdDate: String
        /// The date on which the version was last submitted.
        public var submittedDate: String?
        /// The date on which the reviewer last decided.
        public var decidedDate: String?

        /// Creates a version.
        public init(
            number: Int64, state: String, localizations: CatalogValue, reason: String?, appVersion: String?,
            createdDate: String, submittedDate: String?, decidedDate: String?
        ) {
            self.number = number
            self.state = state
            self.localizations = localizations
            self.reason = reason
            self.appVersion = appVersion
            self.createdDate = createdDate
            self.submittedDate = submittedDate
            self.decidedDate = decidedDate
        }
    }

    /// A request that creates a product.
    public struct NewManagedProduct: Codable, Sendable {
        /// The type: `consumable`, `nonConsumable`, `nonRenewingSubscription`, `autoRenewableSubscription` or
        /// `freeSubscription`. It never changes.
        public var kind: String
        /// The identifier. It never changes, and no other product of the app can ever have it.
        public var productId: String
        /// The subscription's group; nil for other types.
        public var groupId: String?
        /// The product's other keys in a YAML catalog, such as `displayPrice` and `localizations`; nil for none.
        public var document: CatalogValue?
        /// The person who makes the change.
        public var by: String?

        /// Creates a request.
        public init(kind: String, productId: String, groupId: String?, document: CatalogValue?, by: String?) {
            self.kind = kind
            self.productId = productId
            self.groupId = groupId
            self.document = document
            self.by = by
        }
    }

    /// A change of a product.
    public struct ManagedProductChange: Codable, Sendable {
        /// The product's revision that the change is about.
        public var revision: Int64
        /// Keys of the product in a YAML catalog with their new values, such as `displayPrice`, `localizations` and
        /// `hosted`; null removes a key.
        public var changes: CatalogValue
        /// The person who makes the change.
        public var by: String?

        /// Creates a change.
        public init(revision: Int64, changes: CatalogValue, by: String?) {
            self.revision = revision
            self.changes = changes
            self.by = by
        }
    }

    /// A step of the developer or the reviewer.
    public struct ManagedStep: Codable, Sendable {
        /// The product's revision that the step is about.
        public var revision: Int64
        /// The reason for a rejection.
        public var reason: String?
        /// The person who takes the step.
        public var by: String?

        /// Creates a step.
        public init(revision: Int64, reason: String?, by: String?) {
            self.revision = revision
            self.reason = reason
            self.by = by
        }
    }

    /// A submission of products for review.
    public struct Submission: Codable, Sendable {
        /// One product of a submission.
        public struct Product: Codable, Sendable {
            /// The identifier of the product.
            public var productId: String
            /// The product's revision that is submitted.
            public var revision: Int64

            /// Names a product.
            public init(productId: String, revision: Int64) {
                self.productId = productId
                self.revision = revision
            }
        }

        /// The products.
        public var products: [Product]
        /// The app's version with which they are submitted; nil for products alone.
        public var appVersion: String?
        /// The person who submits.
        public var by: String?

        /// Creates a submission.
        public init(products: [Product], appVersion: String?, by: String?) {
            self.products = products
            self.appVersion = appVersion
            self.by = by
        }
    }

    /// The body of a 409 response to a change that names an old revision.
    public struct StaleRevision: Codable, Sendable {
        /// The error's code, `stale_revision`.
        public var code: String
        /// A sentence about the error.
        public var message: String
        /// The request's id, by which the log names it.
        public var requestId: String?
        /// The app's current state, when the request changes an app.
        public var app: ManagedApp?
        /// The products' current state, when the request changes products.
        public var products: [ManagedProduct]?

        /// Creates the body.
        public init(code: String, message: String, requestId: String?, app: ManagedApp?, products: [ManagedProduct]?) {
            self.code = code
            self.message = message
            self.requestId = requestId
            self.app = app
            self.products = products
        }
    }

    /// A change in an app's history.
    public struct ManagedChange: Codable, Sendable, Equatable {
        /// The change's number in the app, from 1.
        public var number: Int64
        /// The product that was changed; nil for the app.
        public var productId: String?
        /// The date of the change.
        public var date: String
        /// The person who made the change.
        public var by: String
        /// The kind of change, such as `create`, `change`, `submit` or `approve`.
        public var action: String
        /// The state or the document before; nil for something new.
        public var before: String?
        /// The state or the document afterwards; nil for something deleted.
        public var after: String?
        /// A remark, such as the reason for a rejection.
        public var note: String?

        /// Creates a change.
        public init(
            number: Int64, productId: String?, date: String, by: String, action: String, before: String?,
            after: String?, note: String?
        ) {
            self.number = number
            self.productId = productId
            self.date = date
            self.by = by
            self.action = action
            self.before = before
            self.after = after
            self.note = note
        }
    }

    /// A format of catalog files.
    public enum CatalogFormat: String, Codable, Sendable, CaseIterable {
        /// Our own format.
        case yaml
        /// Xcode's StoreKit configuration files.
        case storekit
    }

    /// A catalog file to take in.
    public struct CatalogImport: Codable, Sendable {
        /// The file's format.
        public var format: CatalogFormat
        /// The file's text, at most 16 MiB; 4 MiB of YAML.
        public var text: String
        /// The app's bundle identifier. Required for a `.storekit` file, which has none; nil for YAML.
        public var bundleId: String?
        /// Whether new products are approved at once, as those of an app that is live already. Nil for false.
        public var approved: Bool?
        /// The person who makes the change.
        public var by: String?

        /// Creates a request.
        public init(format: CatalogFormat, text: String, bundleId: String?, approved: Bool?, by: String?) {
            self.format = format
            self.text = text
            self.bundleId = bundleId
            self.approved = approved
            self.by = by
        }
    }

    /// The effect of an import.
    public struct CatalogImported: Codable, Sendable, Equatable {
        /// The apps of the file, as they are now.
        public var apps: [ManagedApp]
        /// The products that are new.
        public var created: [String]
        /// The products that were changed.
        public var changed: [String]
        /// Remarks, such as parts of the file that were left out.
        public var notes: [String]

        /// Creates an effect.
        public init(apps: [ManagedApp], created: [String], changed: [String], notes: [String]) {
            self.apps = apps
            self.created = created
            self.changed = changed
            self.notes = notes
        }
    }

    /// The body of a 422 response to an import.
    public struct RefusedCatalog: Codable, Sendable {
        /// The error's code, `invalid_catalog`.
        public var code: String
        /// A sentence about the error.
        public var message: String
        /// The request's id, by which the log names it.
        public var requestId: String?
        /// The problems with the file, each with its line.
        public var problems: [String]

        /// Creates the body.
        public init(code: String, message: String, requestId: String?, problems: [String]) {
            self.code = code
            self.message = message
            self.requestId = requestId
            self.problems = problems
        }
    }

    /// An app as the text of a catalog file.
    public struct CatalogExport: Codable, Sendable, Equatable {
        /// The text.
        public var text: String
        /// The parts of the app that the text leaves out, a line for each.
        public var omitted: [String]

        /// Creates an export.
        public init(text: String, omitted: [String]) {
            self.text = text
            self.omitted = omitted
        }
    }
}
