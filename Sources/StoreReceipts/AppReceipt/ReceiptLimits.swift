/// How much of a receipt is read before it is refused as `tooLarge`. Nesting is bounded at 16 and certificates at 8
/// besides.
public struct ReceiptLimits: Sendable, Equatable {
    /// The whole receipt, in bytes.
    public var byteCount: Int
    /// Attributes of the payload and of its purchases together: what bounds the memory that a parsed receipt takes.
    public var attributeCount: Int

    /// Limits of the caller's own, for instance below what a server takes as a body.
    public init(byteCount: Int, attributeCount: Int) {
        self.byteCount = byteCount
        self.attributeCount = attributeCount
    }

    /// 16 MiB and 250,000 attributes, room for some 12,000 purchases.
    public static let standard = ReceiptLimits(byteCount: 16 << 20, attributeCount: 250_000)
}
