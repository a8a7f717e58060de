import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// The place in a list after which the next page begins: `<date or number>_<transaction>_<check>`. Callers keep it and
/// send it back as it is.
struct PageRevision: Sendable, Equatable {
    /// The number or date of the page's last transaction, by which the list is sorted.
    var order: Int64
    /// The identifier of the page's last transaction, which sorts those of equal numbers.
    var transactionID: Int64

    private static let longest = 64

    init(order: Int64, transactionID: Int64) {
        self.order = order
        self.transactionID = transactionID
    }

    /// Reads a revision that ``text(for:secret:)`` wrote for the same list.
    /// - Throws: ``APIError`` `invalidRevision`.
    init(_ text: String, for list: String, secret: SymmetricKey) throws {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 3, let order = Int64(parts[0]), order >= 0,
            let transactionID = Int64(parts[1]), transactionID >= 0
        else { throw APIError.invalidRevision }
        self.init(order: order, transactionID: transactionID)
        guard self.text(for: list, secret: secret).hasSameBytes(as: text) else { throw APIError.invalidRevision }
    }

    /// The text for callers.
    /// - Parameters:
    ///   - list: the customer and the query. A revision is good for the same list only.
    ///   - secret: a key that callers do not have, so that they cannot make revisions.
    func text(for list: String, secret: SymmetricKey) -> String {
        let place = "\(order)_\(transactionID)"
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(place) \(list)".utf8), using: secret)
        return "\(place)_\(Hexadecimal.encoded(Array(code.prefix(8))))"
    }
}
