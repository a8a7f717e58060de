import Foundation

/// The command's arguments.
public struct MonkeyCreditsOptions: Equatable, Sendable {
    /// The purchase to make; nil for none.
    public var purchase: Purchase?
    /// Whether to print only the balance.
    public var showsBalance = false
    /// Whether to feed a monkey, for one credit.
    public var feeds = false
    /// Whether to end when the app is idle, without asking for more.
    public var exitsWhenIdle = false
    /// Whether to end the process at once when a purchase is delivered, before it is granted, to test a crash.
    public var crashesAfterPurchased = false
    /// Whether to print only the usage.
    public var showsHelp = false

    /// A purchase of one or more packs.
    public struct Purchase: Equatable, Sendable {
        /// The pack.
        public var pack: CreditPack
        /// The quantity, 1 to 10.
        public var quantity: Int
    }

    /// An error in the arguments.
    public struct Misuse: Error, Equatable {
        /// The message for standard error.
        public var text: String
    }

    /// The usage text.
    public static let help = """
        Monkey Credits: buys credits for monkeys, from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        monkey-credits                                 asks what to do
        monkey-credits --web [--port NUMBER]           shows the app on a page in a browser
        monkey-credits --buy credits5 --quantity 3     buys, and ends
        monkey-credits --exit-when-idle                receives unfinished purchases, and ends
        monkey-credits --balance                       prints the balance
        monkey-credits --feed                          feeds a monkey, for one credit

        The balance is in a vault in the device's folder (CORNERSTORE_DEVICE), computed from the store's receipts.
        Exit codes: 0 success, 1 when a purchase failed or was cancelled, 2 wrong usage.
        """

    /// Parses the arguments.
    /// - Throws: ``Misuse``.
    public init(arguments: [String]) throws {
        var product: String?
        var quantity: Int?
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Misuse(text: "\(option) needs a value") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--buy": product = try value(of: argument)
            case "--quantity":
                let text = try value(of: argument)
                guard let number = Int(text), (1...10).contains(number) else {
                    throw Misuse(text: "--quantity is a number from 1 to 10, not \(text)")
                }
                quantity = number
            case "--balance": showsBalance = true
            case "--feed": feeds = true
            case "--exit-when-idle": exitsWhenIdle = true
            case "--crash-after":
                guard try value(of: argument) == "purchased" else {
                    throw Misuse(text: "--crash-after must be: purchased")
                }
                crashesAfterPurchased = true
            case "--help", "-h": showsHelp = true
            default: throw Misuse(text: "unknown argument \(argument); see --help")
            }
        }
        if let product {
            guard let pack = CreditPack.named(product) else {
                let known = CreditPack.all.map(\.productIdentifier).joined(separator: ", ")
                throw Misuse(text: "there is no product \(product); there are \(known)")
            }
            purchase = Purchase(pack: pack, quantity: quantity ?? 1)
            exitsWhenIdle = true
        } else if quantity != nil {
            throw Misuse(text: "--quantity goes with --buy")
        }
    }
}
