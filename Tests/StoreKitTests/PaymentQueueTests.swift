import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("The payment queue over a store", .timeLimit(.minutes(1)))
struct PaymentQueueTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private static let first = "2000000000000001"

    @Test func `a purchase is delivered step by step, and leaves nothing behind`() async throws {
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment(quantity: 3))
        await observer.wait(count: 3)
        #expect(
            observer.history == [
                "updated purchasing - credits5", "updated purchased \(Self.first) credits5",
                "removed purchased \(Self.first) credits5",
            ])
        #expect(queue.transactions.isEmpty)
        #expect(device.store.finished.map(\.description) == [Self.first])
        let purchase = try #require(device.store.purchases.values.first)
        #expect(purchase.request.quantity == 3)
        #expect(purchase.request.agreedPrice == FakeStore.price)
        await engine.stop()
        let journal = try SQLitePaymentJournal(
            folder: device.folder.appendingPathComponent("apps/com.example.monkeys"), name: "sandbox.journal"
        ) { _ in }
        #expect(try journal.load().isEmpty)
    }

    @Test func `a purchased transaction carries its id, date, receipts and payment`() async throws {
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = ObserverRecorder()
        queue.add(observer)
        let added = payment(quantity: 2)
        added.applicationUsername = "monkey 7"
        queue.add(added)
        added.quantity = 9
        await observer.wait(count: 2)
        let transaction = try #require(queue.transactions.first)
        #expect(queue.transactions.count == 1)
        #expect(transaction.transactionState == .purchased)
        #expect(transaction.transactionIdentifier == Self.first)
        #expect(transaction.transactionDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(transaction.transactionReceipt == Data("receipt of \(Self.first)".utf8))
        #expect(transaction.payment.quantity == 2)
        #expect(transaction.payment.applicationUsername == "monkey 7")
        #expect(transaction.error == nil)
        #expect(transaction.original == nil)
        let receipt = try #require(engine.receiptURL)
        #expect(receipt.lastPathComponent == "sandboxReceipt")
        #expect(try Data(contentsOf: receipt) == Data("receipt [\(Self.first)]".utf8))
        #expect(queue.storefront?.countryCode == "USA")
    }

    @Test func `the receipt is on the disk before the purchase is journaled or delivered`() async throws {
        let receipt = DeviceFolder.receiptURL(
            device: device.folder, bundleID: BundleID(TestDevice.bundleID), environment: .sandbox)
        let seen = LockedList<Bool>()
        let engine = device.launch(mayPerform: { action in
            if case .save(let entries, _) = action, entries.contains(where: { $0.phase == .purchased }) {
                seen.append(FileManager.default.fileExists(atPath: receipt.path))
            }
            return true
        })
        let observer = ObserverRecorder()
        let queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 2)
        #expect(seen.all == [true])
    }

    @Test func `an unfinished transaction is delivered at each launch until it is finished`() async throws {
        for launch in 1...3 {
            let engine = device.launch()
            let queue = SKPaymentQueue(engine: engine)
            let observer = ObserverRecorder()
            queue.add(observer)
            if launch == 1 { queue.add(payment()) }
            await observer.wait { $0.last == "updated purchased \(Self.first) credits5" }
            if launch > 1 { #expect(observer.history.count == 1) }
            await engine.stop()
        }
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        await observer.wait(count: 2)
        #expect(
            observer.history == [
                "updated purchased \(Self.first) credits5", "removed purchased \(Self.first) credits5",
            ])
        #expect(device.store.purchases.count == 1)
    }

    @Test func `each observer gets unfinished transactions once, and all later ones`() async throws {
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        let early = ObserverRecorder()
        queue.add(early)
        queue.add(early)
        queue.add(payment())
        await early.wait(count: 2)
        let late = ObserverRecorder()
        queue.add(late)
        await late.wait(count: 1)
        #expect(late.history == ["updated purchased \(Self.first) credits5"])
        queue.finishTransaction(try #require(queue.transactions.first))
        await late.wait(count: 2)
        await early.wait(count: 3)
        #expect(late.history.last == "removed purchased \(Self.first) credits5")
        #expect(early.history.count == 3)
        queue.remove(early)
        #expect(queue.transactionObservers.count == 1)
        queue.add(payment())
        await late.wait(count: 4)
        #expect(early.history.count == 3)
    }

    @Test func `observers are not retained`() async throws {
        let queue = SKPaymentQueue(engine: device.launch())
        var observer: ObserverRecorder? = ObserverRecorder()
        weak let weakly = observer
        queue.add(try #require(observer))
        observer = nil
        #expect(queue.transactionObservers.isEmpty || weakly != nil)
    }

    @Test func `a cancelled sheet fails with paymentCancelled and asks the store for no purchase`() async throws {
        let sheet = AutomaticPaymentSheet(
            answer: .cancel, credentials: StoreCredentials(email: "monkey@example.com", password: "bananas"))
        let error = try await failure(of: payment(), device.configuration(sheet: sheet))
        #expect(error.code == .paymentCancelled)
        #expect(device.store.purchases.isEmpty)
    }

    @Test func `the sheet shows name, unit price, quantity, total and account`() async throws {
        let shown = LockedList<PaymentSheetRequest>()
        let sheet = ProgrammedPaymentSheet(
            confirm: { request in
                shown.append(request)
                return .cancel
            },
            signIn: { _ in StoreCredentials(email: "monkey@example.com", password: "bananas") })
        _ = try await failure(of: payment(quantity: 7), device.configuration(sheet: sheet))
        let request = try #require(shown.all.first)
        #expect(request.productName == "Credits")
        #expect(request.unitPrice == Decimal(string: "0.99"))
        #expect(request.quantity == 7)
        #expect(request.total == Decimal(string: "6.93"))
        #expect(request.formattedTotal == "$6.93")
        #expect(request.account == "monkey@example.com")
        #expect(TerminalPaymentSheet.text(of: request).contains("7 × $0.99 = $6.93"))
    }

    @Test func `a wrong password is asked again, at most three times in all`() async throws {
        let prompts = LockedList<SignInPrompt>()
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy },
            signIn: { prompt in
                prompts.append(prompt)
                return StoreCredentials(email: "monkey@example.com", password: "apples")
            })
        let error = try await failure(of: payment(), device.configuration(sheet: sheet))
        #expect(error.code == .unknown)
        #expect(prompts.all.map(\.passwordWasWrong) == [false, true, true])
        #expect(prompts.all.map(\.enteredEmail) == [nil, "monkey@example.com", "monkey@example.com"])
    }

    @Test func `bad payments fail with Apple's codes, without the sheet`() async throws {
        let data = payment()
        data.requestData = Data([1])
        let name = payment()
        name.applicationUsername = String(repeating: "x", count: 513)
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in
                Issue.record("the sheet was shown")
                return .cancel
            },
            signIn: { _ in StoreCredentials(email: "monkey@example.com", password: "bananas") })
        let configuration = device.configuration(sheet: sheet)
        #expect(try await failure(of: payment(quantity: 11), configuration).code == .paymentInvalid)
        #expect(try await failure(of: data, configuration).code == .unauthorizedRequestData)
        #expect(try await failure(of: name, configuration).code == .paymentInvalid)
        #expect(try await failure(of: payment("bananas"), configuration).code == .storeProductNotAvailable)
    }

    @Test func `a declined payment fails with the store's text`() async throws {
        device.store.change { $0.declines = true }
        let error = try await failure(of: payment(), device.configuration())
        #expect(error.code == .unknown)
        #expect(error.localizedDescription == "Your card was declined.")
    }

    @Test func `a restricted device cannot buy`() async throws {
        var configuration = device.configuration()
        configuration.allowsPayments = false
        #expect(!device.launch(configuration).canMakePayments)
        #expect(try await failure(of: payment(), configuration).code == .paymentNotAllowed)
        #expect(device.store.asked == [])
    }

    /// Buys, and gives the error with which it failed and left the queue.
    private func failure(of payment: SKPayment, _ configuration: StoreKitConfiguration) async throws -> SKError {
        let engine = device.launch(configuration)
        let queue = SKPaymentQueue(engine: engine)
        let errors = LockedList<SKError>()
        let observer = ObserverRecorder { queue, transaction in
            guard transaction.transactionState == .failed else { return }
            if let error = transaction.error as? SKError { errors.append(error) }
            queue.finishTransaction(transaction)
        }
        queue.add(observer)
        queue.add(payment)
        await observer.wait { $0.last?.hasPrefix("removed") == true }
        #expect(observer.history.count == 3)
        await engine.stop()
        return try #require(errors.all.first)
    }

    @Test func `a payment is kept over a relaunch while the store is unavailable, and then sent`() async throws {
        device.store.change { $0.isDown = true }
        let timer = ManualTimer()
        var engine = device.launch(timer: timer)
        var queue = SKPaymentQueue(engine: engine)
        var observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        for _ in 1...3 { await timer.fire() }
        await observer.wait(count: 1)
        #expect(observer.history == ["updated purchasing - credits5"])
        await engine.stop()

        let second = ManualTimer()
        engine = device.launch(timer: second)
        queue = SKPaymentQueue(engine: engine)
        observer = GrantBook().observer()
        queue.add(observer)
        await second.fire()
        device.store.change { $0.isDown = false }
        let timers = Task { [observer] in
            while !Task.isCancelled, observer.history.count < 3 { await second.fire() }
        }
        await observer.wait(count: 3)
        timers.cancel()
        #expect(
            observer.history == [
                "updated purchasing - credits5", "updated purchased \(Self.first) credits5",
                "removed purchased \(Self.first) credits5",
            ])
        #expect(device.store.purchases.count == 1)
    }

    @Test(arguments: [
        FakeStore.Fault.lostRequest, .lostAnswer, .garbage(502), .garbage(404), .garbage(200),
        .refusal(503, WireError(code: .unavailable, message: "later")),
        .refusal(500, WireError(code: .internalError, message: "broken")),
        .refusal(502, WireError(code: "proxy", message: "")),
    ])
    func `a temporary fault of any route ends in one purchase`(fault: FakeStore.Fault) async throws {
        let routes = ["signIn", "products", "purchases", "transactionReceipt", "appReceipt", "finish", "unfinished"]
        for route in routes where route != "unfinished" || fault != .garbage(200) {
            if fault == .garbage(200), ["transactionReceipt", "appReceipt", "finish"].contains(route) { continue }
            let device = try TestDevice()
            device.store.failNext(route, fault)
            let engine = device.launch(timer: ImmediateTimer())
            let queue = SKPaymentQueue(engine: engine)
            let observer = GrantBook().observer()
            queue.add(observer)
            queue.add(payment())
            await observer.wait { $0.last?.hasPrefix("removed") == true }
            #expect(observer.history.count == 3, "\(route)")
            #expect(device.store.purchases.count == 1, "\(route)")
            #expect(device.store.finished.count == 1, "\(route)")
            await engine.stop()
        }
    }

    @Test func `a deferred payment is approved later, even in another launch, or declined`() async throws {
        let timer = ManualTimer()
        var engine = device.launch(timer: timer)
        var queue = SKPaymentQueue(engine: engine)
        var observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment(askToBuy: true))
        queue.add(payment("credits10", askToBuy: true))
        await observer.wait { $0.filter { $0.contains("deferred") }.count == 2 }
        // Finishing what is deferred changes nothing.
        for transaction in queue.transactions { queue.finishTransaction(transaction) }
        device.store.decide(TestDevice.key(1), approve: false)
        // The app is told of each before the queue waits to ask about it again.
        try await until { timer.delays.count == 2 }
        await timer.fire()
        await observer.wait { $0.last == "removed failed - credits5" }
        await engine.stop()

        device.store.decide(TestDevice.key(2), approve: true)
        engine = device.launch()
        queue = SKPaymentQueue(engine: engine)
        observer = GrantBook().observer()
        queue.add(observer)
        await observer.wait { $0.last?.hasPrefix("removed") == true }
        #expect(
            observer.history == [
                "updated deferred - credits10", "updated purchased \(Self.first) credits10",
                "removed purchased \(Self.first) credits10",
            ])
    }

    @Test func `the store's unfinished transactions are delivered page by page with the journal's`() async throws {
        var engine = device.launch()
        var queue = SKPaymentQueue(engine: engine)
        var observer = ObserverRecorder()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 2)
        await engine.stop()
        let others = (0..<5).map { _ in device.store.sell("com.example.monkeys.credits10", to: "account-1") }
        _ = device.store.sell("com.example.monkeys.credits10", to: "account-2")

        engine = device.launch()
        queue = SKPaymentQueue(engine: engine)
        observer = GrantBook().observer()
        queue.add(observer)
        await observer.wait { $0.joined().components(separatedBy: "removed").count == 7 }
        let text = observer.history.joined(separator: "\n")
        for id in others { #expect(text.components(separatedBy: "updated purchased \(id)").count == 2) }
        #expect(device.store.finished.count == 6)
        #expect(device.store.unfinishedCount == 1)
    }

    @Test func `an expired token is replaced by signing in with the same account`() async throws {
        let engine = device.launch(timer: ImmediateTimer())
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 3)
        device.store.change { $0.tokens = [:] }
        queue.add(payment())
        await observer.wait(count: 6)
        #expect(device.store.purchases.values.map(\.account) == ["account-1", "account-1"])
    }

    @Test func `signing in continues all that waited for the account`() async throws {
        // A deferred payment and two purchases that are not finished, of somebody whose sign-in has run out since.
        var engine = device.launch(timer: ManualTimer())
        var queue = SKPaymentQueue(engine: engine)
        var observer = ObserverRecorder()
        queue.add(observer)
        queue.add(payment(askToBuy: true))
        await observer.wait { $0.last?.contains("deferred") == true }
        let deferred = device.store.purchases.keys.first
        queue.add(payment("credits10"))
        await observer.wait { $0.last?.hasPrefix("updated purchased") == true }
        await engine.stop()
        let elsewhere = device.store.sell("com.example.monkeys.credits5", to: "account-1").description
        device.store.change { $0.tokens = [:] }
        device.store.decide(try #require(deferred), approve: true)

        // The customer declines to sign in at first, as when the app only looks at its queue.
        let asked = Mutex(0)
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy },
            signIn: { _ in
                let number = asked.withLock { count in
                    count += 1
                    return count
                }
                return number == 1 ? nil : StoreCredentials(email: "monkey@example.com", password: "bananas")
            })
        engine = device.launch(device.configuration(sheet: sheet), timer: ManualTimer())
        queue = SKPaymentQueue(engine: engine)
        observer = GrantBook().observer()
        queue.add(observer)
        await engine.payments.quiet()
        #expect(!observer.history.contains { $0.contains(elsewhere) })
        queue.add(payment())
        // The app finishes what failed at once, so this need not be the last line when it is looked for.
        await observer.wait { $0.contains("updated failed - credits5") }
        queue.add(payment("credits10"))
        await observer.wait { history in history.contains { $0.contains("updated purchased \(elsewhere)") } }
        try await until { device.store.unfinishedCount == 0 }
        try await until { engine.payments.isEmpty }
        #expect(device.store.finished.count == 4)
        await engine.stop()
    }

    /// Another request may notice first that the account's token is no longer good.
    @Test(arguments: [false, true])
    func `a purchase whose account changed at the store is not made under the new one`(
        isNoticedElsewhere: Bool
    ) async throws {
        device.store.failNext("purchases", .lostRequest)
        let timer = ManualTimer()
        let engine = device.launch(timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let errors = LockedList<SKError>()
        let observer = ObserverRecorder { _, transaction in
            if let error = transaction.error as? SKError { errors.append(error) }
        }
        queue.add(observer)
        queue.add(payment())
        try await until { device.store.asked.contains("purchases") }
        device.store.change {
            $0.tokens = [:]
            $0.accounts["monkey@example.com"] = "account-9"
        }
        if isNoticedElsewhere {
            _ = try await engine.session?.products(["com.example.monkeys.credits5"])
        }
        await timer.fire()
        await observer.wait { $0.last == "updated failed - credits5" }
        // The line is written down before the error is.
        try await until { !errors.all.isEmpty }
        #expect(errors.all.first?.localizedDescription == PaymentFailure.otherAccount.text)
        #expect(device.store.purchases.isEmpty)
    }

    @Test func `signing in with another account does not pay for the first account's purchase`() async throws {
        let others = LockedList<SignInPrompt>()
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy },
            signIn: { prompt in
                others.append(prompt)
                return others.all.count == 1
                    ? StoreCredentials(email: "monkey@example.com", password: "bananas")
                    : StoreCredentials(email: "ape@example.com", password: "figs")
            })
        device.store.change {
            $0.accounts["ape@example.com"] = "account-2"
            $0.passwords["ape@example.com"] = "figs"
        }
        device.store.failNext("purchases", .lostRequest)
        let timer = ManualTimer()
        var engine = device.launch(device.configuration(sheet: sheet), timer: timer)
        var queue = SKPaymentQueue(engine: engine)
        queue.add(payment())
        try await until { device.store.asked.contains("purchases") }
        device.store.change { $0.tokens = [:] }
        await timer.fire()
        try await until { others.all.count >= 2 }
        await engine.stop()
        #expect(others.all.map(\.email) == [nil, "monkey@example.com"])
        #expect(device.store.purchases.isEmpty)

        // The payment was kept, and is made once its own account is back.
        engine = device.launch(timer: ImmediateTimer())
        queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        await observer.wait { $0.last?.hasPrefix("removed purchased") == true }
        #expect(device.store.purchases.values.map(\.account) == ["account-1"])
    }

    @Test func `without a configuration every request fails and nothing traps`() async throws {
        let empty = StoreKitConfiguration(
            store: nil, bundleIdentifier: nil, deviceFolder: device.folder,
            sheet: AutomaticPaymentSheet(answer: .buy, credentials: nil))
        var configuration = empty
        configuration.callbackQueue = DispatchQueue(label: "callbacks")
        let error = try await failure(of: payment(), configuration)
        #expect(error.code == .unknown)
        #expect(error.localizedDescription == "Cannot connect to iTunes Store")
        let engine = device.launch(configuration)
        #expect(engine.receiptURL == nil)
        guard case .failure(let products) = await engine.products(["a"]) else {
            Issue.record("products came from nowhere")
            return
        }
        #expect(products.localizedDescription == "Cannot connect to iTunes Store")
        #expect(!FileManager.default.fileExists(atPath: device.folder.path))
    }

    @Test func `a second process of the same app is refused with a clear text, and the first continues`() async throws {
        let first = device.launch()
        let error = try await failure(of: payment(), device.configuration())
        #expect(error.localizedDescription.contains("another process"))
        let queue = SKPaymentQueue(engine: first)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 3)
        #expect(device.store.purchases.count == 1)
    }
}

/// A list that callbacks append to.
final class LockedList<Element: Sendable>: @unchecked Sendable {
    // @unchecked: `elements` is only touched under `lock`.
    private let lock = NSLock()
    private var elements: [Element] = []

    /// Appends, and returns the number of elements.
    @discardableResult
    func append(_ element: Element) -> Int {
        lock.withLock {
            elements.append(element)
            return elements.count
        }
    }
    var all: [Element] { lock.withLock { elements } }
}
