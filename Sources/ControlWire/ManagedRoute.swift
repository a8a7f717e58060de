import StoreWire

/// The routes of the managed catalog, which both environments share. The server routes by ``template``, and the command
/// line and the console request ``path``.
public enum ManagedRoute: Sendable, Hashable {
    /// Lists the managed apps: ``ControlAPI/ManagedApp``.
    case apps
    /// Registers an app: ``ControlAPI/NewManagedApp``, answered with ``ControlAPI/ManagedApp``.
    case register
    /// Gets an app: ``ControlAPI/ManagedApp``.
    case app(String)
    /// Changes an app: ``ControlAPI/ManagedAppChange``, answered with ``ControlAPI/ManagedApp``, or with 409
    /// ``ControlAPI/StaleRevision``.
    case changeApp(String)
    /// Gets the checklist of agreement, tax and bank details: ``ControlAPI/Checklist``.
    case checklist
    /// Changes an item of the checklist: ``ControlAPI/ChecklistChange``, answered with ``ControlAPI/Checklist``.
    case changeChecklist
    /// Lists the products of an app: ``ControlAPI/ManagedProduct``.
    case products(String)
    /// Creates a product: ``ControlAPI/NewManagedProduct``, answered with ``ControlAPI/ManagedProduct``.
    case createProduct(String)
    /// Gets a product: ``ControlAPI/ManagedProduct``.
    case product(String, String)
    /// Changes a product: ``ControlAPI/ManagedProductChange``, answered with ``ControlAPI/ManagedProduct``, or with 409
    /// ``ControlAPI/StaleRevision``.
    case changeProduct(String, String)
    /// Deletes a product for good. Its id can never be used again.
    case deleteProduct(String, String, revision: Int64, by: String? = nil)
    /// Takes a step with a product: ``ControlAPI/ManagedStep``, answered with ``ControlAPI/ManagedProduct``.
    case step(Step, String, String)
    /// Submits products for review, all or none: ``ControlAPI/Submission``, answered with a list of
    /// ``ControlAPI/ManagedProduct``.
    case submit(String)
    /// Creates or replaces a subscription group: ``ControlAPI/ManagedGroupChange``, answered with
    /// ``ControlAPI/ManagedApp``.
    case setGroup(String, String)
    /// Deletes a subscription group without products. The answer is ``ControlAPI/ManagedApp``.
    case deleteGroup(String, String, revision: Int64, by: String? = nil)
    /// Lists the changes of an app, newest first: ``ControlAPI/ManagedChange``. `before` is the number of the last
    /// change of the list before.
    case history(String, product: String? = nil, before: Int64? = nil, limit: Int? = nil)
    /// Takes in a catalog file's text: ``ControlAPI/CatalogImport``, answered with ``ControlAPI/CatalogImported``, or
    /// with 422 ``ControlAPI/RefusedCatalog``.
    case importCatalog
    /// Gets an app as the text of a catalog file: ``ControlAPI/CatalogExport``.
    case export(String, format: ControlAPI.CatalogFormat? = nil)

    /// A step of the developer or the reviewer, as the last part of its path.
    public enum Step: String, Sendable, CaseIterable {
        /// The reviewer begins the review.
        case review
        /// The reviewer approves the newest version.
        case approve
        /// The reviewer rejects the newest version, with a reason.
        case reject
        /// The developer removes the product from sale.
        case remove
        /// The developer puts the product on sale again.
        case restore
    }

    /// The name of a parameter in the query.
    public enum Query: String, Sendable, CaseIterable {
        /// The revision that the request is about.
        case revision
        /// The person who makes the change.
        case by
        /// A product's identifier.
        case product
        /// The number of the change before which the list begins.
        case before
        /// The largest number of rows.
        case limit
        /// The format of an exported catalog.
        case format
    }

    private typealias Line = RouteLine<Query>

    private static let oneProduct = "apps/{bundle}/products/{product}"

    private var line: Line {
        switch self {
        case .apps: Line(.get, "apps")
        case .register: Line(.post, "apps")
        case .app(let bundle): Line(.get, "apps/{bundle}", [bundle])
        case .changeApp(let bundle): Line(.patch, "apps/{bundle}", [bundle])
        case .checklist: Line(.get, "checklist")
        case .changeChecklist: Line(.put, "checklist")
        case .products(let bundle): Line(.get, "apps/{bundle}/products", [bundle])
        case .createProduct(let bundle): Line(.post, "apps/{bundle}/products", [bundle])
        case .product(let bundle, let product): Line(.get, Self.oneProduct, [bundle, product])
        case .changeProduct(let bundle, let product): Line(.patch, Self.oneProduct, [bundle, product])
        case .deleteProduct(let bundle, let product, let revision, let by):
            Line(
                .delete, Self.oneProduct, [bundle, product], query: [(.revision, String(revision)), (.by, by)])
        case .step(let step, let bundle, let product):
            Line(.post, Self.oneProduct + "/\(step.rawValue)", [bundle, product])
        case .submit(let bundle): Line(.post, "apps/{bundle}/submissions", [bundle])
        case .setGroup(let bundle, let group): Line(.put, "apps/{bundle}/groups/{id}", [bundle, group])
        case .deleteGroup(let bundle, let group, let revision, let by):
            Line(
                .delete, "apps/{bundle}/groups/{id}", [bundle, group],
                query: [(.revision, String(revision)), (.by, by)])
        case .history(let bundle, let product, let before, let limit):
            Line(
                .get, "apps/{bundle}/history", [bundle],
                query: [(.product, product), (.before, before.map(String.init)), (.limit, limit.map(String.init))])
        case .importCatalog: Line(.post, "import")
        case .export(let bundle, let format):
            Line(.get, "apps/{bundle}/export", [bundle], query: [(.format, format?.rawValue)])
        }
    }

    /// The HTTP method of the request.
    public var method: RouteMethod { line.method }

    /// The path, with the names of parameters in braces.
    public var template: String { line.template }

    /// The names of the parameters in the query.
    public var queryNames: [String] { line.queryNames }

    /// The path and query of the request. Parameters that are nil are left out.
    public var path: String { line.path }

    /// One route of each line of the table, with values that stand for any.
    public static let all: [ManagedRoute] =
        [
            .apps, .register, .app(""), .changeApp(""), .checklist, .changeChecklist, .products(""), .createProduct(""),
            .product("", ""), .changeProduct("", ""), .deleteProduct("", "", revision: 1), .submit(""),
            .setGroup("", ""), .deleteGroup("", "", revision: 1), .history(""), .importCatalog, .export(""),
        ] + Step.allCases.map { .step($0, "", "") }
}
