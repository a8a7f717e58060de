import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Presenting product pages", .timeLimit(.minutes(1)))
struct ProductPresentationTests {
    let device: TestDevice
    let presenter = RecordedPresenter()
    let delegate = PageDelegate()
    init() throws { device = try TestDevice() }

    private func controller(
        _ presenter: any StorePresenter, sheet: (any PaymentSheet)? = nil, timer: any RetryTimer = ManualTimer()
    ) -> SKStoreProductViewController {
        var configuration = sheet.map { device.configuration(sheet: $0) } ?? device.configuration()
        configuration.presenter = presenter
        let page = SKStoreProductViewController(engine: device.launch(configuration, timer: timer))
        page.delegate = delegate
        return page
    }

    /// When an app presents a page that it loads.
    enum Moment: CaseIterable { case before, afterCalling, inBlock, after }

    /// As code does that is not async.
    private func show(_ page: SKStoreProductViewController, _ moment: Moment, _ number: Int = 11) async {
        if moment == .before { await page.present() }
        await withCheckedContinuation { continuation in
            page.loadProduct(withParameters: ["id": number]) { _, _ in
                if moment == .inBlock { page.present() }
                continuation.resume()
            }
            if moment == .afterCalling { page.present() }
        }
        if moment == .after { await page.present() }
    }

    @Test(arguments: Moment.allCases) func `a page is presented before or after loading`(_ moment: Moment) async {
        let page = controller(presenter)
        for count in 1...2 {
            await show(page, moment)
            await delegate.wait()
            // The second time shows that the first one did not call the delegate twice.
            #expect(delegate.finished == count)
            #expect(presenter.lines.count == count)
        }
    }

    @Test func `loading alone shows nothing, and presenting alone waits for a page`() async throws {
        let page = controller(presenter)
        #expect(try await page.loadProduct(withParameters: ["id": 11]))
        let other = controller(presenter)
        await other.present()
        #expect(try await other.loadProduct(withParameters: ["id": 1]))
        await delegate.wait()
        // Of two pages that were loaded, the one that was presented.
        #expect(presenter.lines == ["1 com.example.monkeys - false"])
    }

    @Test func `the page that was loaded last is shown, once for each presentation`() async throws {
        let page = controller(presenter)
        #expect(try await page.loadProduct(withParameters: ["id": 11]))
        #expect(try await page.loadProduct(withParameters: ["id": 1]))
        await page.present()
        await delegate.wait()
        #expect(presenter.lines == ["1 com.example.monkeys - false"])
        // Presented again, it is loaded again.
        await page.present()
        await delegate.wait()
        #expect(presenter.lines.count == 2 && delegate.finished == 2)
        #expect(device.store.asked.filter { $0 == "products" }.count == 3)
        // A page that is presented already is not presented once more.
        let other = controller(presenter)
        for _ in 0..<3 { await other.present() }
        for count in 3...4 {
            #expect(try await other.loadProduct(withParameters: ["id": 11]))
            if count == 4 { await other.present() }
            await delegate.wait()
            #expect(presenter.lines.count == count && delegate.finished == count)
        }
    }

    @Test(arguments: [StoreProductPageAnswer.done, .buy])
    func `the delegate is called once, on cancel and after a purchase`(_ answer: StoreProductPageAnswer) async {
        device.store.change { $0.visits[40] = .song }
        let page = controller(RecordedPresenter(answer))
        for count in 1...2 {
            await show(page, .after, 40)
            await delegate.wait()
            #expect(delegate.finished == count)
            #expect(device.store.change { $0.itemsBought.count } == (answer == .buy ? count : 0))
        }
    }

    @Test(arguments: [Moment.before, .after])
    func `an unknown number is code 5, asks nobody to sign in, and ends a presented page`(_ moment: Moment) async {
        let prompts = SheetCounter()
        let page = controller(presenter, sheet: prompts)
        if moment == .before { await page.present() }
        let error = await withCheckedContinuation { continuation in
            page.loadProduct(withParameters: ["id": 404_000_000_000]) { isLoaded, error in
                continuation.resume(returning: isLoaded ? nil : error as? SKError)
            }
        }
        #expect(error?.code == .storeProductNotAvailable)
        #expect(error?.localizedDescription == "Cannot connect to iTunes Store")
        if moment == .after { await page.present() }
        await delegate.wait()
        #expect(presenter.lines == ["Cannot connect to iTunes Store"])
        #expect(prompts.count == 0 && delegate.finished == 1)
    }

    @Test func `a customer who does not sign in cancels the page of a song`() async {
        device.store.change { $0.visits[40] = .song }
        let prompts = SheetCounter()
        let page = controller(presenter, sheet: prompts)
        await #expect(throws: SKError(.paymentCancelled)) {
            do { _ = try await page.loadProduct(withParameters: ["id": 40]) } catch let error as SKError {
                throw SKError(error.code)
            }
        }
        #expect(prompts.count == 1 && presenter.lines.isEmpty)
    }

    @Test func `an app's page asks for a sign-in once, and has its name without one`() async throws {
        device.store.change { $0.visits[1] = .song }
        let prompts = SheetCounter()
        let page = controller(presenter, sheet: prompts)
        // The app's own product is bought through its queue, which asks.
        #expect(
            try await page.loadProduct(withParameters: ["id": 1, "productIdentifier": "com.example.monkeys.credits5"]))
        #expect(prompts.count == 0)
        await show(page, .after, 1)
        await delegate.wait()
        #expect(prompts.count == 1 && presenter.lines == ["1 com.example.monkeys - false"])
    }

    /// Counts sign-ins, and cancels each.
    private final class SheetCounter: PaymentSheet {
        private let prompts = Mutex(0)
        var count: Int { prompts.withLock { $0 } }
        func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? {
            prompts.withLock { $0 += 1 }
            return nil
        }
        func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer { .cancel }
        func tell(_ notice: PaymentSheetNotice) async {}
    }

    // MARK: A page in a browser

    @Test func `a page in a browser outlives a lost connection`() async throws {
        device.store.change {
            $0.visits[40] = .song
            $0.visitStates = [.open, .bought]
        }
        for _ in 0..<3 { device.store.failNext("visit", .lostRequest) }
        let timer = ManualTimer()
        let page = controller(WebStorePresenter { _ in }, timer: timer)
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        for count in 1...3 {
            // While it waits to ask again. After the third time nothing keeps the page.
            try await until { timer.delays.count == count }
            #expect(delegate.finished == 0)
            await timer.fire()
        }
        await delegate.wait()
        #expect(timer.delays == [1, 2, 4])
        #expect(device.store.asked.filter { $0 == "visit" }.count == 5)
    }

    @Test func `a page that no longer answers ends when it has expired`() async {
        let start = ContinuousClock.now
        let seconds = Mutex(0)
        let asked = Mutex(0)
        let watch = VisitWatch(timer: ImmediateTimer(), backoff: Backoff(jitter: { 1 })) {
            start + .seconds(seconds.withLock { $0 })
        }
        await watch.waitForEnd { () async throws(StoreFailure) in
            asked.withLock { $0 += 1 }
            seconds.withLock { $0 += 600 }
            throw .unreachable
        }
        #expect(asked.withLock { $0 } == 3)
        // A refusal is final: the store has forgotten the page.
        await watch.waitForEnd { () async throws(StoreFailure) in
            asked.withLock { $0 += 1 }
            throw .refused(WireError(code: .notFound, message: ""))
        }
        #expect(asked.withLock { $0 } == 4)
    }

    @Test(arguments: ["approve", "decline"]) func `scripts buy on every page, or on none`(_ sheet: String) async throws
    {
        device.store.change { $0.visits[40] = .song }
        let automatic = StoreKitConfiguration(environment: ["CORNERSTORE_SHEET": sheet], executable: nil) { _ in }
        let page = controller(automatic.presenter)
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        await delegate.wait()
        #expect(device.store.change { $0.itemsBought } == (sheet == "approve" ? [40] : []))
    }

    // MARK: Parameters

    @Test(
        arguments: [
            (Number(Int8(11)), 11), (Number(UInt16(11)), 11), (Number(Int32(11)), 11),
            (Number(UInt64(1_400_000_001)), 1_400_000_001), (Number(Int64.max), Int64.max),
            (Number(NSNumber(value: 6_000_000_000)), 6_000_000_000), (Number("1400000001"), 1_400_000_001),
            (Number(UInt64.max), nil), (Number("9999999999999999999"), nil), (Number(""), nil), (Number("1.0"), nil),
            (Number(NSNull()), nil), (Number(0), nil),
        ] as [(Number, Int64?)])
    fileprivate func `the number is any integer, NSNumber or text`(_ number: Number, _ expected: Int64?) {
        #expect(StoreProductParameters(["id": number.value])?.itemIdentifier == expected)
    }

    /// A value in a dictionary of parameters.
    struct Number: @unchecked Sendable, CustomTestStringConvertible {
        // @unchecked: a constant of values.
        let value: Any
        init(_ value: Any) { self.value = value }
        var testDescription: String { "\(type(of: value)) \(value)" }
    }

    @Test func `the keys are the ones that apps write as text`() {
        #expect(
            [
                SKStoreProductParameterITunesItemIdentifier, SKStoreProductParameterAffiliateToken,
                SKStoreProductParameterCampaignToken, SKStoreProductParameterProviderToken,
                SKStoreProductParameterAdvertisingPartnerToken,
            ] == ["id", "at", "ct", "pt", "advp"])
    }

    @Test func `a promoted purchase is shown first on the page of its app`() async throws {
        var visit = VisitDescription.song
        (visit.name, visit.creator) = ("Monkeys", "Example Games")
        device.store.change { $0.visits[1] = visit }
        let engine = device.launch()
        guard case .signedIn? = await engine.session?.signIn(as: nil, email: nil) else {
            Issue.record("nobody is signed in")
            return
        }
        let parameters = try #require(
            StoreProductParameters(["id": 1, "productIdentifier": "com.example.monkeys.credits10"]))
        let page = try await engine.page(parameters).get()
        #expect(page.isForSale && page.isOfThisApp && page.item?.name == "Monkeys")
        #expect(
            TerminalStorePresenter.text(of: page)
                == "\n  Credits  $0.99\n  For monkeys\n  from Monkeys\n  More at http://store.test/visit/0a\n")
        // The queue buys the app's own product, so no page in a browser takes its place.
        let opened = Mutex(false)
        _ = await WebStorePresenter { _ in opened.withLock { $0 = true } }.show(page) {}
        #expect(opened.withLock { $0 } == false)
    }
}
