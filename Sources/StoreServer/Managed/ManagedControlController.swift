import ControlWire
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Store
import StoreWire

/// Serves the managed catalog: the operator's apps and products, their review and their history.
struct ManagedControlController: Sendable {
    let managed: ManagedCatalog
    /// A product with texts in all languages, or 1,000 products of a submission.
    private static let largestBody = 4 << 20
    /// A catalog file as a JSON string, whose quotes and line ends are escaped.
    private static let largestImport = 40 << 20

    private typealias Handler = @Sendable (BundleID, Request, StoreRequestContext) async throws -> Response

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.managed(.apps)) { _, _ in
            try .json(managed.apps.map { ControlAPI.ManagedApp($0, managed.checklist) })
        }
        router.on(.managed(.register), use: register)
        router.on(.managed(.checklist)) { _, _ in try .json(ControlAPI.Checklist(managed.checklist)) }
        router.on(.managed(.changeChecklist), use: changeChecklist)
        on(router, .app("")) { bundleID, _, _ in try .json(shown(try managed.app(bundleID))) }
        on(router, .changeApp(""), changeApp)
        on(router, .setGroup("", ""), setGroup)
        on(router, .deleteGroup("", "", revision: 1), deleteGroup)
        on(router, .products("")) { bundleID, _, _ in
            let app = try managed.app(bundleID)
            return try .json(app.products.map { shown($0, of: app) })
        }
        on(router, .createProduct(""), createProduct)
        on(router, .product("", "")) { bundleID, _, context in
            try product(try managed.product(try Self.productID(context), of: bundleID), of: bundleID)
        }
        on(router, .changeProduct("", ""), changeProduct)
        on(router, .deleteProduct("", "", revision: 1)) { bundleID, request, context in
            try await managed.deleteProduct(
                try Self.productID(context), of: bundleID, revision: try Self.revision(request),
                by: Self.author(request.value(.by), request))
            return Response(status: .noContent)
        }
        for step in ManagedRoute.Step.allCases {
            on(router, .step(step, "", "")) { try await take(step, $0, $1, $2) }
        }
        on(router, .submit(""), submit)
        on(router, .history(""), history)
        router.on(.managed(.importCatalog), use: importCatalog)
        on(router, .export(""), export)
    }

    /// Registers a route of one app. A change of an old revision is answered with the current state.
    private func on(_ router: Router<StoreRequestContext>, _ route: ManagedRoute, _ handler: @escaping Handler) {
        router.on(.managed(route)) { request, context in
            do {
                return try await handler(BundleID(try Self.text(context, .bundle)), request, context)
            } catch let stale as StaleRevision {
                return try .json(
                    ControlAPI.StaleRevision(
                        code: WireError.Code.staleRevision.rawValue,
                        message: "Another editor has changed this. Decide again with the current state.",
                        requestId: context.requestID, app: stale.app.map(shown),
                        products: stale.products.isEmpty ? nil : stale.products.map { shown($0, of: stale.owner) }),
                    status: .conflict)
            }
        }
    }

    // MARK: Apps

    @Sendable private func register(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let new = try await request.decodeJSON(ControlAPI.NewManagedApp.self, upTo: Self.largestBody)
        let app = try await managed.register(
            BundleID(new.bundleId), name: new.name, sellsInAppPurchases: new.inAppPurchase ?? true,
            by: Self.author(new.by, request))
        context.note?.say(subject: app.bundleID.rawValue)
        return try .json(shown(app), status: .created)
    }

    @Sendable private func changeApp(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.ManagedAppChange.self, upTo: Self.largestBody)
        let review = try change.review.map { text in
            guard let review = ManagedReview(rawValue: text) else {
                throw StoreError(.invalidRequest, "“review” must be “automatic” or “manual”.")
            }
            return review
        }
        return try .json(
            shown(
                try await managed.changeApp(
                    bundleID, revision: change.revision, sellsInAppPurchases: change.inAppPurchase, review: review,
                    keys: change.changes.map(JSONValue.init), by: Self.author(change.by, request))))
    }

    @Sendable private func setGroup(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.ManagedGroupChange.self, upTo: Self.largestBody)
        return try .json(
            shown(
                try await managed.setGroup(
                    SubscriptionGroupID(try Self.text(context, .id)), of: bundleID, revision: change.revision,
                    name: change.name, localizations: change.localizations.map(JSONValue.init),
                    by: Self.author(change.by, request))))
    }

    @Sendable private func deleteGroup(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        try .json(
            shown(
                try await managed.deleteGroup(
                    SubscriptionGroupID(try Self.text(context, .id)), of: bundleID,
                    revision: try Self.revision(request), by: Self.author(request.value(.by), request))))
    }

    @Sendable private func changeChecklist(
        _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.ChecklistChange.self, upTo: Self.largestBody)
        guard let name = ManagedChecklistItem.Name(rawValue: change.item) else {
            let known = ManagedChecklistItem.Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw StoreError(.invalidRequest, "“item” must be one of \(known).")
        }
        context.note?.say(subject: name.rawValue)
        return try .json(
            ControlAPI.Checklist(
                try await managed.changeChecklist(
                    name, isRequired: change.required, isDone: change.done, by: Self.author(change.by, request))))
    }

    // MARK: Products

    @Sendable private func createProduct(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let new = try await request.decodeJSON(ControlAPI.NewManagedProduct.self, upTo: Self.largestBody)
        guard let kind = ProductKind(rawValue: new.kind) else {
            let known = ProductKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw StoreError(.invalidRequest, "“kind” must be one of \(known).")
        }
        let product = try await managed.createProduct(
            ProductID(new.productId), kind, in: new.groupId.map { SubscriptionGroupID($0) }, of: bundleID,
            document: new.document.map(JSONValue.init) ?? .object([:]), by: Self.author(new.by, request))
        return try self.product(product, of: bundleID, status: .created)
    }

    @Sendable private func changeProduct(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.ManagedProductChange.self, upTo: Self.largestBody)
        let product = try await managed.changeProduct(
            try Self.productID(context), of: bundleID, revision: change.revision, keys: JSONValue(change.changes),
            by: Self.author(change.by, request))
        return try self.product(product, of: bundleID)
    }

    private func take(
        _ name: ManagedRoute.Step, _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let body = try await request.decodeJSON(ControlAPI.ManagedStep.self, upTo: Self.largestBody)
        let step: ManagedStep =
            switch name {
            case .review: .beginReview
            case .approve: .approve
            case .reject: .reject(reason: body.reason ?? "")
            case .remove: .remove
            case .restore: .restore
            }
        let product = try await managed.take(
            step, with: try Self.productID(context), of: bundleID, revision: body.revision,
            by: Self.author(body.by, request))
        return try self.product(product, of: bundleID)
    }

    @Sendable private func submit(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let submission = try await request.decodeJSON(ControlAPI.Submission.self, upTo: Self.largestBody)
        let products = try await managed.submit(
            submission.products.map { (ProductID($0.productId), $0.revision) }, of: bundleID,
            appVersion: submission.appVersion, by: Self.author(submission.by, request))
        let app = try managed.app(bundleID)
        return try .json(products.map { shown($0, of: app) })
    }

    // MARK: History and files

    @Sendable private func history(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let before = try Self.number(request, .before, 1...Int64.max)
        let limit = try Self.number(request, .limit, 1...Int64(ManagedCatalog.page)) ?? 50
        let changes = try await managed.history(
            of: bundleID, request.value(.product).map { ProductID($0) }, before: before, limit: Int(limit))
        return try .json(changes.map(ControlAPI.ManagedChange.init))
    }

    @Sendable private func importCatalog(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let file = try await request.decodeJSON(ControlAPI.CatalogImport.self, upTo: Self.largestImport)
        do {
            let result = try await managed.importFile(
                file.text, isYAML: file.format == .yaml, bundleID: file.bundleId.map { BundleID($0) },
                isApproved: file.approved ?? false, by: Self.author(file.by, request))
            context.note?.say(subject: result.apps.map(\.bundleID.rawValue).joined(separator: " "))
            return try .json(
                ControlAPI.CatalogImported(
                    apps: result.apps.map(shown), created: result.created.map(\.rawValue),
                    changed: result.changed.map(\.rawValue), notes: result.notes))
        } catch let refused as RefusedCatalog {
            let count = refused.problems.count == 1 ? "a problem" : "\(refused.problems.count) problems"
            return try .json(
                ControlAPI.RefusedCatalog(
                    code: WireError.Code.invalidCatalog.rawValue,
                    message: "The catalog has \(count): \(refused.problems.prefix(3).joined(separator: "; "))",
                    requestId: context.requestID, problems: refused.problems), status: .unprocessableContent)
        }
    }

    @Sendable private func export(
        _ bundleID: BundleID, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let format = try request.value(.format).map { text in
            guard let format = ControlAPI.CatalogFormat(rawValue: text) else {
                throw StoreError(.invalidRequest, "“format” must be “yaml” or “storekit”.")
            }
            return format
        }
        let (text, omitted) = try managed.export(bundleID, asYAML: format != .storekit)
        return try .json(ControlAPI.CatalogExport(text: text, omitted: omitted))
    }

    // MARK: Reading requests, and answers

    private func shown(_ app: ManagedApp) -> ControlAPI.ManagedApp { ControlAPI.ManagedApp(app, managed.checklist) }

    private func shown(_ product: ManagedProduct, of app: ManagedApp) -> ControlAPI.ManagedProduct {
        let isOpen = app.sellsInAppPurchases && !managed.checklist.contains(where: \.isMissing)
        return ControlAPI.ManagedProduct(product, of: app, isOpen: isOpen)
    }

    private func product(
        _ product: ManagedProduct, of bundleID: BundleID, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        try .json(shown(product, of: try managed.app(bundleID)), status: status)
    }

    /// The name in a request, else the one in its header, else the usual one.
    private static func author(_ name: String?, _ request: Request) -> String {
        name ?? request.operatorName ?? ManagedCatalog.usualAuthor
    }

    private static func text(_ context: StoreRequestContext, _ name: ControlRoute.Parameter) throws -> String {
        let text = context.text(name)
        guard !text.isEmpty else {
            throw StoreError(.invalidRequest, "The path must contain the \(name.rawValue)’s identifier.")
        }
        return text
    }

    private static func productID(_ context: StoreRequestContext) throws -> ProductID {
        ProductID(try text(context, .product))
    }

    private static func revision(_ request: Request) throws -> Int64 {
        guard let revision = try number(request, .revision, 1...Int64.max) else {
            throw StoreError(.invalidRequest, "The query must contain “revision”, the number that was last read.")
        }
        return revision
    }

    private static func number(
        _ request: Request, _ name: ManagedRoute.Query, _ range: ClosedRange<Int64>
    ) throws -> Int64? {
        try request.value(name).map { text in
            guard let number = Int64(text), range.contains(number) else {
                throw StoreError(
                    .invalidRequest,
                    "“\(name.rawValue)” must be a number from \(range.lowerBound)"
                        + (range.upperBound == .max ? "." : " to \(range.upperBound)."))
            }
            return number
        }
    }
}

extension Request {
    /// The person who asks, as ``ControlRoute/operatorField`` says; nil without the field.
    var operatorName: String? {
        HTTPField.Name(ControlRoute.operatorField).flatMap { headers[$0] }.map { String($0.prefix(64)) }
    }

    /// The value of a query parameter of the managed catalog; nil when the query does not contain it.
    fileprivate func value(_ parameter: ManagedRoute.Query) -> String? {
        uri.queryParameters[parameter.rawValue[...]].map { String($0) }
    }
}
