import BlobStorage
import Crypto
import Foundation
import StoreWire

/// The address of a download at the store itself: what may be read, until when, for which transaction, and a signature over all of it, so that it
/// needs no account and cannot be made by anyone else.
public struct ContentAddress: Sendable, Equatable {
    /// The path under which the store serves downloads.
    public static let prefix = "/content/v1/"

    var digest: BlobDigest
    /// Milliseconds since 1970 by the store's clock.
    var expires: Int64
    var transactionID: TransactionID

    /// The path and query.
    func path(_ environment: StoreEnvironment, _ key: SymmetricKey) -> String {
        let signature = HMAC<SHA256>.authenticationCode(for: signed(environment), using: key)
        return
            "\(Self.prefix)\(digest)?expires=\(expires)&transaction=\(transactionID)&signature=\(Hexadecimal.digits(signature))"
    }

    /// Whether a signature was made by the store of that environment.
    func isSigned(by signature: String, _ environment: StoreEnvironment, _ key: SymmetricKey) -> Bool {
        // As long as the other, they compare in constant time.
        let right = HMAC<SHA256>.authenticationCode(for: signed(environment), using: key)
        return SHA256.hash(data: Data(Hexadecimal.digits(right).utf8)) == SHA256.hash(data: Data(signature.utf8))
    }

    private func signed(_ environment: StoreEnvironment) -> Data {
        Data("content v1\n\(environment.name)\n\(digest)\n\(expires)\n\(transactionID)".utf8)
    }
}
