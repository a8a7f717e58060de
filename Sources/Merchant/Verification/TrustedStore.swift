import CornerstoreEncoding
import Crypto

/// A store whose purchases the merchant accepts.
public struct TrustedStore: Sendable, Equatable {
    /// The permanent name of the store in redemption keys. Purchases with different anchors are different purchases.
    public var anchor: String
    /// The root certificates of the store's receipts and signed transactions, in DER.
    public var roots: [[UInt8]]
    /// The SHA-256 of roots whose certificates are taken from evidence that contains them.
    public var rootFingerprints: [[UInt8]]
    /// Intermediate certificates that iOS 6 receipts do not contain, in DER.
    public var intermediates: [[UInt8]]

    /// Creates a trusted store.
    public init(
        anchor: String, roots: [[UInt8]], rootFingerprints: [[UInt8]] = [], intermediates: [[UInt8]] = []
    ) {
        self.anchor = anchor
        self.roots = roots
        self.rootFingerprints = rootFingerprints
        self.intermediates = intermediates
    }

    /// The SHA-256 of each root.
    var fingerprints: [[UInt8]] { roots.map { Array(SHA256.hash(data: $0)) } + rootFingerprints }

    /// The anchor of Apple's stores.
    public static let apple = "apple"

    /// Returns Apple's stores, by the fingerprints of three roots: Apple Root CA, which signs receipts, and its
    /// successors G2 and G3, of which G3 signs transactions (www.apple.com/certificateauthority). iOS 6 receipts
    /// contain neither the root nor the intermediate certificate. To accept them, pass those certificates.
    public static func appleStores(roots: [[UInt8]] = [], intermediates: [[UInt8]] = []) -> TrustedStore {
        TrustedStore(
            anchor: apple, roots: roots, rootFingerprints: appleFingerprints.map(bytes), intermediates: intermediates)
    }

    /// Whether a certificate, in DER, is one of Apple's roots.
    public static func isApples(_ root: [UInt8]) -> Bool {
        appleFingerprints.map(bytes).contains(Array(SHA256.hash(data: root)))
    }

    /// Returns a Cornerstore, by its roots. Its anchor is made from its first root's fingerprint, until
    /// ``Merchant/recordAnchors(_:in:)`` finds that one of the roots was recorded before.
    public static func cornerstore(roots: [[UInt8]], intermediates: [[UInt8]] = []) -> TrustedStore {
        let name = Hexadecimal.encoded(SHA256.hash(data: roots.first ?? []).prefix(8))
        return TrustedStore(anchor: name, roots: roots, intermediates: intermediates)
    }

    private static let appleFingerprints = [
        "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
        "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050",
        "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
    ]

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.map { $0 <= 0x39 ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
