import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for the ledger, attempts to buy, and the search, in both environments. `.sandbox` and the empty ids are
/// placeholders: only a route's template counts.
extension ControlController {
    func addLedgerRoutes(to router: Router<StoreRequestContext>) {
        on(router, .transactions(.sandbox), listTransactions)
        on(router, .transaction(.sandbox, id: "")) { store, _, context in
            let entry = try await store.ledgerEntry(try Self.transactionID(context))
            return try .json(ControlAPI.TransactionDetail(entry, catalog.value))
        }
        on(router, .transactionReceipt(.sandbox, id: ""), transactionReceipt)
        on(router, .attempts(.sandbox), listAttempts)
        on(router, .search(.sandbox, text: "")) { store, request, _ in
            guard let text = request.query(.text) else {
                throw StoreError(.invalidRequest, "The query must contain “text”.")
            }
            let catalog = catalog.value
            return try .json(try await store.search(text).map { ControlAPI.SearchHit($0, catalog) })
        }
    }

    @Sendable private func listTransactions(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        var query = LedgerQuery(
            before: try request.before(), accountID: try await existing(request.query(.account), at: store)?.accountID,
            limit: try request.limit(most: 1000, usual: 50))
        query.bundleID = request.query(.bundle).map { BundleID($0) }
        query.productID = request.query(.product).map { ProductID($0) }
        query.kind = try request.query(.kind).map { kind in
            let known = ProductKind.allCases.map(\.rawValue) + [LedgerQuery.itemKind]
            guard known.contains(kind) else {
                throw StoreError(.invalidRequest, "“kind” must be one of \(known.joined(separator: ", ")).")
            }
            return kind
        }
        query.state = try request.oneOf(.state)
        query.from = try request.date(.from)
        query.until = try request.date(.until)
        let page = try await store.ledger(query)
        let addresses = try await store.accounts.addresses(of: page.rows.map(\.accountID))
        let catalog = catalog.value
        let rows = page.rows.map { row in
            var transaction = ControlAPI.Transaction(row, catalog)
            transaction.email = addresses[row.accountID]
            return transaction
        }
        return try .json(ControlAPI.Page(rows: rows, next: page.next?.description))
    }

    @Sendable private func listAttempts(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        var query = AttemptQuery(
            before: try request.before(), accountID: try await existing(request.query(.account), at: store)?.accountID,
            limit: try request.limit(most: 1000, usual: 50))
        query.bundleID = request.query(.bundle).map { BundleID($0) }
        query.productID = request.query(.product).map { ProductID($0) }
        query.state = try request.oneOf(.state)
        let page = try await store.attempts(query)
        let addresses = try await store.accounts.addresses(of: page.rows.map(\.accountID))
        let rows = page.rows.map { row in
            var attempt = ControlAPI.Attempt(row)
            attempt.email = addresses[row.accountID]
            return attempt
        }
        return try .json(ControlAPI.Page(rows: rows, next: page.next?.description))
    }

    @Sendable private func transactionReceipt(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let entry = try await store.ledgerEntry(try Self.transactionID(context))
        guard case .product(let transaction) = entry.row, let account = entry.account else {
            throw StoreError(.unknownTransaction, "Only the transaction of a product has a receipt.")
        }
        let receipt = try await store.transactionReceipt(
            transaction.transactionID,
            TransactionReceiptRequest(
                bundleID: transaction.bundleID, bundleVersion: Self.version(request),
                vendorIdentifier: try Self.device(request)),
            for: account)
        return try .json(ControlAPI.Receipt(receipt: Data(receipt).base64EncodedString()))
    }

    static func transactionID(_ context: StoreRequestContext) throws -> TransactionID {
        guard let id = context.parameter(.id).flatMap({ TransactionID($0) }) else {
            throw StoreError(.invalidRequest, "The path must contain a transaction id.")
        }
        return id
    }
}

extension Request {
    /// The cursor of a page: the list continues with transactions older than this one.
    func before() throws -> TransactionID? {
        try query(.before).map { text in
            guard let id = TransactionID(text) else {
                throw StoreError(.invalidRequest, "“before” must be a transaction id.")
            }
            return id
        }
    }

    /// The most rows of a list.
    func limit(most: Int, usual: Int) throws -> Int {
        guard let text = query(.limit) else { return usual }
        guard let limit = Int(text), (1...most).contains(limit) else {
            throw StoreError(.invalidRequest, "“limit” must be a number from 1 to \(most).")
        }
        return limit
    }

    /// A date of the query.
    fileprivate func date(_ parameter: ControlRoute.Parameter) throws -> Int64? {
        try query(parameter).map { text in
            guard let date = ControlAPI.milliseconds(text) else {
                throw StoreError(
                    .invalidRequest, "“\(parameter)” must be a date in ISO 8601, such as 2026-01-31T12:00:00Z.")
            }
            return date
        }
    }

    /// Reads a parameter that has a fixed set of values.
    fileprivate func oneOf<Word: RawRepresentable & CaseIterable>(
        _ parameter: ControlRoute.Parameter
    ) throws -> Word? where Word.RawValue == String {
        try query(parameter).map { text in
            guard let word = Word(rawValue: text) else {
                let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“\(parameter)” must be one of \(known).")
            }
            return word
        }
    }
}
