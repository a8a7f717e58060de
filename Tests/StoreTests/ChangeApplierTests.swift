import CornerstoreEncoding
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Two processes of one store, `here` and `there`, over the same database. What one has heard of is what the test
/// tells it.
@Suite("Changes of other processes", .timeLimit(.minutes(1))) struct ChangeApplierTests {
    private static let cost = PasswordCost(rounds: 16)
    private static let managedApp = ManagedScene.bundleID

    // MARK: Accounts

    private static func signIn(_ accounts: Accounts) async throws -> String {
        try await accounts.signIn(
            SignInRequest(email: "ape@example.com", password: "banana", deviceID: UUID()), at: 1
        ).token
    }

    private static func digest(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Data(token.utf8))) }

    @Test(arguments: Backend.available) func accountsAreForgottenByTokenOrAllAtOnce(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let here = Accounts(database: database, cost: Self.cost)
            let there = Accounts(database: database, cost: Self.cost)
            let account = try await here.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
            let (one, two) = (try await Self.signIn(here), try await Self.signIn(here))
            for token in [one, two] { #expect(try await there.account(token: token) == account) }
            try await here.signOut(token: one)
            there.forget(Self.digest(one))
            #expect(there.knownAccount(token: one) == nil)
            #expect(there.knownAccount(token: two) == account)
            #expect(try await refusal { try await there.account(token: one) } == .notSignedIn)
            _ = try await here.change(account.accountID, AccountChange(isLocked: true))
            there.forget(nil)
            #expect(there.knownAccount(token: two) == nil)
            #expect(try await refusal { try await there.account(token: two) } == .accountLocked)
        }
    }

    @Test(arguments: Backend.available)
    func aSignOutThatAnotherProcessHasMadeCanBeRepeated(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let waits = Mutex(0)
            let here = Accounts(database: database, cost: Self.cost)
            let there = Accounts(database: database, cost: Self.cost, outlast: { waits.withLock { $0 += 1 } })
            let account = try await here.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
            let token = try await Self.signIn(here)
            #expect(try await there.account(token: token) == account)
            #expect(try await here.signOut(account, deviceID: nil) == 1)
            #expect(try await there.signOut(account, deviceID: nil) == 0)
            #expect(try await refusal { try await there.account(token: token) } == .notSignedIn)

            // A device repeats its sign-out. The first process may have been killed before others had heard of it, so
            // the answer waits until none uses what it kept.
            let (one, two) = (try await Self.signIn(here), try await Self.signIn(here))
            try await there.signOut(token: one)
            #expect(waits.withLock { $0 } == 0)
            try await here.signOut(token: two)
            try await there.signOut(token: two)
            #expect(waits.withLock { $0 } == 1)
        }
    }

    @Test(arguments: Backend.available)
    func aProcessThatMayHaveMissedAChangeAsksTheDatabase(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let isFresh = Mutex(true)
            let here = Accounts(database: database, cost: Self.cost)
            let there = Accounts(database: database, cost: Self.cost, isFresh: { isFresh.withLock { $0 } })
            let account = try await here.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
            let token = try await Self.signIn(here)
            isFresh.withLock { $0 = false }
            #expect(try await there.account(token: token) == account)
            isFresh.withLock { $0 = true }
            // The account was not cached meanwhile.
            #expect(there.knownAccount(token: token) == nil)
            _ = try await there.account(token: token)
            #expect(there.knownAccount(token: token) == account)
            _ = try await here.change(account.accountID, AccountChange(paymentsAllowed: false))
            #expect(try await there.account(token: token).paymentsAllowed)
            isFresh.withLock { $0 = false }
            #expect(there.knownAccount(token: token) == nil)
            #expect(try await !there.account(token: token).paymentsAllowed)
            let learned = await withCheckedContinuation { (done: CheckedContinuation<Account?, Never>) in
                there.learnAccount(token: token) { done.resume(returning: $0) }
            }
            #expect(learned?.paymentsAllowed == false)
        }
    }

    // MARK: The clock and payment rules

    @Test(arguments: Backend.available) func twoProcessesMoveOneClock(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let here = try await TestStore.open(database, apps: apps, clock: clock).store
            let there = try await TestStore.open(database, apps: apps, clock: clock).store
            try await here.changeClock { try $0.advance(by: 1_000) }
            #expect(there.clock.milliseconds == TestClock.start)
            // It has not heard of the change, and moves on from it all the same.
            try await there.changeClock { try $0.advance(by: 10) }
            #expect(there.clock.current == .running(offset: 1_010))
            try await here.reloadClock()
            #expect(here.clock.current == .running(offset: 1_010))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in [here, there] {
                    for _ in 0..<10 { group.addTask { try await store.changeClock { try $0.advance(by: 1) } } }
                }
                try await group.waitForAll()
            }
            for store in [here, there] {
                try await store.reloadClock()
                #expect(store.clock.current == .running(offset: 1_030))
            }
        }
    }

    @Test(arguments: Backend.available) func twoProcessesUseUpOneRule(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: StoreSchema.migrations) { database, _ async throws in
            let here = try await SandboxPaymentProcessor.open(database)
            let there = try await SandboxPaymentProcessor.open(database)
            try await here.setRule(
                DeclineRule(ruleID: "r", accountID: nil, productID: nil, minimumAmount: nil, remaining: 5))
            #expect(there.approvesEverything)
            try await there.reload()
            #expect(!there.approvesEverything)
            let declined = try await withThrowingTaskGroup(of: Bool.self) { group in
                for payments in [here, there] {
                    for _ in 0..<8 { group.addTask { try await Self.isDeclined(payments) } }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(declined == 5)
            #expect(try await there.declineRules.isEmpty)
            for payments in [here, there] {
                #expect(try await !Self.isDeclined(payments))
                #expect(payments.approvesEverything)
            }
            // The rule of the database decides, not the one that the process knows.
            try await here.setRule(
                DeclineRule(ruleID: "r", accountID: nil, productID: nil, minimumAmount: nil, remaining: 1))
            try await there.reload()
            try await here.setRule(
                DeclineRule(ruleID: "r", accountID: "another", productID: nil, minimumAmount: nil, remaining: 1))
            #expect(try await !Self.isDeclined(there))
            #expect(try await there.declineRules.map(\.remaining) == [1])
        }
    }

    private static func isDeclined(_ payments: SandboxPaymentProcessor) async throws -> Bool {
        let decision = try await payments.authorize(
            PaymentAuthorization(
                idempotencyKey: UUID(), accountID: "ape", bundleID: TestStore.bundleID, productID: "hats",
                amount: Money(milliunits: 2990, currency: "USD")))
        return if case .declined = decision { true } else { false }
    }

    // MARK: Reviews, partners and the managed catalog

    @Test(arguments: Backend.available) func twoProcessesCountTheRatings(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let item = TestReviews.book
            let here = try await Reviews.open(test.databases, items: test.items, isShared: true) { _ in 0 }
            let there = try await Reviews.open(test.databases, items: test.items, isShared: true) { _ in 0 }
            func stars(_ reviews: Reviews, _ item: Int64) throws -> [Int] {
                let storefront = try #require(Storefront.named("USA"))
                return reviews.ratings.rating(of: item, in: storefront, version: nil).histogram
            }
            try await here.rate(item, stars: 2, by: test.reviewer(1), owns: true)
            #expect(try stars(here, item) == [0, 1, 0, 0, 0])
            #expect(try stars(there, item) == [0, 0, 0, 0, 0])
            try await there.rate(item, stars: 5, by: test.reviewer(2), owns: true)
            #expect(try stars(there, item) == [0, 1, 0, 0, 1])
            // Hearing of a change that it knows already counts nothing twice.
            for _ in 0..<2 { try await here.recount(item) }
            #expect(try stars(here, item) == [0, 1, 0, 0, 1])
            try await there.remove(item, by: test.reviewer(1))
            try await there.remove(item, by: test.reviewer(2))
            try await here.recount(item)
            #expect(try stars(here, item) == [0, 0, 0, 0, 0])
            try await there.rate(TestReviews.app, stars: 1, by: test.reviewer(), owns: true)
            try await here.recount()
            #expect(try stars(here, TestReviews.app) == [1, 0, 0, 0, 0])
            #expect(here.ratings.all == there.ratings.all)
        }
    }

    @Test(arguments: Backend.available) func aRemovedPartnerIsForgotten(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let databases = StoreDatabases(apps: apps, sandbox: database, production: database)
            let (here, there) = (Partners(databases, cost: Self.cost), Partners(databases, cost: Self.cost))
            let password = try await here.add("ann", at: 1)
            #expect(try await there.verify("ann", password, from: .client("")))
            #expect(there.remembers("ann", password))
            try await here.remove("ann")
            there.forget()
            #expect(!there.remembers("ann", password))
            #expect(try await !there.verify("ann", password, from: .client("")))
        }
    }

    @Test(arguments: Backend.available) func twoProcessesManageOneCatalog(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let here = try await ManagedScene.open(database, apps: apps)
            let there = try await ManagedScene.open(database, apps: apps)
            try await here.register()
            try await here.create("gems")
            #expect(!there.managed.manages(Self.managedApp))
            try await there.managed.reload(Self.managedApp)
            #expect(there.managed.apps == here.managed.apps)
            // Each changes what the other has not heard of yet.
            try await here.change("gems", ["displayPrice": .string("1.99")])
            try await there.create("coins")
            try await here.review(.manual)
            for scene in [here, there] { try await scene.managed.reload(Self.managedApp) }
            let app = try there.managed.app(Self.managedApp)
            #expect(app.products.map(\.productID) == ["gems", "coins"] && app.review == .manual)
            #expect(here.managed.apps == there.managed.apps)
            // A change of an older revision is refused with the newer one.
            try await here.review(.automatic)
            let stale = await #expect(throws: StaleRevision.self) { try await there.review(.automatic) }
            #expect(stale?.app?.revision == app.revision + 1 && stale?.app?.products.count == 2)
            let items = try await here.managed.changeChecklist(
                .tax, isRequired: true, isDone: nil, by: "anna")
            try await there.managed.reload(nil)
            #expect(there.managed.checklist == items && there.managed.apps == here.managed.apps)
        }
    }

    @Test(arguments: Backend.available)
    func `only what another process has changed in an app is read again`(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let here = try await ManagedScene.open(database, apps: apps)
            let there = try await ManagedScene.open(database, apps: apps)
            let app = Self.managedApp
            try await here.register()
            for productID in ["gems", "coins"] as [ProductID] { try await here.create(productID) }
            // It has not heard of the app.
            try await there.managed.reload(.products(["gems"], of: app))
            #expect(there.managed.apps == here.managed.apps)
            for productID in ["gems", "coins"] as [ProductID] {
                try await here.change(productID, ["displayPrice": .string("1.99")])
            }
            try await here.review(.manual)
            try await there.managed.reload(.products(["gems"], of: app))
            let (new, old) = (try here.managed.app(app), try there.managed.app(app))
            #expect(old.review == .manual && old.product("gems") == new.product("gems"))
            #expect(old.product("coins") != new.product("coins"))
            // Products that are new, or deleted.
            let before = try #require(new.product("gems"))
            try await here.managed.deleteProduct("gems", of: app, revision: before.revision, by: "anna")
            try await here.create("pearls")
            try await there.managed.reload(.products(["gems", "coins", "pearls"], of: app))
            #expect(there.managed.apps == here.managed.apps)
            #expect(there.catalogs.all.value.app(app)?.products.map(\.productID) == ["coins", "pearls"])
            _ = try await here.managed.changeChecklist(.tax, isRequired: true, isDone: nil, by: "anna")
            try await there.managed.reload(.products([], of: app))
            #expect(there.managed.checklist != here.managed.checklist)
            try await there.managed.reload(.checklist)
            #expect(there.managed.checklist == here.managed.checklist)
        }
    }

    @Test(arguments: [
        ManagedPart.everything, .checklist, .app("com.example.app"), .products([], of: "com.example.app"),
        .products(["gems", "coins"], of: "com.example.app"),
    ])
    func `a part of the managed catalog is read back from its announcement`(_ part: ManagedPart) {
        #expect(ManagedPart(detail: part.detail) == part)
    }

    @Test func `the whole app stands for products whose identifiers do not fit`() {
        let bundleID = BundleID(String(repeating: "b", count: 155))
        let longest = ProductID(String(repeating: "p", count: StoreLimits.identifier))
        for (count, part) in [
            (1, ManagedPart.products([longest], of: bundleID)), (2, .app(bundleID)),
        ] {
            let products = ManagedPart.products(Array(repeating: longest, count: count), of: bundleID)
            #expect(ManagedPart(detail: products.detail) == part)
        }
        #expect(ManagedPart(detail: "of a newer program") == .everything)
    }

    @Test(arguments: Backend.available)
    func aManagedAppInAFileOfAnotherProcessStaysAsItIs(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let files = try Catalog(
                apps: [
                    CatalogApp(
                        bundleID: Self.managedApp, name: "File", products: [], groups: [], settings: .usual,
                        unknown: [:])
                ])
            let here = try await ManagedScene.open(database, apps: apps)
            let there = try await ManagedScene.open(database, apps: apps, files: files)
            try await here.register()
            try await there.managed.reload(Self.managedApp)
            #expect(there.catalogs.doublyDescribed == [Self.managedApp])
            #expect(there.catalogs.all.value.app(Self.managedApp) == files.app(Self.managedApp))
            // Other apps follow.
            let other: BundleID = "com.example.other"
            _ = try await here.managed.register(other, name: "Other", sellsInAppPurchases: true, by: "anna")
            for bundleID in [other, nil] {
                try await there.managed.reload(bundleID)
                #expect(there.catalogs.all.value.app(other)?.name == "Other")
            }
            // The file cannot be replaced by one that describes the app, but by one that does not.
            #expect(throws: CatalogError.self) { try there.catalogs.replaceFiles(with: files) }
            try there.catalogs.replaceFiles(with: .empty)
            #expect(there.catalogs.doublyDescribed.isEmpty)
            #expect(there.catalogs.all.value.app(Self.managedApp)?.name == "Managed")
        }
    }

    @Test(arguments: Backend.available)
    func aGroupStaysForTheProductOfAnotherProcess(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let here = try await ManagedScene.open(database, apps: apps)
            let there = try await ManagedScene.open(database, apps: apps)
            let app = try await here.register()
            let grouped = try await here.managed.setGroup(
                "21000001", of: Self.managedApp, revision: app.revision, name: "Club", localizations: nil, by: "anna")
            try await there.managed.reload(Self.managedApp)
            _ = try await here.managed.createProduct(
                "pro", .autoRenewableSubscription, in: "21000001", of: Self.managedApp,
                document: .object([
                    "displayPrice": .string("3.99"), "recurringSubscriptionPeriod": .string("P1M"),
                    "groupNumber": .number("1"), "localizations": ManagedScene.texts("Pro"),
                ]), by: "anna")
            #expect(try there.managed.app(Self.managedApp).products.isEmpty)
            #expect(
                try await refusal {
                    try await there.managed.deleteGroup(
                        "21000001", of: Self.managedApp, revision: grouped.revision, by: "ben")
                } == .wrongState)
        }
    }

    // MARK: Announcements

    @Test(arguments: Backend.available) func announcementsReachWhatTheyAreAbout(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let databases = test.databases
            let here = try await ManagedScene.open(databases.sandbox, apps: databases.apps)
            let there = try await ManagedScene.open(databases.sandbox, apps: databases.apps)
            let reviews = try await Reviews.open(databases, items: test.items, isShared: true) { _ in 0 }
            let (sandbox, production) = (there.sandbox.store, there.production.store)
            let readings = Mutex(0)
            let isFailing = Mutex(false)
            let changes = Changes()
            let news = ChangeApplier(
                sandbox: sandbox, production: production, apps: production.apps,
                keys: try await APIKeys.open(databases), partners: Partners(databases, cost: Self.cost),
                managed: there.managed, reviews: reviews, content: nil,
                authority: {
                    readings.withLock { $0 += 1 }
                    if isFailing.withLock({ $0 }) { throw CancellationError() }
                }, changes: changes)
            func hear(_ topic: String, _ detail: String = "") async throws {
                try await news.apply([Announcement(topic: topic, detail: detail)])
            }

            // Both environments of a scene have the same tables, so the topic alone tells them apart.
            try await here.sandbox.store.faults.order(.init(operation: .finish, status: 500, remaining: 1))
            try await hear("sandbox.faults")
            #expect(sandbox.faults.isOrdered(.finish) && !production.faults.isOrdered(.finish))
            try await here.production.store.changeClock { try $0.advance(by: 5) }
            try await hear("production.clock")
            #expect(production.clock.current == .running(offset: 5))
            #expect(sandbox.clock.current == .running(offset: 0))

            let account = try await here.sandbox.store.accounts.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
            let token = try await Self.signIn(here.sandbox.store.accounts)
            for detail in [Hexadecimal.encoded(Self.digest(token)), "", "not a digest"] {
                _ = try await sandbox.accounts.account(token: token)
                try await hear("sandbox.accounts", Hexadecimal.encoded(Self.digest("another")))
                #expect(sandbox.accounts.knownAccount(token: token) == account)
                try await hear("sandbox.accounts", detail)
                #expect(sandbox.accounts.knownAccount(token: token) == nil)
            }

            try await here.register()
            let before = changes.snapshot
            try await hear("apps.managed", ManagedPart.app(Self.managedApp).detail)
            #expect(there.managed.manages(Self.managedApp))
            #expect(changes.snapshot.changed(since: before).map(\.name) == ["catalog"])
            try await test.reviews.rate(TestReviews.book, stars: 4, by: test.reviewer(), owns: true)
            try await hear("apps.reviews", String(TestReviews.book))
            #expect(reviews.ratings.all == test.reviews.ratings.all)

            // The same announcement twice is applied once, and everything after a gap or a topic of a newer program.
            let authority = Announcement(topic: "apps.authority", detail: "")
            try await news.apply([authority, authority])
            #expect(readings.withLock { $0 } == 1)
            try await here.sandbox.store.payments.setRule(
                DeclineRule(ruleID: "r", accountID: nil, productID: nil, minimumAmount: nil, remaining: 1))
            try await hear("sandbox.tomorrow")
            #expect(!sandbox.payments.approvesEverything && !production.payments.approvesEverything)
            #expect(production.faults.isOrdered(.finish) && sandbox.clock.current == .running(offset: 5))
            _ = try await here.production.store.setRateLimits([.order: 1], of: Self.managedApp)
            try await news.apply(nil)
            #expect(sandbox.rateLimitsOfApps == [Self.managedApp: [.order: 1]])
            #expect(readings.withLock { $0 } == 3)

            // A part that cannot be read keeps no other part from it.
            isFailing.withLock { $0 = true }
            try await here.production.store.removeRateLimits(of: Self.managedApp)
            await #expect(throws: CancellationError.self) { try await news.apply(nil) }
            #expect(sandbox.rateLimitsOfApps.isEmpty)
        }
    }
}
