import Database
import StoreWire

/// Failures that the operator orders for the next requests, to test how clients handle them. They are in the store's
/// database, so they hold after a restart and for all processes.
public final class Faults: Sendable {
    /// The kind of request that fails.
    public enum Operation: String, Sendable, CaseIterable, Codable {
        /// `verifyReceipt` requests.
        case verifyReceipt
        /// Requests for product information.
        case products
        /// Requests to buy.
        case purchases
        /// Requests to restore purchases.
        case restores
        /// Requests for an app receipt or a transaction receipt.
        case receipts
        /// Requests to finish a transaction.
        case finish
        /// Requests to sign in.
        case signIn
        /// Requests for the address of a download.
        case content
        /// Downloads of bytes from the store itself.
        case download
        /// Requests to the App Store Server API.
        case serverAPI

        /// The statuses that can be ordered.
        public var statuses: [ClosedRange<Int>] {
            switch self {
            case .verifyReceipt: [21005...21005, 21009...21009, 21100...21199]
            case .download: [400...599]
            case .serverAPI: [429...429, 500...500]
            default: [500...599]
            }
        }

        /// The sentence that names ``statuses``.
        fileprivate var advice: String {
            switch self {
            case .verifyReceipt: "verifyReceipt can be made to answer 21005, 21009 or 21100 to 21199."
            case .download: "Give an HTTP status of 400 to 599."
            case .serverAPI: "The App Store Server API can be made to answer 429 or 500."
            default: "Give an HTTP status of 500 to 599."
            }
        }

        /// Whether an error by name can be ordered.
        public var takesErrors: Bool { [.products, .purchases, .receipts, .restores].contains(self) }
        /// Whether the answer can be cut after a number of bytes.
        public var canBeCut: Bool { self == .download }
        /// Whether the answer can have ``WrongContent``.
        public var takesWrongContent: Bool { self == .content }
    }

    /// A wrong value in an answer about content.
    public enum WrongContent: String, Sendable, CaseIterable {
        /// A wrong SHA-256.
        case digest
        /// A length that is one byte too large.
        case length

        /// Puts the wrong value into the answer.
        public func falsify(_ grant: inout ContentGrant) {
            switch self {
            case .digest: grant.sha256 = String(grant.sha256.reversed())
            case .length: grant.length += 1
            }
        }
    }

    /// One ordered failure.
    public struct Fault: Sendable, Equatable {
        /// The operation that fails.
        public var operation: Operation
        /// The status to answer with: for ``Operation/verifyReceipt`` 21005, 21009 or 21100 to 21199, for
        /// ``Operation/download`` an HTTP status of 400 to 599, for ``Operation/serverAPI`` 429 or 500, and for the
        /// others an HTTP status of 500 to 599. Ignored when ``error``, ``cutAfter`` or ``wrongContent`` is set.
        public var status: Int
        /// The error that the device reports to the app, instead of a status. Only for ``Operation/products``,
        /// ``Operation/purchases``, ``Operation/receipts`` and ``Operation/restores``.
        public var error: OrderedError?
        /// The number of bytes after which the connection is closed. Only for ``Operation/download``.
        public var cutAfter: Int64?
        /// The wrong value in the answer. Only for ``Operation/content``.
        public var wrongContent: WrongContent?
        /// The number of requests still to fail.
        public var remaining: Int

        /// Creates a fault that answers with a status.
        public init(operation: Operation, status: Int, remaining: Int) {
            self.operation = operation
            self.status = status
            self.remaining = remaining
        }

        /// Creates a fault that makes the device report an error.
        public init(operation: Operation, error: OrderedError, remaining: Int) {
            self.operation = operation
            status = 422
            self.error = error
            self.remaining = remaining
        }

        /// Creates a fault that cuts downloads.
        public init(cutAfter bytes: Int64, remaining: Int) {
            self.init(operation: .download, status: 200, remaining: remaining)
            cutAfter = bytes
        }

        /// Creates a fault that puts a wrong value into answers about content.
        public init(wrongContent: WrongContent, remaining: Int) {
            self.init(operation: .content, status: 200, remaining: remaining)
            self.wrongContent = wrongContent
        }

        /// Checks that the fault can be ordered.
        /// - Throws: ``StoreError`` `invalid_request` when the operation does not support the fault, or the count is
        ///   out of range.
        public func check() throws {
            let statuses = operation.statuses
            if let cutAfter {
                guard operation.canBeCut, cutAfter >= 0 else {
                    throw StoreError(
                        .invalidRequest, "Only a download can be cut. The number of bytes cannot be negative.")
                }
            } else if wrongContent != nil {
                guard operation.takesWrongContent else {
                    throw StoreError(.invalidRequest, "Only the operation content can return wrong values.")
                }
            } else if error != nil {
                guard operation.takesErrors else {
                    throw StoreError(
                        .invalidRequest,
                        "An error by name can be ordered only for products, purchases, receipts and restores.")
                }
            } else if !statuses.contains(where: { $0.contains(status) }) {
                throw StoreError(.invalidRequest, operation.advice)
            }
            guard (1...1_000_000).contains(remaining) else {
                throw StoreError(.invalidRequest, "A fault can be ordered for the next 1 to 1,000,000 requests.")
            }
        }
    }

    /// A request that met a fault.
    public struct Hit: Sendable, Equatable {
        /// The fault, with the number of requests that it still applied to afterwards.
        public var fault: Fault
        /// When the request met it, in milliseconds since 1970 by the store's clock.
        public var date: Int64
        /// The e-mail address of the account whose request it was; nil when it is not known.
        public var account: String?
    }

    /// The number of hits that are kept.
    static let mostHits = 100

    /// The operations for which a fault is ordered. A fault that another process's request used up stays here until a
    /// request finds that it is.
    private let operations: DatabaseCopy<Set<Operation>>
    private let database: Database
    private let now: @Sendable () -> Int64
    private let changed: @Sendable () -> Void

    private init(
        _ database: Database, _ operations: Set<Operation>, _ now: @escaping @Sendable () -> Int64,
        _ changed: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.operations = DatabaseCopy(operations)
        self.now = now
        self.changed = changed
    }

    /// Reads the ordered faults from a database with ``StoreSchema``.
    /// - Parameters:
    ///   - now: the store's time, in milliseconds since 1970.
    ///   - changed: called when a fault was ordered, met or removed.
    /// - Throws: ``DatabaseError``.
    public static func open(
        _ database: Database, now: @escaping @Sendable () -> Int64, changed: @escaping @Sendable () -> Void
    ) async throws -> Faults {
        Faults(database, try await database.read { try FaultRows.operations($0) }, now, changed)
    }

    /// Orders a fault. It replaces an earlier one for the same operation.
    /// - Throws: ``StoreError`` `invalid_request` for a status or count that cannot be ordered; ``DatabaseError``.
    public func order(_ fault: Fault) async throws {
        try fault.check()
        try await write { try FaultRows.order(fault, $0) }
    }

    /// Returns the fault for the current request and decrements its count; nil when none is ordered. All processes of
    /// the store count together.
    /// - Parameter account: the e-mail address of the account whose request it is, for the operator; evaluated only
    ///   when a fault is ordered.
    /// - Throws: ``DatabaseError``.
    public func next(_ operation: Operation, account: @autoclosure () -> String? = nil) async throws -> Fault? {
        guard isOrdered(operation) else { return nil }
        let (date, account) = (now(), account())
        let met = try await database.write { connection -> Fault? in
            guard let fault = try FaultRows.meet(operation, connection) else { return nil }
            let hit = Hit(fault: fault, date: date, account: account)
            try FaultRows.record(hit, keeping: Self.mostHits, connection)
            return fault
        }
        // When reading fails, the next request finds again that the fault is used up.
        if (met?.remaining ?? 0) == 0 { try? await reload() }
        if met != nil { changed() }
        return met
    }

    /// Whether the next request of this kind may fail.
    public func isOrdered(_ operation: Operation) -> Bool { operations.value.contains(operation) }

    /// All ordered faults in the order of their operations' names.
    /// - Throws: ``DatabaseError``.
    public var ordered: [Fault] {
        get async throws { try await database.read { try FaultRows.ordered($0) } }
    }

    /// How many requests have met each operation's fault since it was ordered. Operations without a fault are left out.
    /// - Throws: ``DatabaseError``.
    public var counts: [Operation: Int] {
        get async throws { try await database.read { try FaultRows.counts($0) } }
    }

    /// The last requests that met a fault, newest first.
    /// - Throws: ``DatabaseError``.
    public var hits: [Hit] {
        get async throws { try await database.read { try FaultRows.hits($0) } }
    }

    /// Cancels the fault of an operation. Returns false when none is ordered.
    /// - Throws: ``DatabaseError``.
    public func remove(_ operation: Operation) async throws -> Bool {
        try await write { try FaultRows.remove(operation, $0) }
    }

    /// Cancels all ordered faults.
    /// - Throws: ``DatabaseError``.
    public func clear() async throws {
        try await write { try FaultRows.removeAll($0) }
    }

    /// Reads again for which operations faults are ordered, which another process may have changed.
    /// - Throws: ``DatabaseError``.
    func reload() async throws {
        try await operations.reload(from: database) { try FaultRows.operations($0) }
    }

    @discardableResult
    private func write<T: Sendable>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T {
        let result = try await operations.write(
            to: database, load: { try FaultRows.operations($0) },
            { connection in
                try connection.announce("faults")
                return try body(connection)
            })
        changed()
        return result
    }
}
