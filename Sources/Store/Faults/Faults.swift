import StoreWire
import Synchronization

/// Failures that the operator orders for the next requests, to test how clients handle them.
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
    }

    /// A false statement in an answer about content.
    public enum Lie: String, Sendable, CaseIterable {
        /// A wrong SHA-256.
        case digest
        /// A length that is one byte too large.
        case length

        /// Changes the answer to make the false statement.
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
        /// ``Operation/download`` an HTTP status of 400 to 599, and for the others an HTTP status of 500 to 599.
        /// Ignored when ``error``, ``cutAfter`` or ``lie`` is set.
        public var status: Int
        /// The error that the device reports to the app, instead of a status. Only for ``Operation/products``,
        /// ``Operation/purchases``, ``Operation/receipts`` and ``Operation/restores``.
        public var error: OrderedError?
        /// The number of bytes after which the connection is closed. Only for ``Operation/download``.
        public var cutAfter: Int64?
        /// The false statement to make. Only for ``Operation/content``.
        public var lie: Lie?
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

        /// Creates a fault that makes answers about content false.
        public init(lie: Lie, remaining: Int) {
            self.init(operation: .content, status: 200, remaining: remaining)
            self.lie = lie
        }

        /// Checks that the fault can be ordered.
        /// - Throws: ``StoreError`` `invalid_request` when the operation does not support the fault, or the count is
        ///   out of range.
        public func check() throws {
            let statuses: [ClosedRange<Int>] =
                switch operation {
                case .verifyReceipt: [21005...21005, 21009...21009, 21100...21199]
                case .download: [400...599]
                default: [500...599]
                }
            if let cutAfter {
                guard operation == .download, cutAfter >= 0 else {
                    throw StoreError(
                        .invalidRequest, "Only a download can be cut. The number of bytes cannot be negative.")
                }
            } else if lie != nil {
                guard operation == .content else {
                    throw StoreError(.invalidRequest, "A lie can be ordered only for content.")
                }
            } else if error != nil {
                guard [.products, .purchases, .receipts, .restores].contains(operation) else {
                    throw StoreError(
                        .invalidRequest,
                        "An error by name can be ordered only for products, purchases, receipts and restores.")
                }
            } else if !statuses.contains(where: { $0.contains(status) }) {
                throw StoreError(
                    .invalidRequest,
                    operation == .verifyReceipt
                        ? "verifyReceipt can be made to answer 21005, 21009 or 21100 to 21199."
                        : "Give an HTTP status of \(operation == .download ? 400 : 500) to 599.")
            }
            guard (1...1_000_000).contains(remaining) else {
                throw StoreError(.invalidRequest, "A fault can be ordered for the next 1 to 1,000,000 requests.")
            }
        }
    }

    private let faults = Mutex<[Operation: Fault]>([:])

    /// Orders a fault. It replaces an earlier one for the same operation.
    /// - Throws: ``StoreError`` `invalid_request` for a status or count that cannot be ordered.
    public func order(_ fault: Fault) throws {
        try fault.check()
        faults.withLock { $0[fault.operation] = fault }
    }

    /// Returns the fault for the current request and decrements its count; nil when none is ordered.
    public func next(_ operation: Operation) -> Fault? {
        faults.withLock { faults in
            guard var fault = faults[operation] else { return nil }
            fault.remaining -= 1
            faults[operation] = fault.remaining > 0 ? fault : nil
            return fault
        }
    }

    /// Whether the next request of this kind will fail.
    public func isOrdered(_ operation: Operation) -> Bool { faults.withLock { $0[operation] != nil } }

    /// All ordered faults in the order of their operations' names.
    public var ordered: [Fault] {
        faults.withLock { $0.values.sorted { $0.operation.rawValue < $1.operation.rawValue } }
    }

    /// Cancels all ordered faults.
    public func clear() { faults.withLock { $0 = [:] } }
}
