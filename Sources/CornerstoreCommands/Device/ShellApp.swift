import ConsolePages
import ControlWire
import DeviceScreen
import Foundation
import StoreKit

/// An app that sells every product of its catalog, for `cornerstore device web`. It knows no product: the control port
/// tells the identifiers, and the store the rest.
@MainActor
final class ShellApp: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver {
    private let bundleID: String
    private let client: ControlClient
    private let screen: DeviceScreen
    private let queue = SKPaymentQueue.default()
    private(set) var name: String
    private var products: [SKProduct]?
    /// The identifiers of the products of which several are bought at once.
    private var consumables: Set<String> = []
    private var request: SKProductsRequest?
    /// The problem with the list of products.
    private var problem: String?
    /// The number of added payments that are not in the queue's list yet, because adding is asynchronous.
    private var ordersNotSeen = 0
    private var isRestoring = false
    private var isLoading = false
    /// Whether the sheet for a code may still come. StoreKit does not tell when it does.
    private var isAskingForCode = false

    init(bundleID: String, client: ControlClient, screen: DeviceScreen) {
        (self.bundleID, self.client, self.screen, name) = (bundleID, client, screen, bundleID)
    }

    /// Starts to observe the queue, and loads the products.
    func open() {
        queue.add(self)
        load()
    }

    private func load() {
        guard !isLoading else { return }
        isLoading = true
        Task {
            do {
                let apps: [ControlAPI.App] = try await client.send(.apps)
                guard let app = apps.first(where: { $0.bundleId.hasSameBytes(as: bundleID) }) else {
                    return end(problem: "The store does not have the app \(bundleID) any more.")
                }
                name = app.name ?? bundleID
                guard !app.productIds.isEmpty else { return end(problem: "The catalog has no product of this app.") }
                let catalog: ControlAPI.CatalogApp = try await client.send(.app(bundle: bundleID))
                consumables = Set(catalog.products.filter { $0.kind == "consumable" }.map(\.productId))
                let request = SKProductsRequest(productIdentifiers: Set(app.productIds))
                request.delegate = self
                self.request = request
                request.start()
            } catch {
                end(problem: (error as? CommandError)?.detail ?? "\(error)")
            }
        }
    }

    private func end(problem: String?) {
        isLoading = false
        self.problem = problem
        screen.changed()
    }

    // MARK: Products

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products.sorted { $0.productIdentifier < $1.productIdentifier }
        let invalid = response.invalidProductIdentifiers
        if !invalid.isEmpty {
            screen.say("Invalid product identifiers: \(invalid.joined(separator: ", "))", tone: .bad)
        }
    }

    func requestDidFinish(_ request: SKRequest) { end(problem: nil) }

    /// Loads the products again after a few seconds. StoreKit has no notification for the store's availability.
    func request(_ request: SKRequest, didFailWithError error: any Error) {
        end(problem: "Network down? \(error.localizedDescription)")
        Task {
            try? await Task.sleep(for: .seconds(3))
            if problem != nil { load() }
        }
    }

    // MARK: The queue

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing: ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored: deliver(transaction)
            case .failed:
                if (transaction.error as? SKError)?.code != .paymentCancelled {
                    screen.say(transaction.error?.localizedDescription ?? "The purchase failed.", tone: .bad)
                }
                queue.finishTransaction(transaction)
            case .deferred: screen.say("Waiting for approval.", tone: .neutral)
            }
        }
        screen.changed()
    }

    private func deliver(_ transaction: SKPaymentTransaction) {
        let unfinished = transaction.downloads.filter { $0.state != .finished && $0.state != .cancelled }
        guard unfinished.isEmpty else {
            queue.start(unfinished.filter { $0.state == .waiting })
            return
        }
        let verb = transaction.transactionState == .restored ? "restored" : "bought"
        screen.say("\(transaction.payment.productIdentifier) is \(verb).")
        queue.finishTransaction(transaction)
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads where download.state == .finished { deliver(download.transaction) }
        screen.changed()
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        screen.changed()
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { endRestoring(nil) }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        endRestoring((error as? SKError)?.code == .paymentCancelled ? nil : error.localizedDescription)
    }

    private func endRestoring(_ problem: String?) {
        isRestoring = false
        if let problem { screen.say(problem, tone: .bad) }
        screen.changed()
    }

    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { load() }
}

extension ShellApp: ScreenApp {
    var isBusy: Bool {
        ordersNotSeen > 0 || isRestoring || isLoading || isAskingForCode
            || queue.transactions.contains { transaction in
                transaction.transactionState != .deferred && transaction.downloads.isEmpty
            }
    }

    var content: ScreenContent {
        var content = ScreenContent(text: problem ?? (products == nil ? "The products are loading." : nil))
        let owned = Set(ScreenReceipt.read()?.purchases.filter { !$0.isRefunded }.map(\.product) ?? [])
        let canMakePayments = SKPaymentQueue.canMakePayments()
        content.items = (products ?? []).map { item($0, owned, canMakePayments) }
        content.buttons = [
            ConsoleButton(press: "load", "Load the products again", tone: .dim),
            ConsoleButton(press: "redeem", "Redeem a code", tone: .dim),
        ]
        return content
    }

    private func item(_ product: SKProduct, _ owned: Set<String>, _ canMakePayments: Bool) -> ScreenItem {
        let identifier = product.productIdentifier
        let title = product.localizedTitle.isEmpty ? identifier : product.localizedTitle
        let words = [owned.contains(identifier) ? "In the receipt." : "", product.localizedDescription]
        let text = words.filter { !$0.isEmpty }.joined(separator: " ")
        var item = ScreenItem(title, text: text.isEmpty ? nil : text)
        item.identifier = identifier
        let downloads = queue.transactions.flatMap(\.downloads).filter { $0.contentIdentifier == identifier }
        if let download = downloads.first(where: { $0.state != .finished }) {
            let percent = Int(download.progress * 100)
            item.progress = ScreenProgress("Download of \(title)", percent: percent, text: "\(percent) %")
            let isStopped = download.state == .paused || download.state == .failed
            item.buttons = [button(isStopped ? "Resume" : "Pause", "the download of \(title)", product)]
            return item
        }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        let price = formatter.string(from: product.price) ?? "\(product.price)"
        guard canMakePayments else {
            item.price = "AppStore disabled"
            return item
        }
        item.price = price
        guard consumables.contains(identifier) else {
            item.buttons = [button("Buy", title, product)]
            return item
        }
        var form = ConsoleForm(
            action: ScreenAddress.press("buy"),
            fields: [ConsoleField("quantity", "How many", .number, value: "1", isRequired: true)],
            hidden: [ConsoleHidden("product", identifier)], button: "Buy")
        form.buttonAbout = "Buy \(title)"
        item.forms = [form]
        return item
    }

    /// A button about a product. An address takes fewer characters than a product's identifier may have.
    private func button(_ label: String, _ object: String, _ product: SKProduct) -> ConsoleButton {
        ConsoleButton(
            label, about: "\(label) \(object)", action: ScreenAddress.press(label.lowercased()),
            hidden: [ConsoleHidden("product", product.productIdentifier)])
    }

    func press(_ press: ScreenPress) {
        switch press.button {
        case "load": load()
        case "redeem": redeem()
        case "buy":
            guard let product = products?.first(where: { $0.productIdentifier == press.values["product"] }) else {
                return
            }
            guard let quantity = Int(press.values["quantity"] ?? "1"), (1...10).contains(quantity) else {
                return screen.say("You can buy from 1 to 10 at once.", tone: .bad)
            }
            let payment = SKMutablePayment(product: product)
            payment.quantity = quantity
            ordersNotSeen += 1
            queue.add(payment)
        case "pause": queue.pause(downloads(of: press))
        case "resume":
            let downloads = downloads(of: press)
            queue.resume(downloads.filter { $0.state == .paused })
            queue.start(downloads.filter { $0.state == .failed })
        default: break
        }
    }

    private func downloads(of press: ScreenPress) -> [SKDownload] {
        queue.transactions.flatMap(\.downloads).filter { $0.contentIdentifier == press.values["product"] }
    }

    private func redeem() {
        isAskingForCode = true
        queue.presentCodeRedemptionSheet()
        Task {
            try? await Task.sleep(for: .seconds(1))
            isAskingForCode = false
        }
    }

    func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }
}
