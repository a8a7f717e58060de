/// A share of a purchase's credits.
struct Share: Sendable, Equatable {
    static let all = Share(part: 1, whole: 1)

    private let part: Int64
    private let whole: Int64

    /// Creates a share.
    /// - Parameters:
    ///   - part: the part. It is limited to the range from 0 to `whole`.
    ///   - whole: the whole, at least 1.
    init(part: Int64, whole: Int64) {
        self.whole = max(whole, 1)
        self.part = min(max(part, 0), self.whole)
    }

    /// Creates a share from a percentage.
    /// - Parameter thousandths: the percentage in thousandths of a percent.
    static func percentage(_ thousandths: Int64) -> Share {
        Share(part: thousandths, whole: VerifiedPurchase.wholeShare)
    }

    /// The share of a positive amount, rounded up to a whole credit.
    func of(_ amount: Int64) -> Int64 {
        let (quotient, remainder) = whole.dividingFullWidth(amount.multipliedFullWidth(by: part))
        return remainder > 0 ? quotient + 1 : quotient
    }
}
