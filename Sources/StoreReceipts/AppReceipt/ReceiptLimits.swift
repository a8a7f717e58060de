/// The size limits of a receipt; a larger one is refused as `tooLarge`. Nesting is also limited to 16 levels, and the
/// number of certificates to 8.
public struct ReceiptLimits: Sendable, Equatable {
    /// The largest receipt, in bytes.
    public var byteCount: Int
    /// The most attributes of the payload and its purchases together. It bounds the memory that a parsed receipt takes.
    public var attributeCount: Int

    /// Creates limits, for instance lower ones than a server's limit of a request body.
    public init(byteCount: Int, attributeCount: Int) {
        self.byteCount = byteCount
        self.attributeCount = attributeCount
    }

    /// 16 MiB and 250,000 attributes, room for some 12,000 purchases.
    public static let standard = ReceiptLimits(byteCount: 16 << 20, attributeCount: 250_000)
}
