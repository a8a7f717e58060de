import Foundation
import StoreKit

/// The payment sheet of a device's screen: the store's own page in the same browser tab.
///
/// The customer's password goes from that page to the control port, and from there to StoreKit in the app's process.
struct ScreenSheet: PaymentSheet {
    let web: WebPaymentSheet
    let screen: DeviceScreen

    func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer {
        await closing { await web.confirm(request) }
    }

    func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? { await closing { await web.signIn(prompt) } }

    func redeemCode(_ prompt: RedemptionPrompt) async -> String? { await closing { await web.redeemCode(prompt) } }

    func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer {
        await closing { await web.confirmPriceIncrease(request) }
    }

    func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason? {
        await closing { await web.chooseRefundReason(prompt) }
    }

    /// The screen itself shows a notice.
    func tell(_ notice: PaymentSheetNotice) async { await screen.say(notice.text) }

    private func closing<Answer: Sendable>(_ ask: @Sendable () async -> Answer) async -> Answer {
        let answer = await ask()
        await screen.close()
        return answer
    }
}

/// Shows the store's pages on a device's screen: an item's page in the same browser tab, and what has no page there as
/// a question.
struct ScreenPresenter: StorePresenter {
    let screen: DeviceScreen
    let returnAddress: URL?

    func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
        guard let product = page.product, page.isForSale else {
            await screen.say("Nobody is signed in, so the page cannot be shown.", tone: .bad)
            return .done
        }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        let price = formatter.string(from: NSDecimalNumber(decimal: product.price)) ?? "\(product.price)"
        let answer = await screen.ask(
            product.name, product.description, [("buy", "Buy for \(price)"), ("done", "Done")])
        return answer == "buy" ? .buy : .done
    }

    func show(
        _ page: StoreProductPage, until ended: @escaping @Sendable () async -> Void
    ) async -> StoreProductPageAnswer {
        guard let item = page.item, !page.isOfThisApp, let address = URL(string: item.address) else {
            return await show(page)
        }
        await screen.open(address, isItem: true)
        await ended()
        await screen.close()
        return .done
    }

    func tell(_ sentence: String) async { await screen.say(sentence) }

    func askForReview(ofApp bundleIdentifier: String) async -> Int? {
        let stars = (1...5).map { ("\($0)", $0 == 1 ? "1 star" : "\($0) stars") }
        return Int(await screen.ask("How do you like this app?", nil, stars + [("later", "Not now")]))
    }
}
