import ControlWire
import CornerstoreEncoding
import Crypto
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// Tells the operator about the server itself: the catalog in full and its problems, sheets, requests, settings, and
/// the changes that operators made.
struct OperatorController: Sendable {
    let apps: AppRegistry
    let catalog: CurrentCatalog
    let desk: OperatorDesk

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.catalog) { _, _ in try .json(catalogState) }
        router.on(.app(bundle: ""), use: showApp)
        router.on(.revealSecret(bundle: "")) { _, context in
            guard let app = apps[context.bundleID] else { throw Self.unknownApp }
            let secret = ControlAPI.SharedSecret(bundleId: app.bundleID.rawValue, sharedSecret: app.sharedSecret)
            return try Response.json(secret).uncached
        }
        router.on(.sheets) { _, _ in
            try .json(
                desk.sheets.waiting.map { sheet in
                    ControlAPI.WaitingSheet(
                        id: sheet.id, path: SheetRoute.page(sheet.id).path, kind: sheet.question.kind.rawValue,
                        title: sheet.question.title, account: sheet.question.email,
                        age: Int(sheet.age.components.seconds))
                })
        }
        router.on(.screens) { _, _ in try .json(desk.screens.list) }
        router.on(.announceScreen) { request, _ in
            let announced = try await request.decodeJSON(ControlAPI.ScreenAnnouncement.self, upTo: 16 << 10)
            guard try desk.screens.announce(announced) else {
                throw HTTPProblem(
                    .serviceUnavailable, code: "unavailable",
                    message: "\(ScreenBoard.most) pages of apps are listed already. Try again later.")
            }
            return Response(status: .noContent)
        }
        router.on(.requests()) { request, _ in
            let number = try request.number(.before).map { Int(clamping: $0) }
            let entries = desk.requests.list(before: number, limit: try request.limit(most: 1000, usual: 100))
            return try .json(entries.map(ControlAPI.LoggedRequest.init))
        }
        router.on(.settings) { _, _ in try .json(desk.settings()) }
        router.on(.revealTester) { _, _ in
            guard let tester = desk.tester() else {
                throw HTTPProblem(
                    .notFound, code: "not_found",
                    message: "The data directory has no \(SandboxTester.fileName). Create an account instead.")
            }
            return try Response.json(ControlAPI.TesterPassword(email: tester.email, password: tester.password)).uncached
        }
        router.on(.audit()) { request, _ in
            let entries = try await desk.audit.list(
                of: request.query(.subject), before: try request.number(.before),
                limit: try request.limit(most: 1000, usual: 100))
            return try .json(entries.map(ControlAPI.AuditEntry.init))
        }
    }

    // MARK: The catalog

    private var catalogState: ControlAPI.CatalogState {
        let state = desk.news.state
        return ControlAPI.CatalogState(
            files: desk.catalogFiles.map(\.path), loadedDate: ControlAPI.text(state.loadedAt), notes: state.notes,
            problems: state.problems.map(ControlAPI.CatalogProblem.init),
            problemsDate: state.foundAt.map(ControlAPI.text))
    }

    @Sendable private func showApp(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        guard let app = catalog.value.app(context.bundleID) else { throw Self.unknownApp }
        let file = catalog.value.file(of: app.bundleID)
        guard let productID = request.query(.product).map({ ProductID($0) }) else {
            return try .json(
                ControlAPI.CatalogApp(
                    app, appID: apps[app.bundleID]?.appID, file: file,
                    products: app.products.map { ControlAPI.CatalogProduct($0, in: [app.storefront], line: nil) }))
        }
        guard let product = app.product(productID) else {
            throw StoreError(.productNotAvailable, "The app has no product with this identifier.")
        }
        let line = file.flatMap { CatalogFile(path: $0, bundleID: nil).line(of: productID) }
        return try .json(
            ControlAPI.CatalogApp(
                app, appID: apps[app.bundleID]?.appID, file: file,
                products: [ControlAPI.CatalogProduct(product, in: Storefront.all, line: line)]))
    }

    private static let unknownApp = StoreError(.unknownApp, "The store has no app with this bundle identifier.")
}

/// The objects that the ports of a store share with its operator.
struct OperatorDesk: Sendable {
    /// Counts what changes.
    let changes: Changes
    /// The last requests.
    let requests: RequestLog
    /// The changes that operators made.
    let audit: AuditLog
    /// The state of the catalog's files.
    let news: CatalogNews
    /// The catalog's files.
    let catalogFiles: [CatalogFile]
    /// The payment sheets.
    let sheets: SheetBoard
    /// The apps that run on pages.
    let screens: ScreenBoard
    /// The places for streams of events.
    let places = EventPlaces()
    /// The server's settings.
    let settings: @Sendable () -> ControlAPI.Settings
    /// The sandbox tester of the first start; nil without one.
    let tester: @Sendable () -> SandboxTester?
    /// The machine's clock.
    let now: @Sendable () -> Date
}

extension Request {
    /// A number of the query, from 1.
    fileprivate func number(_ parameter: ControlRoute.Parameter) throws -> Int64? {
        try query(parameter).map { text in
            guard let number = Int64(text), number > 0 else {
                throw StoreError(.invalidRequest, "“\(parameter)” must be a number above 0.")
            }
            return number
        }
    }
}

extension Response {
    /// The same answer, kept out of every cache.
    var uncached: Response {
        var response = self
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

extension ControlAPI.AuditEntry {
    init(_ recorded: RecordedAuditEntry) {
        let entry = recorded.entry
        self.init(
            number: recorded.number, date: ControlAPI.text(recorded.date), operatorName: entry.operatorName,
            environment: entry.environment, operation: entry.operation, subject: entry.subject, before: entry.before,
            after: entry.after)
    }
}

extension ControlAPI.Root {
    init(name: String, _ certificate: [UInt8]) {
        self.init(
            name: name, sha256: Hexadecimal.encoded(SHA256.hash(data: certificate)),
            certificate: Data(certificate).base64EncodedString())
    }
}
