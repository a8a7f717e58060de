import ConsolePages
import DeviceScreen
import StoreKit

/// The app on a page in a browser. A pressed button calls what a typed line calls.
extension MonkeyCreditsApp: ScreenApp {
    /// The app's name.
    public var name: String { "Monkey Credits" }

    /// Whether a purchase is in progress.
    public var isBusy: Bool { store.isBusy }

    /// The balance, a button for each pack, and one that feeds a monkey.
    public var content: ScreenContent {
        var content = ScreenContent(headline: "Monkey credits: \(credits)")
        let canMakePayments = SKPaymentQueue.canMakePayments()
        content.items = CreditPack.all.map { pack in
            var item = ScreenItem("\(pack.credits) credits")
            let label = store.button(for: pack, canMakePayments: canMakePayments)
            guard canMakePayments, store.product(of: pack) != nil else {
                item.price = label
                return item
            }
            let quantity = ConsoleField("quantity", "How many", .number, value: "1", isRequired: true)
            item.forms = [
                ConsoleForm(
                    action: ScreenAddress.press(pack.productIdentifier), fields: [quantity], button: label)
            ]
            return item
        }
        content.buttons = [ConsoleButton(press: "feed", "Feed a monkey, for 1 credit")]
        return content
    }

    /// Buys a pack, or feeds a monkey.
    public func press(_ press: ScreenPress) {
        if press.button == "feed" {
            feed()
        } else if let pack = CreditPack.named(press.button) {
            guard let quantity = Int(press.values["quantity"] ?? "1"), (1...10).contains(quantity) else {
                return say("You can buy from 1 to 10 at once.", tone: .bad)
            }
            buy(pack, quantity: quantity)
        }
    }

    /// Asks the store, which delivers no consumables again.
    public func restore() { SKPaymentQueue.default().restoreCompletedTransactions() }
}
