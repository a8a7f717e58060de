import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// Which intents are links to a product of an app, and what restricts a device.
@Suite("The customer's device", .timeLimit(.minutes(1)))
struct CustomerTests {
    @Test func `a link names an app and a product, once each`() throws {
        func intent(_ text: String) throws -> PurchaseIntent? { PurchaseIntent(try #require(URL(string: text))) }
        let good = "itms-services://?action=purchaseIntent&bundleId=com.example.a&productIdentifier=com.example.a.coins"
        let read = try #require(try intent(good))
        #expect(read.bundleID == "com.example.a" && read.productID == "com.example.a.coins")
        #expect(
            try intent("ITMS-services://?productIdentifier=p%20q&bundleId=a&action=purchaseIntent")?.productID == "p q")
        for bad in [
            "https://?action=purchaseIntent&bundleId=a&productIdentifier=b",
            "itms-services://?action=download-manifest&bundleId=a&productIdentifier=b",
            "itms-services://?action=purchaseIntent&bundleId=a",
            "itms-services://?action=purchaseIntent&bundleId=a&productIdentifier=",
            good + "&bundleId=com.example.b",
            "itms-services://?action=purchaseIntent&bundleId=a&productIdentifier=" + String(repeating: "p", count: 256),
            "itms-services:",
        ] { #expect(try intent(bad) == nil, "\(bad)") }
    }

    @Test func `a restricted device reads prices and cannot buy`() async throws {
        let device = try TestDevice()
        let engine = device.launch()
        let queue = SKPaymentQueue(engine: engine)
        #expect(engine.canMakePayments)
        try DeviceRestrictions(allowsPayments: false).write(deviceFolder: device.folder)
        #expect(!engine.canMakePayments)
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 2)
        #expect(observer.history.last == "updated failed - credits5")
        let error = try #require(queue.transactions.first?.error as? SKError)
        #expect(error.code == .paymentNotAllowed)
        #expect(error.localizedDescription == "Purchases are not allowed on this device.")
        #expect(!device.store.asked.contains("purchases"))
        #expect(try await engine.products(["com.example.monkeys.credits5"]).get().products.count == 1)
        // It is the owner's to allow again, while the app runs.
        try DeviceRestrictions(allowsPayments: true).write(deviceFolder: device.folder)
        #expect(engine.canMakePayments)
        queue.add(payment())
        await observer.wait(count: 4)
        #expect(observer.history.last?.hasPrefix("updated purchased") == true)
        // A file that cannot be read restricts: who wrote it meant something.
        try Data("no".utf8).write(to: device.folder.appendingPathComponent("restrictions.json"))
        #expect(!engine.canMakePayments)
        await engine.stop()
    }

    @Test func `notifications and observers get a changed storefront on the callback queue`() async throws {
        let device = try TestDevice()
        let isCallbackQueue = DispatchSpecificKey<Bool>()
        let configuration = device.configuration()
        configuration.callbackQueue.setSpecific(key: isCallbackQueue, value: true)
        let engine = device.launch(configuration)
        let queue = SKPaymentQueue(engine: engine)
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 2)
        let session = try #require(engine.session)
        var account = try #require(session.tokens.current).account
        account.storefront = StorefrontDescription(countryCode: "DEU", identifier: "143443")
        // The tests of other devices may post too, on queues of their own.
        let heard = LockedList<NSNotification.Name>()
        let names: [NSNotification.Name] = [.SKStorefrontIdentifierDidChange, .SKStorefrontCountryCodeDidChange]
        let tokens = names.map { name in
            NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
                if DispatchQueue.getSpecific(key: isCallbackQueue) == true { heard.append(name) }
            }
        }
        defer { tokens.forEach(NotificationCenter.default.removeObserver) }
        let earlier = session.beginReport()
        session.learn(account, report: session.beginReport())
        await withCheckedContinuation { done in configuration.callbackQueue.async { done.resume() } }
        #expect(heard.all == names)
        // The response to a request that was sent before arrives late, and describes the account as it was.
        account.storefront = StorefrontDescription(countryCode: "USA", identifier: "143441")
        session.learn(account, report: earlier)
        #expect(session.storefront?.countryCode == "DEU")
        #expect(session.tokens.current?.account.storefront.countryCode == "DEU")
        await engine.stop()
    }

    @Test func `three wrong passwords end with Apple's text, in the app's language`() async throws {
        let device = try TestDevice()
        let asked = LockedList<SignInPrompt>()
        let told = LockedList<String>()
        var sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy },
            signIn: { prompt in
                asked.append(prompt)
                return StoreCredentials(email: "monkey@example.com", password: "wrong")
            })
        sheet.onTell = { told.append($0.text) }
        var configuration = device.configuration(sheet: sheet)
        configuration.languages = ["pt_BR", "en"]
        let engine = device.launch(configuration)
        let queue = SKPaymentQueue(engine: engine)
        let observer = ObserverRecorder()
        queue.add(observer)
        queue.add(payment())
        await observer.wait(count: 2)
        #expect(asked.all.map(\.passwordWasWrong) == [false, true, true])
        let error = try #require(queue.transactions.first?.error as? SKError)
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(error.code == .unknown && error.localizedDescription == "Esqueceu sua senha?")
        #expect(underlying?.domain == "SSServerErrorDomain" && underlying?.code == 5020)
        #expect(told.all == ["Esqueceu sua senha?"])
        await engine.stop()
        // The journal keeps what it was, and not in which language it was said.
        let again = device.launch()
        let front = SKPaymentQueue(engine: again)
        let later = ObserverRecorder()
        front.add(later)
        await later.wait(count: 1)
        #expect(front.transactions.first?.error?.localizedDescription == "Forget Your Password?")
        await again.stop()
    }

    @Test
    func `the sheet shows a declined card before the transaction fails`() async throws {
        let device = try TestDevice()
        device.store.change { $0.declines = true }
        let events = LockedList<String>()
        var sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy },
            signIn: { _ in StoreCredentials(email: "monkey@example.com", password: "bananas") })
        sheet.onTell = { events.append($0.text) }
        let engine = device.launch(device.configuration(sheet: sheet))
        let queue = SKPaymentQueue(engine: engine)
        let observer = ObserverRecorder { _, transaction in events.append("\(transaction.transactionState)") }
        queue.add(observer)
        queue.add(payment())
        // The recorder tells of a callback before it hands it on.
        await observer.wait(count: 2)
        try await until { events.all.count >= 3 }
        // The sheet does not wait until the app has heard of `purchasing`.
        #expect(events.all.filter { $0 != "purchasing" } == ["Your card was declined.", "failed"])
        #expect(events.all.firstIndex(of: "purchasing").map { $0 < 2 } == true)
        await engine.stop()
    }

    @Test(arguments: [nil, WireError(code: .notFound, message: "Not at this store.")] as [WireError?])
    func `a failed sign-in before a code is told`(_ refusal: WireError?) async throws {
        let device = try TestDevice()
        let told = LockedList<String>()
        var sheet = ProgrammedPaymentSheet(
            confirm: { _ in .buy },
            signIn: { _ in StoreCredentials(email: "monkey@example.com", password: "bananas") })
        sheet.onTell = { told.append($0.text) }
        device.store.failNext("signIn", refusal.map { FakeStore.Fault.refusal(404, $0) } ?? .lostRequest)
        let engine = device.launch(device.configuration(sheet: sheet))
        let queue = SKPaymentQueue(engine: engine)
        queue.presentCodeRedemptionSheet()
        try await until { !told.all.isEmpty }
        #expect(told.all == [refusal?.message ?? PaymentFailure.unreachable.text])
        await engine.stop()
    }

    @Test func `the terminal shows a free price, and prints no control characters`() {
        var request = PaymentSheetRequest(
            productIdentifier: "hats", productName: "Hats\u{1B}[2J", unitPrice: 2.99, quantity: 1,
            priceLocale: Locale(identifier: "en_US@currency=USD"), account: "a@example.com", isAlreadyOwned: true)
        let text = TerminalPaymentSheet.text(of: request)
        #expect(text.contains("again for free") && !text.contains("2.99") && !text.contains("\u{1B}"))
        #expect(request.total == 0)
        request.isAlreadyOwned = false
        #expect(TerminalPaymentSheet.text(of: request).contains("[b]uy"))
    }

    @Test func `cursors go forward only, and survive`() throws {
        let device = try TestDevice()
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
        let file = device.folder.appendingPathComponent("sandbox.notices")
        let cursors = NoticeCursors(file: file)
        #expect(cursors.cursor(of: "a") == nil)
        try cursors.keep(3, of: "a")
        try cursors.keep(2, of: "a")
        try cursors.keep(0, of: "b")
        let read = NoticeCursors(file: file)
        #expect(read.cursor(of: "a") == 3 && read.cursor(of: "b") == 0)
        try Data("[".utf8).write(to: file)
        #expect(NoticeCursors(file: file).cursor(of: "a") == nil)
    }
}
