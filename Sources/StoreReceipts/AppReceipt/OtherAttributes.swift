/// Collects the attributes without a property. It allocates nothing as long as the attributes are the usual ones in the
/// usual order: all purchases from Apple's server and from Cornerstore share one array.
struct OtherAttributes {
    private let usual: [ReceiptAttribute]
    /// How many usual attributes were read before any other.
    private var usualCount = 0
    /// All attributes that were read, once one of them was not the usual one.
    private var unusual: [ReceiptAttribute] = []

    init(usual: [ReceiptAttribute]) {
        self.usual = usual
    }

    @inline(__always)
    mutating func append(_ attribute: PayloadAttribute) {
        if unusual.isEmpty, usualCount < usual.count, attribute.isKept(usual[usualCount]) {
            usualCount += 1
        } else {
            appendUnusual(attribute)
        }
    }

    @inline(never)
    private mutating func appendUnusual(_ attribute: PayloadAttribute) {
        if unusual.isEmpty {
            unusual.reserveCapacity(8)
            unusual.append(contentsOf: usual.prefix(usualCount))
        }
        unusual.append(attribute.kept)
    }

    var attributes: [ReceiptAttribute] {
        if !unusual.isEmpty { return unusual }
        return usualCount == usual.count ? usual : Array(usual.prefix(usualCount))
    }
}
