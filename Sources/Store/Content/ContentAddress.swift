import BlobStorage
import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// The address of a download from the store itself.
///
/// It names the package, the expiry and the transaction, and carries a signature over them. A request to the address
/// needs no account, and only the store can create one.
public struct ContentAddress: Sendable, Equatable {
    /// The path under which the store serves downloads.
    public static let prefix = "/content/v1/"

    var digest: BlobDigest
    /// When the address expires, in milliseconds since 1970 by the store's clock.
    var expires: Int64
    var transactionID: TransactionID

    /// The address's path and query, with the signature.
    func path(_ environment: StoreEnvironment, _ key: SymmetricKey) -> String {
        let signature = HMAC<SHA256>.authenticationCode(for: signed(environment), using: key)
        return
            "\(Self.prefix)\(digest)?expires=\(expires)&transaction=\(transactionID)&signature=\(Hexadecimal.encoded(signature))"
    }

    /// Whether the store of this environment made the signature.
    func isSigned(by signature: String, _ environment: StoreEnvironment, _ key: SymmetricKey) -> Bool {
        // Comparing digests of equal length hides where the signatures differ.
        let right = HMAC<SHA256>.authenticationCode(for: signed(environment), using: key)
        return SHA256.hash(data: Data(Hexadecimal.encoded(right).utf8)) == SHA256.hash(data: Data(signature.utf8))
    }

    private func signed(_ environment: StoreEnvironment) -> Data {
        Data("content v1\n\(environment.name)\n\(digest)\n\(expires)\n\(transactionID)".utf8)
    }
}
