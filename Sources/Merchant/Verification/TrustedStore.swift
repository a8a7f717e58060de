import CornerstoreEncoding
import Crypto
import StoreReceipts

/// A store whose purchases the merchant accepts.
public struct TrustedStore: Sendable, Equatable {
    /// The permanent name of the store in redemption keys. The same transaction
    /// identifier under two anchors is two purchases.
    public var anchor: String
    /// The root certificates of the store's receipts and signed transactions, in DER.
    public var roots: [[UInt8]]
    /// Roots that are known by name and key only. The merchant takes their certificates from evidence that contains
    /// them.
    public var rootIdentities: [RootIdentity]
    /// Intermediate certificates that iOS 6 receipts do not contain, in DER.
    public var intermediates: [[UInt8]]

    /// Creates a trusted store.
    public init(
        anchor: String, roots: [[UInt8]], rootIdentities: [RootIdentity] = [], intermediates: [[UInt8]] = []
    ) {
        self.anchor = anchor
        self.roots = roots
        self.rootIdentities = rootIdentities
        self.intermediates = intermediates
    }

    /// The SHA-256 of each certificate in ``roots``.
    var fingerprints: [[UInt8]] { roots.map { Array(SHA256.hash(data: $0)) } }

    /// The anchor of Apple's stores.
    public static let apple = "apple"

    /// Returns Apple's stores, by the names and keys of three roots: Apple Root CA, which signs receipts, and its
    /// successors G2 and G3, of which G3 signs transactions (www.apple.com/certificateauthority). iOS 6 receipts
    /// contain neither the root nor the intermediate certificate. To accept them, pass those certificates.
    public static func appleStores(roots: [[UInt8]] = [], intermediates: [[UInt8]] = []) -> TrustedStore {
        TrustedStore(
            anchor: apple, roots: roots, rootIdentities: appleRoots, intermediates: intermediates)
    }

    /// Whether a certificate, in DER, is one of Apple's roots.
    public static func isAppleRoot(_ certificate: [UInt8]) -> Bool {
        RootIdentity(der: certificate).map { appleRoots.contains($0) } ?? false
    }

    /// Returns a Cornerstore, by its roots. Its anchor is the beginning of its first root's SHA-256. If one of the
    /// roots is recorded already, ``Merchant/recordAnchors(_:in:)`` replaces the anchor by the recorded one.
    public static func cornerstore(roots: [[UInt8]], intermediates: [[UInt8]] = []) -> TrustedStore {
        let name = Hexadecimal.encoded(SHA256.hash(data: roots.first ?? []).prefix(8))
        return TrustedStore(anchor: name, roots: roots, intermediates: intermediates)
    }

    private static let appleRoots = [
        "0274fe858b04726bb2c6fd7ba73fe4c63a1d076f6eff78373bdb81498151c86e",
        "f7c4e71ce6446445f63c1e494b7270cfd1c6a846b1dfbc9c9e20ab2acddb8e5e",
        "e691a373c3e637bf2d2e0abc6056ea4e5413c90414b47b0b0133ad3cb757be57",
    ].map { RootIdentity(digest: bytes($0)) }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.map { $0 <= 0x39 ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
