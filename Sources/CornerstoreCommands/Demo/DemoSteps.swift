import ControlWire
import Foundation
import StoreReceipts
import StoreServer
import StoreWire

/// The steps of the demo after the store started. Each step explains itself, runs, and checks the result.
struct DemoSteps: Sendable {
    let places: DemoPlaces
    let addresses: Addresses
    let teller: DemoTeller
    let app: DemoApp
    /// Photo Filters on the same device.
    let photos: DemoApp
    /// Photo Filters on another device of the same customer.
    let otherPhotos: DemoApp
    let books: DemoApp
    /// Server Books.
    let bookStand: DemoApp
    let promotion: DemoApp
    let control: ControlClient

    static let bundleID = "com.example.monkeys"
    static let five = "com.example.monkeys.credits5"
    static let ten = "com.example.monkeys.credits10"

    init(places: DemoPlaces, addresses: Addresses, teller: DemoTeller) throws {
        self.places = places
        self.addresses = addresses
        self.teller = teller
        app = try DemoApp(.monkeyCredits, places: places)
        photos = try DemoApp(.photoFilters, places: places)
        otherPhotos = try DemoApp(.photoFilters, places: places, device: "second-device")
        books = try DemoApp(.bookChapters, places: places)
        bookStand = try DemoApp(
            .serverBooks, places: places, variables: ["CORNERSTORE_USER_TOKEN_FILE": places.path("reader-token").path])
        promotion = try DemoApp(.crossPromotion, places: places)
        control = ControlClient(base: addresses.control, adminToken: nil)
    }

    /// Shows the samples, one after the other.
    /// - Parameter samples: those to show; the order is always the same.
    func run(_ samples: [DemoSample]) async throws {
        try await storeAnswers()
        for sample in DemoSample.allCases where samples.contains(sample) {
            switch sample {
            case .monkeyCredits: try await sellMonkeyCredits()
            case .photoFilters:
                try await buyFilter()
                try await restoreFilter()
                try await editVault()
            case .bookChapters:
                try await hostChapters()
                try await downloadThroughTrouble()
                try await updateChapter()
            case .serverBooks:
                try await fillShelf()
                try await buyIssue()
                try await sellNewIssue()
                try await crashBeforeConfirmation()
                try await sellCredits()
                try await askTwice()
            case .crossPromotion:
                try await findItems()
                try await showOtherApp()
                try await buySongs()
                try await reviewApp()
            // The last, because it moves the store's clock.
            case .magazine: try await subscribeForAYear()
            }
        }
    }

    private func sellMonkeyCredits() async throws {
        let before = try await app.balance()
        try await prices(before)
        try await buyFive(before)
        try await buySeveral(before + 5)
        try await verify()
        try await cancel(before + 35)
        try await decline(before + 35)
        try await crash(before + 35)
        try await relaunch(before + 35)
        try await oldCopy(before + 40)
    }

    /// Hosts the content that the apps sell on their pages.
    func prepareForPages() async throws {
        try await storeAnswers()
        try await hostChapters()
        try await fillShelf()
    }

    private func storeAnswers() async throws {
        let apps: [ControlAPI.App] = try await control.send(.apps)
        teller.show(
            "sandbox     \(addresses.sandbox)\nproduction  \(addresses.production)\ncontrol     \(addresses.control)\n"
                + "merchant    \(addresses.merchant ?? "none")")
        let products = apps.first { $0.bundleId == Self.bundleID }?.productIds ?? []
        try teller.check(
            "the store sells the two products of Monkey Credits", Set(products).isSuperset(of: [Self.five, Self.ten]),
            "\(products)")
    }

    private func prices(_ balance: Int) async throws {
        teller.begin("The app shows its prices")
        teller.explain("Monkey Credits uses Apple's StoreKit API. It loads names and prices from the store:")
        let result = try await app.run([], input: "q\n")
        teller.show(result.output)
        try teller.check(
            "the prices come from the store", result.output.contains("$0.99") && result.output.contains("$1.99"),
            result.all
        )
        try teller.check(
            "the player has \(balance) credits", result.output.contains("Monkey credits: \(balance)"), result.all)
    }

    private func buyFive(_ balance: Int) async throws {
        teller.begin("The player buys 5 credits")
        let known = try await transactions()
        try await buy(["--buy", "credits5"], expecting: balance + 5)
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check(
            "the ledger has one new transaction: 5 credits for 0.99 USD, finished",
            new.count == 1 && new[0].productId == Self.five && new[0].price == "0.99" && new[0].finishedDate != nil,
            "\(new)")
    }

    private func buySeveral(_ balance: Int) async throws {
        teller.begin("The player buys 10 credits with quantity 3")
        let known = try await transactions()
        try await buy(["--buy", "credits10", "--quantity", "3"], expecting: balance + 30)
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check(
            "the ledger has one new transaction: quantity 3, 5.97 USD",
            new.count == 1 && new[0].quantity == 3 && new[0].price == "5.97", "\(new)")
    }

    private func cancel(_ balance: Int) async throws {
        teller.begin("The player cancels a purchase")
        teller.explain("The player cancels on the payment sheet. The app shows no error, as Apple recommends:")
        let known = try await transactions().count
        let result = try await app.run(["--buy", "credits5"], sheet: "decline")
        teller.show(result.all)
        try teller.check(
            "the app shows no error", result.all.isEmpty && result.status == 1, "\(result.status): \(result.all)")
        try teller.check("nothing was bought", try await transactions().count == known)
        try await balanceStays(balance)
    }

    private func decline(_ balance: Int) async throws {
        teller.begin("The store declines a payment")
        teller.explain("A rule declines the next payment:")
        teller.show("cornerstore payment-rule add demo --count 1")
        try await control.perform(.addPaymentRule(.sandbox), ControlAPI.PaymentRule(name: "demo", count: 1))
        let known = try await transactions().count
        let result = try await app.run(["--buy", "credits5"])
        teller.show(result.all)
        try await control.perform(.clearPaymentRules(.sandbox))
        try teller.check(
            "the app shows the reason and exits with 1", !result.output.isEmpty && result.status == 1,
            "\(result.status): \(result.all)")
        try teller.check("nothing was bought", try await transactions().count == known)
        try await balanceStays(balance)
    }

    private func crash(_ balance: Int) async throws {
        teller.begin("The app is killed during a purchase")
        teller.explain(
            "The store charges the purchase and delivers it to the app. The app is killed before it grants the credits:"
        )
        let known = try await transactions()
        let result = try await app.run(["--buy", "credits5", "--crash-after", "purchased"])
        teller.show(result.all)
        try teller.check("the app was killed", result.status == 9, "\(result.status): \(result.all)")
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check(
            "the store has the unfinished purchase", new.count == 1 && new[0].finishedDate == nil, "\(new)")
        try await balanceStays(balance)
    }

    private func relaunch(_ balance: Int) async throws {
        teller.begin("The next launch delivers the purchase exactly once")
        let known = try await transactions()
        guard let unfinished = known.first(where: { $0.finishedDate == nil }) else {
            return try teller.check("a purchase is unfinished", false, "no unfinished purchase")
        }
        let result = try await app.run(["--exit-when-idle"])
        teller.show(result.all)
        try teller.check("the app succeeded", result.status == 0, "\(result.status): \(result.all)")
        try teller.check("the player has \(balance + 5) credits, 5 more", try await app.balance() == balance + 5)
        let after = try await transactions()
        try teller.check(
            "transaction \(unfinished.transactionId) is finished, and there is no new transaction",
            after.count == known.count
                && after.first { $0.transactionId == unfinished.transactionId }?.finishedDate != nil, "\(after)")
        teller.explain("Another launch does not deliver the purchase again:")
        let again = try await app.run(["--exit-when-idle"])
        teller.show(again.all)
        try teller.check("the balance is unchanged", try await app.balance() == balance + 5)
    }

    // MARK: Helpers of several steps

    private func buy(_ arguments: [String], expecting balance: Int) async throws {
        teller.show("monkey-credits " + arguments.joined(separator: " "))
        let result = try await app.run(arguments)
        teller.show(result.all)
        try teller.check("the app succeeded", result.status == 0, "\(result.status): \(result.all)")
        try teller.check("the player has \(balance) credits", try await app.balance() == balance)
    }

    func balanceStays(_ balance: Int) async throws {
        let found = try await app.balance()
        try teller.check("the player still has \(balance) credits", found == balance, "\(found)")
    }

    /// Returns the sandbox's newest 1000 transactions, newest first.
    func transactions() async throws -> [ControlAPI.Transaction] {
        try await control.send(.transactions(.sandbox, limit: 1000), as: ControlAPI.Page<ControlAPI.Transaction>.self)
            .rows
    }
}
