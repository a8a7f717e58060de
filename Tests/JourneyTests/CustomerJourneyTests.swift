import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// An app that notes all it is told and asked, and answers as the test says.
// @unchecked: the answers are a Mutex, and all else is constant.
private final class CustomerApp: NSObject, SKPaymentTransactionObserver, SKPaymentQueueDelegate, @unchecked Sendable {
    struct Answers {
        /// Whether it finishes what it is told of.
        var finishes = true
        var continues = true
        var addsStorePayment = true
        var showsPriceConsent = true
        /// Whether it shows the consent itself while it is asked.
        var showsPriceConsentAtOnce = false
        /// Called with the products when entitlements are gone.
        var onRevocation: @Sendable ([String]) -> Void = { _ in }
    }

    let engine: StoreKitEngine
    let queue: SKPaymentQueue
    let answers: Mutex<Answers>
    private let told: AsyncStream<String>
    private let tell: AsyncStream<String>.Continuation

    init(_ engine: StoreKitEngine, _ answers: Answers = Answers()) {
        self.engine = engine
        self.answers = Mutex(answers)
        queue = SKPaymentQueue(engine: engine)
        (told, tell) = AsyncStream.makeStream()
        super.init()
        queue.delegate = self
        queue.add(self)
    }

    /// What comes next; the suite's time limit ends the waiting.
    func next() async -> String? {
        var iterator = told.makeAsyncIterator()
        return await iterator.next()
    }

    func next(_ count: Int) async -> [String] {
        var all: [String] = []
        while all.count < count, let one = await next() { all.append(one) }
        return all
    }

    func stop() async { await engine.stop() }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            let code = (transaction.error as? SKError).map { " \($0.code)" } ?? ""
            tell.yield("\(transaction.transactionState) \(transaction.payment.productIdentifier)\(code)")
            switch transaction.transactionState {
            case .purchased, .failed, .restored:
                if answers.withLock({ $0.finishes }) { queue.finishTransaction(transaction) }
            case .purchasing, .deferred: break
            }
        }
    }

    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {
        tell.yield("storefront \(queue.storefront?.countryCode ?? "none")")
    }

    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        let adds = answers.withLock { $0.addsStorePayment }
        tell.yield("should add \(payment.productIdentifier) at \(product.price): \(adds)")
        return adds
    }

    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        answers.withLock { $0.onRevocation }(productIdentifiers)
        tell.yield("revoked \(productIdentifiers.sorted().joined(separator: " "))")
    }

    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool {
        tell.yield("continue in \(newStorefront.countryCode)?")
        return answers.withLock { $0.continues }
    }

    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool {
        tell.yield("show price consent?")
        let answers = answers.withLock { $0 }
        if answers.showsPriceConsentAtOnce { paymentQueue.showPriceConsentIfNeeded() }
        return answers.showsPriceConsent
    }
}

extension JourneyDevice {
    /// A sheet that signs in and answers as the test says.
    fileprivate func sheet(
        _ confirm: @escaping @Sendable (PaymentSheetRequest) async -> PaymentSheetAnswer = { _ in .buy }
    ) -> ProgrammedPaymentSheet {
        let credentials = StoreCredentials(email: email, password: Self.password)
        return ProgrammedPaymentSheet(confirm: confirm, signIn: { $0.passwordWasWrong ? nil : credentials })
    }

    fileprivate func launch(sheet: ProgrammedPaymentSheet) -> StoreKitEngine {
        var configuration = configuration()
        configuration.sheet = sheet
        return launch(configuration)
    }
}

@Suite("The customer, an app and a store", .timeLimit(.minutes(1)))
struct CustomerJourneyTests {
    @Test(arguments: Backend.available)
    func `every ordered error reaches the app, and nothing is charged`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let app = CustomerApp(device.launch())
            for name in OrderedError.names {
                let ordered = try #require(OrderedError(name: name))
                let isStoreKit = ordered.domain == OrderedError.storeKitDomain
                for operation in ["purchases", "products"] {
                    let order = #"{"operation":"\#(operation)","error":"\#(name)","count":1}"#
                    #expect(try await store.control("POST", "faults", order).status == 201)
                }
                let code = isStoreKit ? name : "unknown"
                let answer = await app.engine.products(["hats"])
                guard case .failure(let error) = answer else {
                    Issue.record("\(name) did not fail the products request")
                    continue
                }
                #expect("\(error.code)" == code)
                app.queue.add(payment("hats"))
                #expect(await app.next(2) == ["purchasing hats", "failed hats \(code)"])
            }
            let ledger = try await device.ledger()
            #expect(ledger.purchases.isEmpty && ledger.transactions.isEmpty)
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `the sheet shows an owned product as free`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let app = CustomerApp(device.launch())
            for _ in 0..<2 {
                app.queue.add(payment("hats"))
                #expect(await app.next(2) == ["purchasing hats", "purchased hats"])
            }
            #expect(device.sheets.map(\.isAlreadyOwned) == [false, true])
            #expect(device.sheets.map(\.total) == [2.99, 0] && device.sheets.map(\.unitPrice) == [2.99, 2.99])
            #expect(try await device.ledger().purchases.map(\.amount) == [2990, 0])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a product that the sheet showed as free is not charged after a refund`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let first = CustomerApp(device.launch())
            first.queue.add(payment("hats"))
            #expect(await first.next(2).last == "purchased hats")
            try await until { first.engine.payments.isEmpty }
            await first.stop()
            let id = try #require(try await device.ledger().transactions.first).id
            let app = CustomerApp(
                device.launch(
                    sheet: device.sheet { request in
                        let refund = try? await store.control("POST", "transactions/\(id)/refund", "{}")
                        return request.isAlreadyOwned && refund?.status == 200 ? .buy : .cancel
                    }))
            app.queue.add(payment("hats"))
            // That the product was lost may be told in between, or after.
            var events: [String] = []
            while let event = await app.next() {
                events.append(event)
                if !event.hasPrefix("purchasing"), !event.hasPrefix("revoked") { break }
            }
            #expect(events.last == "failed hats unknown")
            let ledger = try await device.ledger()
            #expect(ledger.purchases.map(\.failure) == [nil, "price_changed"] && ledger.payments.count == 1)
            await app.stop()
        }
    }

    @Test(arguments: Backend.available, [true, false])
    func `an interrupted purchase is delivered once when it is resolved`(
        _ backend: Backend, whileTheAppRuns: Bool
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let account = "accounts/\(device.email)"
            #expect(try await store.control("PATCH", account, #"{"interruptsPurchases":true}"#).status == 200)
            var configuration = device.configuration()
            configuration.watchesStore = whileTheAppRuns
            var app = CustomerApp(device.launch(configuration))
            app.queue.add(payment("credits5", quantity: 2))
            #expect(await app.next(2) == ["purchasing credits5", "failed credits5 unknown"])
            let list = try await store.control("GET", "pending-purchases")
            let pending = try #require(try JSONSerialization.jsonObject(with: Data(list.body)) as? [[String: Any]])
            #expect(pending.map { $0["waitsFor"] as? String } == ["customer"])
            let key = try #require(pending.first?["key"] as? String)
            if !whileTheAppRuns { await app.stop() }
            #expect(try await store.control("POST", "pending-purchases/\(key)/resolve").status == 200)
            #expect(try await store.control("POST", "pending-purchases/\(key)/resolve").status == 409)
            // The store tells an app that runs.
            if !whileTheAppRuns { app = CustomerApp(device.launch()) }
            #expect(await app.next() == "purchased credits5")
            try await until { app.engine.payments.isEmpty }
            app.queue.checkStore()
            app.queue.add(payment("hats"))
            #expect(await app.next() == "purchasing hats")
            await app.stop()
            let ledger = try await device.ledger()
            #expect(ledger.transactions.map(\.quantity) == [2] && ledger.transactions.map(\.isFinished) == [true])
            #expect(ledger.payments.count == 1)
        }
    }

    @Test(arguments: Backend.available)
    func `the next launch delivers a refund once, with a fresh receipt`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            var app = CustomerApp(device.launch())
            app.queue.add(payment("hats"))
            #expect(await app.next(2).last == "purchased hats")
            try await until { app.engine.payments.isEmpty }
            await app.stop()
            let id = try #require(try await device.ledger().transactions.first).id
            let refund = try await store.control("POST", "transactions/\(id)/refund", #"{"reason":"app"}"#)
            let given = refund.json["transactions"] as? [[String: Any]]
            #expect(refund.status == 200 && given?.map { $0["revocationReason"] as? String } == ["app"])
            #expect(try await device.checkedReceipt().inApp.map(\.cancellationDate) == [nil])

            let receipts = Mutex<[Data]>([])
            var answers = CustomerApp.Answers()
            answers.onRevocation = { _ in receipts.withLock { $0 += [(try? device.receipt()) ?? Data()] } }
            app = CustomerApp(device.launch(), answers)
            #expect(await app.next() == "revoked hats")
            let atTheCall = try #require(receipts.withLock { $0 }.first)
            #expect(try device.receipt() == atTheCall)
            #expect(try await device.checkedReceipt().inApp.allSatisfy { $0.cancellationDate != nil })
            let verified = try await store.verify(atTheCall)
            #expect(verified.verification == 0 && verified.inApp.allSatisfy { $0["cancellation_date"] != nil })
            await app.stop()

            // Bought again, at the full price; not told of the refund again.
            app = CustomerApp(device.launch())
            app.queue.add(payment("hats"))
            #expect(await app.next(2) == ["purchasing hats", "purchased hats"])
            #expect(try await device.ledger().purchases.map(\.amount) == [2990, 2990])
            #expect(device.sheets.last?.isAlreadyOwned == false)
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `an unfinished refunded transaction is delivered as purchased, and the receipt shows the refund`(
        _ backend: Backend
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            var answers = CustomerApp.Answers()
            answers.finishes = false
            var app = CustomerApp(device.launch(), answers)
            for product in ["hats", "credits5"] {
                app.queue.add(payment(product))
                #expect(await app.next(2) == ["purchasing \(product)", "purchased \(product)"])
            }
            await app.stop()
            for transaction in try await device.ledger().transactions {
                let refund = try await store.control("POST", "transactions/\(transaction.id)/refund", "{}")
                #expect(refund.status == 200)
            }
            // On the device that has them in its journal, and on one that gets them from the store.
            for other in [device, JourneyDevice(beside: device, name: "two")] {
                app = CustomerApp(other.launch(), answers)
                if other !== device { app.queue.restoreCompletedTransactions() }
                var told: Set<String> = []
                while told.count < 3, let event = await app.next() { told.insert(event) }
                #expect(told == ["purchased hats", "purchased credits5", "revoked hats"])
                let receipt = try await other.checkedReceipt()
                #expect(Set(receipt.inApp.map(\.productID)) == ["hats", "credits5"])
                #expect(receipt.inApp.allSatisfy { $0.cancellationDate != nil })
                // The store makes no receipt of a refunded transaction alone.
                let alone = app.queue.transactions.map { $0.transactionReceipt == nil }
                #expect(alone == (other === device ? [false, false] : [true, true]))
                await app.stop()
            }
            // Finished, they are gone for good.
            app = CustomerApp(device.launch())
            #expect(Set(await app.next(2)) == ["purchased hats", "purchased credits5"])
            try await until { app.engine.payments.isEmpty }
            #expect(try await device.ledger().transactions.allSatisfy(\.isFinished))
            await app.stop()
        }
    }

    @Test(arguments: Backend.available, [true, false])
    func `an account changes its storefront while the payment waits`(_ backend: Backend, continues: Bool) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let sheets = Mutex<[String]>([])
            let isAnotherAdded = Mutex(false)
            let sheet = device.sheet { request in
                sheets.withLock { $0.append("\(request.productIdentifier) \(request.formattedTotal)") }
                guard request.productIdentifier == "credits5" else { return .buy }
                // While the first sheet is up, another payment waits behind it, and the account moves.
                try? await until { isAnotherAdded.withLock { $0 } }
                let move = try? await store.control("PATCH", "accounts/\(device.email)", #"{"storefront":"JPN"}"#)
                return move?.status == 200 ? .cancel : .buy
            }
            var answers = CustomerApp.Answers()
            answers.continues = continues
            let app = CustomerApp(device.launch(sheet: sheet), answers)
            _ = try await app.engine.products(["hats"]).get()
            #expect(app.queue.storefront?.countryCode == "USA")
            app.queue.add(payment("credits5"))
            app.queue.add(payment("hats"))
            isAnotherAdded.withLock { $0 = true }
            var told: [String] = []
            while let event = await app.next() {
                told.append(event)
                if event == "purchased hats" || event.hasPrefix("failed hats") { break }
            }
            #expect(told.contains("failed credits5 paymentCancelled") && told.contains("storefront JPN"))
            #expect(told.filter { $0.hasPrefix("continue") } == ["continue in JPN?"])
            #expect(told.last == (continues ? "purchased hats" : "failed hats storeProductNotAvailable"))
            #expect(app.queue.storefront?.countryCode == "JPN")
            #expect(sheets.withLock { $0 }.count == (continues ? 2 : 1))
            #expect(try await device.ledger().purchases.count == (continues ? 1 : 0))
            await app.stop()
            // The next launch knows where it is.
            let later = CustomerApp(device.launch())
            #expect(later.queue.storefront?.countryCode == "JPN")
            await later.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `the app gets a changed storefront at its launch`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            var app = CustomerApp(device.launch())
            app.queue.add(payment("credits5"))
            #expect(await app.next(2).last == "purchased credits5")
            try await until { app.engine.payments.isEmpty }
            await app.stop()
            let change = #"{"storefront":"DEU","paymentsAllowed":false}"#
            #expect(try await store.control("PATCH", "accounts/\(device.email)", change).status == 200)
            app = CustomerApp(device.launch())
            #expect(await app.next() == "storefront DEU")
            #expect(!app.engine.canMakePayments)
            app.queue.add(payment("credits5"))
            #expect(await app.next(2) == ["purchasing credits5", "failed credits5 paymentNotAllowed"])
            #expect(device.sheets.count == 1)
            #expect(try await app.engine.products(["hats"]).get().products.count == 1)
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `the app decides about a promoted purchase`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            var app = CustomerApp(device.launch())
            app.queue.add(payment("credits5"))
            #expect(await app.next(2).last == "purchased credits5")
            try await until { app.engine.payments.isEmpty }
            await app.stop()
            let order = #"{"bundleId":"com.example.monkeys","productId":"hats","account":"\#(device.email)"}"#
            #expect(try await store.control("POST", "promoted", order).status == 201)
            var answers = CustomerApp.Answers()
            answers.addsStorePayment = false
            app = CustomerApp(device.launch(), answers)
            #expect(await app.next() == "should add hats at 2.99: false")
            await app.stop()
            // It was taken up. A second one is bought.
            #expect(try await store.control("POST", "promoted", order).status == 201)
            app = CustomerApp(device.launch())
            #expect(
                await app.next(3) == ["should add hats at 2.99: true", "purchasing hats", "purchased hats"])
            #expect(try await device.ledger().purchases.map(\.product) == ["credits5", "hats"])
            // A link does the same while the app runs.
            let link = "itms-services://?action=purchaseIntent&bundleId=com.example.monkeys&productIdentifier=credits5"
            #expect(app.queue.openPurchaseIntent(try #require(URL(string: link))))
            #expect(
                await app.next(3) == [
                    "should add credits5 at 0.99: true", "purchasing credits5", "purchased credits5",
                ])
            let other = link.replacing("com.example.monkeys&", with: "com.example.other&")
            #expect(!app.queue.openPurchaseIntent(try #require(URL(string: other))))
            await app.stop()
        }
    }

    @Test func `a purchase link works before anybody has signed in`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            var configuration = device.configuration()
            configuration.purchaseIntent = URL(
                string: "itms-services://?action=purchaseIntent&bundleId=com.example.monkeys&productIdentifier=hats")
            let app = CustomerApp(device.launch(configuration))
            #expect(
                await app.next(3) == ["should add hats at 2.99: true", "purchasing hats", "purchased hats"])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available, [false, true])
    func `the customer is asked about a price increase when the app allows it`(_ backend: Backend, _ isAtOnce: Bool)
        async throws
    {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            var app = CustomerApp(device.launch())
            app.queue.add(payment("club.monthly"))
            #expect(await app.next(2).last == "purchased club.monthly")
            try await until { app.engine.payments.isEmpty }
            await app.stop()
            let order = #"""
                {"bundleId":"com.example.monkeys","productId":"club.monthly","price":"7.99","account":"\#(device.email)"}
                """#
            #expect(try await store.control("POST", "price-increases", order).status == 201)
            let (questions, ask) = AsyncStream.makeStream(of: String.self)
            var sheet = device.sheet()
            sheet.onPriceIncrease = { request in
                ask.yield("\(request.productIdentifier) \(request.formattedOldPrice) \(request.formattedNewPrice)")
                return .accept
            }
            var answers = CustomerApp.Answers()
            answers.showsPriceConsent = false
            answers.showsPriceConsentAtOnce = isAtOnce
            app = CustomerApp(device.launch(sheet: sheet), answers)
            #expect(await app.next() == "show price consent?")
            func answer() async throws -> [String?] {
                let reply = try await store.control("GET", "price-increases?account=\(device.email)")
                let list = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [[String: Any]]
                return (list ?? []).map { $0["answer"] as? String }
            }
            if !isAtOnce {
                #expect(try await answer() == [nil])
                app.queue.showPriceConsentIfNeeded()
            }
            var iterator = questions.makeAsyncIterator()
            #expect(await iterator.next() == "club.monthly $5.99 $7.99")
            try await until { try await answer() != [nil] }
            #expect(try await answer() == ["accepted"])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `the customer enters a code, and its transaction is delivered`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let order = #"{"bundleId":"com.example.monkeys","productId":"hats"}"#
            let made = try await store.control("POST", "codes", order)
            let code = try #require(made.json["code"] as? String)
            let prompts = Mutex<[String?]>([])
            var sheet = device.sheet()
            sheet.onRedeemCode = { prompt in
                prompts.withLock { prompts in
                    prompts.append(prompt.problem)
                    return prompts.count == 1 ? "WRONG" : code
                }
            }
            var configuration = device.configuration()
            configuration.sheet = sheet
            configuration.languages = ["fr"]
            let app = CustomerApp(device.launch(configuration))
            app.queue.presentCodeRedemptionSheet()
            #expect(await app.next() == "purchased hats")
            #expect(prompts.withLock { $0 } == [nil, "Ce code n’est pas valide."])
            try await until { app.engine.payments.isEmpty }
            let ledger = try await device.ledger()
            #expect(ledger.transactions.map(\.price) == [0] && ledger.transactions.map(\.isFinished) == [true])
            #expect(try await device.checkedReceipt().inApp.map(\.productID) == ["hats"])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a code for an offer subscribes the customer, and one for a subscriber waits`(_ backend: Backend) async throws
    {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            func code(_ code: String) async throws {
                let order =
                    #"{"bundleId":"com.example.monkeys","productId":"club.monthly","offer":"Spring","customCode":"\#(code)","count":5}"#
                #expect(try await store.control("POST", "offer-codes", order).status == 201)
            }
            try await code("SPRING")
            let answers = Mutex(["WINTER", "spring"])
            var sheet = device.sheet()
            sheet.onRedeemCode = { _ in answers.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
            let app = CustomerApp(device.launch(sheet: sheet))
            app.queue.presentCodeRedemptionSheet()
            #expect(await app.next() == "purchased club.monthly")
            try await until { app.engine.payments.isEmpty }
            let ledger = try await device.ledger()
            #expect(ledger.transactions.map(\.price) == [9990] && ledger.transactions.map(\.isFinished) == [true])
            let receipt = try await device.checkedReceipt()
            #expect(receipt.inApp.map(\.productID) == ["club.monthly"])
            #expect(receipt.inApp.map(\.promotionalOfferID) == [nil])
            // The offer is used up for this customer, and the sheet asks again.
            answers.withLock { $0 = ["SPRING"] }
            app.queue.presentCodeRedemptionSheet()
            try await until { answers.withLock { $0.isEmpty } }
            let batches = try await store.control("GET", "offer-codes")
            #expect(batches.status == 200)
            #expect(try await device.ledger().transactions.count == 1)
            await app.stop()
        }
    }

    @Test func `a locked account is reported`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            #expect(try await store.control("PATCH", "accounts/\(device.email)", #"{"locked":true}"#).status == 200)
            let told = Mutex<[String]>([])
            var sheet = device.sheet()
            sheet.onTell = { notice in told.withLock { $0.append(notice.text) } }
            let app = CustomerApp(device.launch(sheet: sheet))
            app.queue.add(payment("hats"))
            #expect(await app.next(2) == ["purchasing hats", "failed hats unknown"])
            #expect(told.withLock { $0 } == ["This account is locked."])
            await app.stop()
        }
    }
}
