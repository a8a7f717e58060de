/// Something that the app is to buy. Its name travels as the payment's `applicationUsername`, so that every transaction
/// says which order made it.
public struct Order: Sendable, Equatable {
    /// Without spaces, of its own on the device.
    public var name: String
    /// The product's identifier.
    public var product: String
    /// How many the app buys, in one payment.
    public var quantity: Int

    /// Creates an order.
    public init(name: String, product: String, quantity: Int) {
        self.name = name
        self.product = product
        self.quantity = quantity
    }

    /// As an argument of the program: `NAME=PRODUCT*QUANTITY`.
    public var argument: String { "\(name)=\(product)*\(quantity)" }

    /// Nil for what is not such an argument.
    public init?(argument: String) {
        guard let match = argument.wholeMatch(of: /([^\s=]+)=([^\s=*]+)\*([0-9]{1,4})/), let quantity = Int(match.3)
        else { return nil }
        self.init(name: String(match.1), product: String(match.2), quantity: quantity)
    }
}
