import StoreWire
import Synchronization

/// Failures that the operator orders for the next requests, so that a client's handling of them can be tried.
public final class Faults: Sendable {
    /// Which requests fail.
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
        /// The address of a download is asked for.
        case content
        /// A download's bytes, from the store itself.
        case download
    }

    /// What an answer says that is not so.
    public enum Lie: String, Sendable, CaseIterable {
        /// Another SHA-256.
        case digest
        /// One byte more than there are.
        case length

        /// Puts the lie into the answer.
        public func falsify(_ grant: inout ContentGrant) {
            switch self {
            case .digest: grant.sha256 = String(grant.sha256.reversed())
            case .length: grant.length += 1
            }
        }
    }

    /// One order.
    public struct Fault: Sendable, Equatable {
        /// The operation that fails.
        public var operation: Operation
        /// For `verifyReceipt` one of its statuses (21005, 21009, 21100 to 21199); for ``Operation/download`` an HTTP status of 400 to 599; for
        /// the others one of 500 to 599. Of no meaning beside ``error``, ``cutAfter`` and ``lie``.
        public var status: Int
        /// The error that the device gives to the app, instead of a status; only for ``Operation/products``,
        /// ``Operation/purchases``, ``Operation/receipts`` and ``Operation/restores``.
        public var error: OrderedError?
        /// After how many bytes of the answer the connection is closed; only for ``Operation/download``.
        public var cutAfter: Int64?
        /// What the answer says that is not so; only for ``Operation/content``.
        public var lie: Lie?
        /// How many more requests it fails.
        public var remaining: Int

        /// Creates a fault that answers with a status.
        public init(operation: Operation, status: Int, remaining: Int) {
            self.operation = operation
            self.status = status
            self.remaining = remaining
        }

        /// An order by an error's name.
        public init(operation: Operation, error: OrderedError, remaining: Int) {
            self.operation = operation
            status = 422
            self.error = error
            self.remaining = remaining
        }

        /// A download that is cut.
        public init(cutAfter bytes: Int64, remaining: Int) {
            self.init(operation: .download, status: 200, remaining: remaining)
            cutAfter = bytes
        }

        /// An answer about content that says what is not so.
        public init(lie: Lie, remaining: Int) {
            self.init(operation: .content, status: 200, remaining: remaining)
            self.lie = lie
        }

        /// Whether it can be ordered.
        /// - Throws: ``StoreError`` `invalid_request` for a status, an error or a count that it cannot have.
        public func check() throws {
            let statuses: [ClosedRange<Int>] =
                switch operation {
                case .verifyReceipt: [21005...21005, 21009...21009, 21100...21199]
                case .download: [400...599]
                default: [500...599]
                }
            if let cutAfter {
                guard operation == .download, cutAfter >= 0 else {
                    throw StoreError(.invalidRequest, "Only a download can be cut, after 0 bytes or more.")
                }
            } else if lie != nil {
                guard operation == .content else {
                    throw StoreError(.invalidRequest, "A lie can be ordered for content.")
                }
            } else if error != nil {
                guard [.products, .purchases, .receipts, .restores].contains(operation) else {
                    throw StoreError(
                        .invalidRequest,
                        "An error by name can be ordered for products, purchases, receipts and restores.")
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

    /// Orders a fault in place of any earlier one for that operation.
    /// - Throws: ``StoreError`` `invalid_request` for a status or count that cannot be ordered.
    public func order(_ fault: Fault) throws {
        try fault.check()
        faults.withLock { $0[fault.operation] = fault }
    }

    /// Whether the request at hand is to fail, which uses up one of the order's count.
    public func next(_ operation: Operation) -> Fault? {
        faults.withLock { faults in
            guard var fault = faults[operation] else { return nil }
            fault.remaining -= 1
            faults[operation] = fault.remaining > 0 ? fault : nil
            return fault
        }
    }

    /// Whether the next request of that kind is to fail.
    public func isOrdered(_ operation: Operation) -> Bool { faults.withLock { $0[operation] != nil } }

    /// What is ordered, by operation.
    public var ordered: [Fault] {
        faults.withLock { $0.values.sorted { $0.operation.rawValue < $1.operation.rawValue } }
    }

    /// Takes all orders back.
    public func clear() { faults.withLock { $0 = [:] } }
}
