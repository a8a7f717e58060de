import CornerstoreEncoding
import Crypto
import Store

/// An encoded picture, ready to be sent.
struct ScaledPicture: Sendable {
    var bytes: [UInt8]
    /// The entity tag, with its quotation marks.
    var entityTag: String
    /// Whether the file was the one that the catalog describes.
    var isCurrent: Bool

    init(_ bytes: [UInt8], isCurrent: Bool) {
        self.bytes = bytes
        self.isCurrent = isCurrent
        entityTag = "\"\(Hexadecimal.encoded(SHA256.hash(data: bytes).prefix(8)))\""
    }
}

/// A bounded cache of scaled pictures.
///
/// It keeps two generations and drops the older one when the younger has half of the capacity.
struct ScaledPictures {
    /// A picture in one of its sizes.
    struct Key: Hashable {
        var number: Int64
        var picture: ItemImageAddress.Picture
        /// The digest of the picture's file; nil for the drawn placeholder.
        var digest: String?
        var width: Int
        var height: Int
        var quality: Int
        var format: ItemImageAddress.Format
    }

    private var young: [Key: ScaledPicture] = [:]
    private var old: [Key: ScaledPicture] = [:]
    private var youngBytes = 0
    private let capacity: Int

    /// - Parameter capacity: the most bytes of all pictures.
    init(capacity: Int) { self.capacity = capacity }

    /// The bytes of all pictures.
    var bytes: Int { (young.values.map(\.bytes.count) + old.values.map(\.bytes.count)).reduce(0, +) }

    mutating func value(for key: Key) -> ScaledPicture? {
        if let picture = young[key] { return picture }
        guard let picture = old.removeValue(forKey: key) else { return nil }
        insert(picture, for: key)
        return picture
    }

    mutating func insert(_ picture: ScaledPicture, for key: Key) {
        // Pictures that are larger than a generation are not kept.
        guard picture.bytes.count <= capacity / 2, young[key] == nil else { return }
        if youngBytes + picture.bytes.count > capacity / 2 { (old, young, youngBytes) = (young, [:], 0) }
        old[key] = nil
        young[key] = picture
        youngBytes += picture.bytes.count
    }
}
