import ConsolePages
import DeviceScreen
import StoreKit

/// The app on a page in a browser. A pressed button calls what a typed line calls.
extension ServerBooksApp: ScreenApp {
    /// The app's name.
    public var name: String { "Server Books" }

    /// Whether a purchase, a restore or a download is in progress.
    public var isBusy: Bool {
        get async { await stand.isBusy }
    }

    /// The bookshelf, as the merchant lists it now, and the issue that is read.
    public var content: ScreenContent {
        var content = ScreenContent(text: stand.problem)
        content.items = stand.issues.map(item)
        if content.items.isEmpty, content.text == nil { content.text = "The shelf is empty." }
        content.buttons = [
            ConsoleButton(press: "update", "Get new content", about: "Get new content of your issues")
        ]
        if let open, let issue = stand.issue(named: open), let owned = stand.content(of: issue),
            let text = try? IssueText(owned)
        {
            content.read(text.text, heading: issue.title)
        }
        return content
    }

    private func item(_ issue: Issue) -> ScreenItem {
        var item = ScreenItem(issue.title, text: stand.label(of: issue))
        if stand.content(of: issue) != nil {
            item.buttons = [ConsoleButton(press: "read-\(issue.name)", "Read", about: "Read \(issue.title)")]
        } else if let begun = stand.merchant.begunDownload(of: issue.item) {
            item.progress = ScreenProgress(
                "Download of \(issue.title)", percent: Int(begun.progress * 100),
                text: "\(Int(begun.progress * 100)) %")
        } else if !SKPaymentQueue.canMakePayments() {
            item.text = "AppStore disabled"
        } else if issue.product != nil, !stand.isOnItsWay(issue) {
            (item.text, item.price) = (nil, stand.label(of: issue))
            item.buttons = [ConsoleButton(press: "buy-\(issue.name)", "Buy", about: "Buy \(issue.title)")]
        }
        return item
    }

    /// Buys or reads an issue, or gets new content.
    public func press(_ press: ScreenPress) {
        if press.button == "update" {
            stand.fillShelf()
            stand.update()
        } else if press.button.hasPrefix("buy-") {
            buy(String(press.button.dropFirst(4)))
        } else if press.button.hasPrefix("read-") {
            open = String(press.button.dropFirst(5))
        }
    }

    /// Restores the store account's purchases.
    public func restore() { stand.restore() }
}
