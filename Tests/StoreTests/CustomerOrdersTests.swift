import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct CustomerOrdersTests {
    @Test(arguments: Backend.available) func aPromotedPurchaseIsDeliveredOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let stranger = try await test.account("stranger@example.com")
            let id = try await test.store.promote("hats", in: TestStore.bundleID, to: account)
            func waiting(_ account: Account, _ bundleID: BundleID = TestStore.bundleID) async throws
                -> [PromotionDescription]
            {
                try await test.store.notices(for: account, in: bundleID, after: nil, languages: []).promotions
            }
            #expect(try await waiting(account) == [PromotionDescription(promotionID: id, productID: "hats")])
            #expect(try await waiting(stranger).isEmpty)
            #expect(try await waiting(account, "com.example.other").isEmpty)
            #expect(try await refusal { try await test.store.takePromotion(id, of: stranger) } == .wrongState)
            try await test.store.takePromotion(id, of: account)
            #expect(try await refusal { try await test.store.takePromotion(id, of: account) } == .wrongState)
            #expect(try await waiting(account).isEmpty)
            #expect(
                try await refusal { try await test.store.promote("nothing", in: TestStore.bundleID, to: account) }
                    == .productNotAvailable)
            #expect(
                try await refusal { try await test.store.promote("hats", in: "no.app", to: account) } == .unknownApp)
            // It is a wish of the day, and there are only so many.
            let first = try await test.store.promote("hats", in: TestStore.bundleID, to: account)
            for _ in 1..<Store.mostPromotions {
                _ = try await test.store.promote("hats", in: TestStore.bundleID, to: account)
            }
            #expect(
                try await refusal { try await test.store.promote("hats", in: TestStore.bundleID, to: account) }
                    == .wrongState)
            test.clock.milliseconds += Store.promotionLifetime + 1
            #expect(try await waiting(account).isEmpty)
            // A device that listed it in time takes it too late.
            #expect(try await refusal { try await test.store.takePromotion(first, of: account) } == .wrongState)
            // After the clock was ahead for a year, the promotion of that time does not wait for a year.
            test.clock.milliseconds += 365 * Store.promotionLifetime
            let ahead = try await test.store.promote("hats", in: TestStore.bundleID, to: account)
            test.clock.milliseconds -= 365 * Store.promotionLifetime
            #expect(try await waiting(account).isEmpty)
            #expect(try await test.store.promotions(of: account).isEmpty)
            #expect(try await refusal { try await test.store.takePromotion(ahead, of: account) } == .wrongState)
            _ = try await test.store.promote("hats", in: TestStore.bundleID, to: account)
            #expect(try await test.count("promotions") == 1)
        }
    }

    @Test(arguments: Backend.available) func aPriceIncreaseIsAnsweredOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(storefront: "DEU")
            let club: ProductID = "club.monthly"
            func order() async throws -> WireError.Code? {
                try await refusal {
                    try await test.store.increasePrice(of: club, in: TestStore.bundleID, to: 9990, for: account)
                }
            }
            // Neither somebody who is not subscribed is asked, nor who is subscribed to another product, nor who was.
            #expect(try await order() == .wrongState)
            try await test.buy("club.weekly", by: account)
            #expect(try await order() == .wrongState)
            let lapsed = try await test.buy(club, by: account)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds = try #require(lapsed.expiresDate)
            #expect(try await order() == .wrongState)
            let refunded = try await test.buy(club, by: account)
            _ = try await test.store.refund(refunded.transactionID, reason: .other)
            #expect(try await order() == .wrongState)
            #expect(try await test.count("price_increases") == 0)
            try await test.buy(club, by: account)
            let made = try await test.store.increasePrice(of: club, in: TestStore.bundleID, to: 9990, for: account)
            #expect(made.newPrice.currency == "EUR" && made.oldPrice.milliunits < 9990)
            func open() async throws -> [PriceIncreaseDescription] {
                try await test.store.notices(for: account, in: TestStore.bundleID, after: nil, languages: [])
                    .priceIncreases
            }
            #expect(try await open().map(\.newPrice) == [made.newPrice])
            // An account that moved is shown the same prices in their own currency.
            _ = try await test.store.accounts.change(account.accountID, AccountChange(storefront: "JPN"))
            let moved = try #require(try await test.store.accounts.account(account.accountID))
            let shown = try await test.store.notices(
                for: moved, in: TestStore.bundleID, after: nil, languages: ["en"]
            ).priceIncreases
            #expect(shown.map(\.newPrice.currency) == ["EUR"])
            #expect(shown.map(\.priceLocale) == ["en_JP@currency=EUR"])
            _ = try await test.store.accounts.change(account.accountID, AccountChange(storefront: "DEU"))
            func answer(_ accepts: Bool, _ price: Money) -> PriceConsentRequest {
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: club, newPrice: price, accepts: accepts)
            }
            #expect(
                try await refusal {
                    try await test.store.answerPriceIncrease(answer(true, made.oldPrice), of: account)
                } == .priceChanged)
            try await test.store.answerPriceIncrease(answer(false, made.newPrice), of: account)
            try await test.store.answerPriceIncrease(answer(false, made.newPrice), of: account)
            #expect(
                try await refusal {
                    try await test.store.answerPriceIncrease(answer(true, made.newPrice), of: account)
                } == .wrongState)
            #expect(try await open().isEmpty)
            #expect(try await test.store.priceIncreases(of: account).map(\.answer) == [.declined])
            // Asked anew, the old answer counts no more.
            _ = try await test.store.increasePrice(of: club, in: TestStore.bundleID, to: 10_990, for: account)
            #expect(try await open().map(\.newPrice.milliunits) == [10_990])
            for (product, price): (ProductID, Int64) in [("hats", 9990), (club, 1), (club, Money.largest + 1)] {
                #expect(
                    try await refusal {
                        try await test.store.increasePrice(
                            of: product, in: TestStore.bundleID, to: price, for: account)
                    } == .invalidRequest, "\(product) \(price)")
            }
        }
    }

    @Test(arguments: Backend.available) func aPriceIncreaseIsWithdrawnUntilItIsAnswered(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            let club: ProductID = "club.monthly"
            for account in [ape, bob] {
                try await test.buy(club, by: account)
                _ = try await test.store.increasePrice(of: club, in: TestStore.bundleID, to: 9990, for: account)
                test.clock.milliseconds += 1000
            }
            #expect(try await test.store.priceIncreases().map(\.email) == [bob.email, ape.email])
            func withdraw(_ productID: ProductID, _ account: Account) async throws -> WireError.Code? {
                try await refusal {
                    try await test.store.withdrawPriceIncrease(of: productID, in: TestStore.bundleID, for: account)
                }
            }
            #expect(try await withdraw("club.weekly", ape) == .wrongState)
            #expect(try await withdraw(club, ape) == nil)
            #expect(try await withdraw(club, ape) == .wrongState)
            let notices = try await test.store.notices(for: ape, in: TestStore.bundleID, after: nil, languages: [])
            #expect(notices.priceIncreases.isEmpty)
            // The other customer's increase stays, and is final once it is answered.
            #expect(try await test.store.priceIncreases().map(\.increase.accountID) == [bob.accountID])
            try await test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: club, newPrice: Money(milliunits: 9990, currency: "USD"),
                    accepts: true), of: bob)
            #expect(try await withdraw(club, bob) == .wrongState)
            #expect(try await test.store.priceIncreases(of: bob).map(\.answer) == [.accepted])
        }
    }

    @Test(arguments: Backend.available) func aCodeGivesOneFreeTransaction(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let other = try await test.account("other@example.com")
            let code = try await test.store.addCode(for: "hats", in: TestStore.bundleID)
            #expect(code.code.count == 16)
            func redeem(_ text: String, _ account: Account, _ bundleID: BundleID = TestStore.bundleID) async throws
                -> TransactionDescription
            {
                try await test.store.redeem(CodeRedemptionRequest(bundleID: bundleID, code: text), by: account)
            }
            for wrong in ["", "NOSUCHCODE", "x", String(repeating: "A", count: 65), "A\u{0}BCD", "ÄÄÄÄ"] {
                #expect(try await refusal { try await redeem(wrong, account) } == .unknownCode, "\(wrong)")
            }
            #expect(try await refusal { try await redeem(code.code, account, "com.example.other") } == .unknownCode)
            // As people type it.
            let typed = " " + code.code.lowercased().prefix(8) + "-" + code.code.dropFirst(8)
            let transaction = try await redeem(typed, account)
            #expect(transaction.productID == "hats" && transaction.idempotencyKey == nil)
            #expect(try await redeem(code.code, account) == transaction)
            #expect(try await refusal { try await redeem(code.code, other) } == .codeUsed)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [0] && processor.authorizations.isEmpty)
            #expect(try await test.store.codes().map(\.transactionID) == [transaction.transactionID])
            let unfinished = try await test.store.unfinishedTransactions(
                of: account, in: TestStore.bundleID, after: nil)
            #expect(unfinished.transactions == [transaction])
            // It is owned as if it had been bought.
            let again = try await test.buy("hats", by: account)
            #expect(again.originalTransactionID == transaction.transactionID)
            let second = try await test.store.addCode(for: "hats", in: TestStore.bundleID)
            #expect(try await redeem(second.code, account).originalTransactionID == transaction.transactionID)
            #expect(
                try await refusal { try await test.store.addCode(for: "club.monthly", in: TestStore.bundleID) }
                    == .invalidRequest)
            #expect(
                try await refusal { try await test.store.addCode(for: "no", in: TestStore.bundleID) }
                    == .productNotAvailable)
        }
    }

    @Test(arguments: Backend.available) func aCodeIsDeliveredAgainUntilItsTransactionIsFinished(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            for isFinished in [true, false] {
                test.store.catalog.replace(with: try TestStore.catalog())
                let code = try await test.store.addCode(for: "hats", in: TestStore.bundleID).code
                let request = CodeRedemptionRequest(bundleID: TestStore.bundleID, code: code)
                let given = try await test.store.redeem(request, by: account)
                // The answer was lost, and the product went from the catalog.
                test.store.catalog.replace(
                    with: try TestStore.catalog { $0.replacing("productID: hats", with: "productID: caps") })
                #expect(try await test.store.redeem(request, by: account) == given)
                if isFinished {
                    try await test.store.finish(given.transactionID, of: account)
                } else {
                    _ = try await test.store.refund(given.transactionID, reason: .other)
                }
                #expect(try await refusal { try await test.store.redeem(request, by: account) } == .codeUsed)
            }
            #expect(try await test.ledger().count == 2)
        }
    }

    @Test(arguments: Backend.available) func oneOfManyAccountsRedeemsACode(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let code = try await test.store.addCode(for: "credits5", in: TestStore.bundleID).code
            var accounts: [Account] = []
            for number in 0..<8 { accounts.append(try await test.account("\(number)@example.com")) }
            let codes = try await withThrowingTaskGroup(of: WireError.Code?.self) { group in
                for account in accounts {
                    group.addTask {
                        try await refusal {
                            try await test.store.redeem(
                                CodeRedemptionRequest(bundleID: TestStore.bundleID, code: code), by: account)
                        }
                    }
                }
                return try await group.reduce(into: [WireError.Code?]()) { $0.append($1) }
            }
            #expect(codes.filter { $0 == nil }.count == 1 && codes.filter { $0 == .codeUsed }.count == 7)
            #expect(try await test.ledger().count == 1)
        }
    }

    @Test(arguments: Backend.available) func theAccountsCurrentStateIsReported(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let made = try await test.account()
            let account = try await test.store.accounts.change(
                made.accountID, AccountChange(storefront: "DEU", paymentsAllowed: false))
            let notices = try await test.store.notices(
                for: account, in: TestStore.bundleID, after: nil, languages: [])
            #expect(notices.account.storefront.countryCode == "DEU" && !notices.account.canMakePayments)
            #expect(notices.cursor == 0)
        }
    }

    @Test func errorsAreOrderedByNameForADevicesRequests() async throws {
        let error = try #require(OrderedError(name: "SSServerErrorDomain/5020"))
        try await Backend.sqlite.withFaults { faults async throws in
            for operation: Faults.Operation in [.products, .purchases, .receipts, .restores] {
                try await faults.order(Faults.Fault(operation: operation, error: error, remaining: 1))
                #expect(try await faults.next(operation)?.error == error)
                #expect(try await faults.next(operation) == nil)
            }
            for operation: Faults.Operation in [.verifyReceipt, .finish, .signIn] {
                await #expect(throws: StoreError.self) {
                    try await faults.order(Faults.Fault(operation: operation, error: error, remaining: 1))
                }
            }
        }
        for name in ["", "Unknown", "SSServerErrorDomain/1", "SSServerErrorDomain/05020", "SKErrorDomain/2", "a/b/c"] {
            #expect(OrderedError(name: name) == nil, "\(name)")
        }
        for name in OrderedError.names { #expect(OrderedError(name: name)?.name == name) }
    }
}
