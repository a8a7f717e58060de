import ConsolePages
import CornerstoreEncoding
import Foundation
import StoreKit

extension ScreenPage {
    /// The event topic under which the screen announces every change.
    static let topic = "screen"
    /// The number of purchases of a receipt that the page lists, the newest first.
    private static let listedPurchases = 20

    /// Creates the page that shows a device's screen.
    @MainActor
    init(of screen: DeviceScreen) {
        let app = screen.app
        self.init(app?.name ?? screen.device.name)
        frame.title = "\(heading) on \(screen.device.folder.lastPathComponent)"
        frame.environment = screen.device.environment == .sandbox ? "Sandbox" : "Production"
        frame.environmentClass = screen.device.environment.name
        (frame.events, frame.topics) = ("/events", Self.topic)
        about = "This page is the screen of one device, for one person. It is not a web shop."
        device = screen.device.folder.path
        problem = screen.problem
        said = screen.said.map(\.text)
        let tones = Set(screen.said.map(\.tone))
        saidTone = (tones.contains(.bad) ? .bad : tones.contains(.good) ? .good : DeviceScreen.Tone.neutral).rawValue
        waiting = screen.page == nil ? nil : "/waiting"
        isWaitingItem = screen.isItemPage
        on = "on \(screen.device.folder.lastPathComponent)"
        question = screen.question.map(Self.item)
        content = app?.content ?? ScreenContent(text: "The app is starting.")
        let console = screen.device.console.map { "\($0.absoluteString)/\(screen.device.environment.name)" }
        sections = [
            Self.events(screen.lines), Self.queue(console), Self.receipt(console),
            Self.device(isCrashPlanned: screen.isCrashPlanned),
        ]
    }

    private static func item(_ question: DeviceScreen.Question) -> ScreenItem {
        var item = ScreenItem(question.heading, text: question.text)
        item.buttons = question.choices.map { choice in
            ConsoleButton(
                choice.label, about: choice.label, action: "/answer",
                hidden: [ConsoleHidden("question", question.id.uuidString), ConsoleHidden("choice", choice.value)])
        }
        return item
    }

    private static func events(_ lines: [DeviceScreen.Line]) -> ConsoleSection {
        var section = ConsoleSection("happened", "Last events", isLive: true)
        section.events = lines.reversed().map { line in
            ConsoleEvent(
                line.isOfApp ? line.text : "", at: isoText(line.time), text: clockText(line.time),
                note: line.isOfApp ? nil : line.text)
        }
        if lines.isEmpty { section.text = "No events yet. StoreKit's messages to the app appear here." }
        return section
    }

    private static func queue(_ console: String?) -> ConsoleSection {
        var section = ConsoleSection("queue", "Payment queue", isLive: true)
        var table = ConsoleTable(
            "Unfinished transactions",
            [ConsoleColumn("Product"), ConsoleColumn("State"), ConsoleColumn("Transaction")],
            nothing: "The queue is empty: the app has finished everything.")
        for transaction in SKPaymentQueue.default().transactions {
            let id = transaction.transactionIdentifier
            table.add([
                ConsoleCell(ScreenObserver.name(transaction)),
                ConsoleCell(
                    ScreenObserver.word(transaction.transactionState),
                    tone: transaction.transactionState == .failed ? .bad : nil),
                ConsoleCell(id ?? "—", link: link(id, console), isID: id != nil),
            ])
        }
        section.table = table
        return section
    }

    private static func link(_ transaction: String?, _ console: String?) -> String? {
        guard let transaction, let console else { return nil }
        return "\(console)/transactions/\(transaction.percentEncoded)"
    }

    private static func receipt(_ console: String?) -> ConsoleSection {
        var section = ConsoleSection("receipt", "Receipt", isLive: true)
        guard let receipt = ScreenReceipt.read() else {
            section.text =
                ScreenReceipt.bytes() == nil
                ? "This device has no receipt of the app yet. The first purchase or restore creates it."
                : "The receipt on this device is damaged."
            return section
        }
        section.facts = [ConsoleFact("Created", "\(isoText(receipt.created)) (store time)")]
        var table = ConsoleTable(
            "Purchases in the receipt",
            [ConsoleColumn("Product"), ConsoleColumn("Quantity", isNumber: true), ConsoleColumn("Transaction")],
            nothing: "The receipt lists no purchase. Finished consumables leave it.")
        for purchase in receipt.purchases.prefix(listedPurchases) {
            table.add([
                ConsoleCell(
                    purchase.product, note: purchase.isRefunded ? "refunded" : nil,
                    tone: purchase.isRefunded ? .dim : nil),
                ConsoleCell(String(purchase.quantity)),
                ConsoleCell(purchase.transaction, link: link(purchase.transaction, console), isID: true),
            ])
        }
        section.table = table
        section.links = [ConsoleLink("Save the receipt", "/receipt")]
        if let console {
            let newest = receipt.purchases.first.map { "?transaction=\($0.transaction.percentEncoded)" } ?? ""
            section.links.append(ConsoleLink("Open the Inspector", "\(console)/inspector\(newest)"))
        }
        return section
    }

    private static func device(isCrashPlanned: Bool) -> ConsoleSection {
        var section = ConsoleSection("device", "This device", isLive: true)
        let restore = ConsoleForm(
            "Restore", action: "/restore", button: "Restore purchases",
            text: "The store delivers this account's earlier purchases on all devices again. Consumables are not "
                + "restored.")
        let plan =
            isCrashPlanned
            ? ConsoleForm(
                "Crash", action: "/crash", hidden: [ConsoleHidden("when", "never")], button: "Do not crash",
                text: "The app's process ends when the next purchase is paid, before the app grants it. Start the app "
                    + "again to receive the purchase.")
            : ConsoleForm(
                "Crash", action: "/crash", hidden: [ConsoleHidden("when", "next-purchase")],
                button: "Crash at the next grant",
                text: "Ends the app's process when the next purchase is paid, before the app grants it.")
        let now = ConsoleForm(
            "Crash now", action: "/crash", hidden: [ConsoleHidden("when", "now")], button: "Crash now", tone: .bad,
            text: "Ends the app's process at once. Start it again from the terminal.")
        section.forms = [restore, plan, now]
        return section
    }

    private static func isoText(_ date: Date) -> String { date.formatted(.iso8601) }

    private static func clockText(_ date: Date) -> String { String(date.formatted(.iso8601).dropFirst(11).prefix(8)) }
}
