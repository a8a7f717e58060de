import ConsolePages
import DeviceScreen
import StoreKit

/// The app on a page in a browser. A pressed button calls what a typed line calls.
extension MagazineApp: ScreenApp {
    /// The app's name.
    public var name: String { "Magazine" }

    /// Whether a purchase, a restore or a request is in progress.
    public var isBusy: Bool {
        get async { await store.isBusy }
    }

    /// The status, and a button for each plan that the reader does not have.
    public var content: ScreenContent {
        var content = ScreenContent(headline: "By the receipt: \(receiptText)")
        content.text = serverText.map { "By the server: \($0)" }
        content.items = Plan.allCases.map { plan in
            let product = store.product(of: plan)
            var item = ScreenItem(plan.title, text: product?.localizedDescription)
            item.price = store.label(of: plan)
            if store.has(plan) {
                item.price = "yours"
            } else if !SKPaymentQueue.canMakePayments() {
                item.price = "AppStore disabled"
            } else if product != nil {
                item.buttons = [
                    ConsoleButton(press: plan.rawValue, "Subscribe", about: "Subscribe to \(plan.title)")
                ]
            }
            return item
        }
        content.buttons = [ConsoleButton(press: "status", "Ask for the status")]
        return content
    }

    /// Buys a plan, or asks for the status.
    public func press(_ press: ScreenPress) {
        if press.button == "status" {
            store.refresh()
        } else if let plan = Plan.named(press.button) {
            buy(plan)
        }
    }

    /// Restores the account's subscription.
    public func restore() { store.restore() }
}
