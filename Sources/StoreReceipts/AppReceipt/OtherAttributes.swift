/// Gathers the attributes without a property. As long as they are the usual ones in the usual order, nothing is
/// allocated: the purchases of Apple's server and Cornerstore's all share one array.
struct OtherAttributes {
    private let usual: [ReceiptAttribute]
    /// How many of the usual ones came, before any other.
    private var usualCount = 0
    /// All that came, once one was not the usual one.
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
