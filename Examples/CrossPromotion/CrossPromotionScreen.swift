import ConsolePages
import DeviceScreen
import StoreKit

/// The app on a page in a browser. A pressed button calls what a typed line calls.
extension CrossPromotionApp: ScreenApp {
    /// The app's name.
    public var name: String { "Cross Promotion" }

    /// The promotions, a search, and what it found. A button leads to the store's page of an item, and back.
    public var content: ScreenContent {
        var content = ScreenContent(text: "These are pages of the store. You buy and review there, and return.")
        content.items = [
            item(Promotion.otherApp.name, "Our other app", press: "1"), item(Promotion.film.name, "A film", press: "2"),
            item("The playlist", Promotion.playlist.map(\.name).joined(separator: ", "), press: "3"),
        ]
        content.items += found.map { found in
            let text = ["by \(found.creator)", found.rating].compactMap(\.self).joined(separator: ", ")
            return item(found.name, text, press: String(found.number))
        }
        content.forms = [
            ConsoleForm(
                action: ScreenAddress.press("find"),
                fields: [
                    ConsoleField(
                        "words", "Find an item", .search, hint: "Words, a number, or a link to an item's page",
                        isRequired: true)
                ],
                button: "Find", isLine: true)
        ]
        return content
    }

    private func item(_ name: String, _ text: String, press: String) -> ScreenItem {
        var item = ScreenItem(name, text: text)
        item.buttons = [ConsoleButton(press: press, "Show", about: "Show \(name)")]
        return item
    }

    /// Shows a page of the store, or finds items.
    public func press(_ press: ScreenPress) {
        guard !isBusy else {
            return say("Something else is still going on. Wait, or continue on the store's page.", tone: .neutral)
        }
        if press.button == "find" { find(press.values["words"] ?? "") } else { handle(press.button) }
    }

    /// The app sells nothing that could be restored. The store's library has what was bought on its pages.
    public func restore() { SKPaymentQueue.default().restoreCompletedTransactions() }
}
