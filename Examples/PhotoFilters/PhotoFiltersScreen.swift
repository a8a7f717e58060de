import ConsolePages
import DeviceScreen
import StoreKit

/// The app on a page in a browser. A pressed button calls what a typed line calls.
extension PhotoFiltersApp: ScreenApp {
    /// The app's name.
    public var name: String { "Photo Filters" }

    /// Whether a purchase or a restore is in progress.
    public var isBusy: Bool { store.isBusy }

    /// The picture before and after, and a button for each filter: buy it, or use it.
    public var content: ScreenContent {
        var content = ScreenContent()
        content.pictures = [
            ScreenPicture(ScreenAddress.picture("original"), about: "The picture: a sun over hills", caption: "Before")
        ]
        if let chosen, vault.isUnlocked(chosen.productIdentifier) {
            content.pictures.append(
                ScreenPicture(
                    ScreenAddress.picture(chosen.rawValue), about: "The picture in \(chosen.rawValue)",
                    caption: "After: \(chosen.rawValue)"))
        } else {
            content.text = "Choose a filter that is yours, and see the picture in it."
        }
        content.items = PhotoFilter.allCases.map { filter in
            let product = store.product(of: filter)
            var item = ScreenItem(product?.localizedTitle ?? filter.rawValue, text: product?.localizedDescription)
            if vault.isUnlocked(filter.productIdentifier) {
                item.price = store.label(of: filter)
                item.buttons = [
                    ConsoleButton(press: filter.rawValue, "Use", about: "Use \(filter.rawValue)")
                ]
            } else if !SKPaymentQueue.canMakePayments() {
                item.price = "AppStore disabled"
            } else if product == nil {
                item.price = store.label(of: filter)
            } else {
                item.buttons = [
                    ConsoleButton(
                        press: filter.rawValue, "Buy \(store.label(of: filter))",
                        about: "Buy \(store.label(of: filter)): \(filter.rawValue)")
                ]
            }
            return item
        }
        return content
    }

    /// Buys the filter, or shows the picture in it when it is bought.
    public func press(_ press: ScreenPress) {
        guard let filter = PhotoFilter.named(press.button) else { return }
        if vault.isUnlocked(filter.productIdentifier) { chosen = filter } else { buy(filter) }
    }

    /// Restores the account's filters.
    public func restore() { store.restore() }

    /// The sample picture, or the same in a filter that is bought.
    public func picture(_ name: String) -> [UInt8]? {
        let filter = PhotoFilter(rawValue: name)
        guard filter.map({ vault.isUnlocked($0.productIdentifier) }) ?? (name == "original") else { return nil }
        if let known = made[name] { return known }
        let picture = Picture.sample()
        let bytes = (try? (filter?.apply(to: picture) ?? picture).png()).map(Array.init)
        made[name] = bytes
        return bytes
    }
}
