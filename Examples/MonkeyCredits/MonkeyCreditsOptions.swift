import Foundation

/// What the command was asked to do.
public struct MonkeyCreditsOptions: Equatable, Sendable {
    /// Buy this and then go on.
    public var purchase: Purchase?
    /// Only print the balance.
    public var showsBalance = false
    /// Only feed a monkey, for one credit.
    public var feeds = false
    /// End when nothing is left to do, rather than ask for more.
    public var exitsWhenIdle = false
    /// End at once, without granting, when a purchase is delivered: shows what a crash does.
    public var crashesAfterPurchased = false
    /// Only print how to use it.
    public var showsHelp = false

    public struct Purchase: Equatable, Sendable {
        public var pack: CreditPack
        public var quantity: Int
    }

    /// Why the arguments make no sense, for standard error.
    public struct Misuse: Error, Equatable {
        public var text: String
    }

    public static let help = """
        Monkey Credits: buys credits for monkeys, from the store that CORNERSTORE_STORE or CORNERSTORE_DATA names.

        monkey-credits                                 asks what to do
        monkey-credits --buy credits5 --quantity 3     buys, and ends
        monkey-credits --exit-when-idle                takes what is still to be delivered, and ends
        monkey-credits --balance                       prints the balance
        monkey-credits --feed                          feeds a monkey, for one credit

        The balance is kept in a vault in the device's folder (CORNERSTORE_DEVICE), counted from the store's receipts.
        It ends with 0 when done, 1 when a purchase failed or was cancelled, 2 on wrong usage.
        """

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
                    throw Misuse(text: "--crash-after knows only: purchased")
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
