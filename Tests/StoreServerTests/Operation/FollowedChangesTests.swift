import BlobStorage
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

/// What a process sees of another one's changes as soon as they are answered. Both are in this process.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct FollowedChangesTests {
    private static let managedApp: BundleID = "com.example.managed"

    /// What a process has heard and applied.
    private final class Journal: Sendable {
        private struct State {
            var heard: [Announcement] = []
            /// Whether everything was read again, as after a broken connection on a busy machine.
            var isIncomplete = false
        }

        private let state = Mutex(State())

        func add(_ announcements: [Announcement]?) {
            state.withLock { state in
                state.heard += announcements ?? []
                if announcements == nil { state.isIncomplete = true }
            }
        }

        func clear() { state.withLock { $0 = State() } }

        /// Whether the changes of a topic were just these.
        func has(_ topic: String, _ details: [String]) -> Bool {
            state.withLock { state in
                state.isIncomplete || state.heard.filter { $0.topic == topic }.map(\.detail) == details
            }
        }
    }

    /// Two processes without ports and scheduled work.
    private struct Processes: Sendable {
        let first: StoreApplication
        let second: StoreApplication
        let journal = Journal()

        /// Lets the journal follow the second process, once both hear each other.
        init(_ first: StoreApplication, _ second: StoreApplication) async throws {
            (self.first, self.second) = (first, second)
            for application in [first, second] { await application.waitUntilCurrent() }
            let (listener, journal) = (second.listener, journal)
            let membership = try #require(second.databases.membership)
            membership.hear { heard in
                try await listener(heard)
                journal.add(heard)
            }
            let canHear = try await Self.holds { membership.isFresh }
            #expect(canHear)
        }

        private var canHear: Bool { second.databases.membership?.isFresh ?? false }

        private static func holds(_ condition: () async throws -> Bool) async throws -> Bool {
            try await SharedStoreTests.holds {
                await Task.yield()
                return try await condition()
            }
        }

        /// Begins the journal anew. A process that cannot hear may still hear of earlier changes, so this waits for it.
        func beginJournal() async throws {
            let canHear = try await Self.holds { self.canHear }
            #expect(canHear)
            journal.clear()
        }

        /// Whether the second process sees a change that was just answered.
        func sees(_ condition: () async throws -> Bool) async throws -> Bool {
            if try await condition() { return true }
            // On a machine so busy that it cannot hear, it may use what it kept a little longer.
            guard canHear else { return try await Self.holds(condition) }
            // It may have heard in between.
            return try await condition()
        }

        /// Whether the second process sees a change within a second, for which the first one does not wait.
        func soonSees(_ condition: () async throws -> Bool) async throws -> Bool {
            let end = ContinuousClock.now + .seconds(1)
            while ContinuousClock.now < end {
                if try await condition() { return true }
                await Task.yield()
            }
            return try await sees(condition)
        }
    }

    private static func with(_ body: (Processes) async throws -> Void) async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            for name in ["first", "second"] {
                let own = place.folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
                try Data((RunningServer.catalogText + ReviewServerTests.items).utf8).write(
                    to: own.appendingPathComponent("catalog.yaml"))
            }
            try await place.open("first") { first async throws in
                try await place.open("second") { second async throws in
                    try await body(try await Processes(first, second))
                }
            }
        }
    }

    @Test func `changes of accounts, apps, keys and ratings are known to the other process when they are answered`()
        async throws
    {
        try await Self.with { processes async throws in
            async let unknown = Self.signingOut("unknown", at: processes.first)
            try await Self.changeAccounts(processes)
            try await Self.changeApps(processes)
            try await Self.changeSecrets(processes)
            try await Self.rate(processes)
            // An earlier sign-out may have deleted the token without the knowledge of all processes.
            let took = try await unknown
            #expect(took >= .milliseconds(1_250))
        }
    }

    @Test(arguments: StoreEnvironment.allCases)
    func `changes of an environment's settings are known to the other process when they are answered`(
        _ environment: StoreEnvironment
    ) async throws {
        try await Self.with { processes async throws in
            try await Self.changeSettings(of: environment, processes)
            try await Self.makeSomethingDue(in: environment, processes)
        }
    }

    @Test func `changes of managed apps and content are known to the other process when they are answered`()
        async throws
    {
        try await Self.with { processes async throws in
            try await Self.changeManagedApp(processes)
            try await Self.changeContent(processes)
        }
    }

    private static func signingOut(_ token: String, at application: StoreApplication) async throws -> Duration {
        try await ContinuousClock().measure { try await application.sandbox.accounts.signOut(token: token) }
    }

    // MARK: One store

    private static func changeAccounts(_ processes: Processes) async throws {
        let (here, there) = (processes.first.sandbox.accounts, processes.second.sandbox.accounts)
        let account = try await here.create(
            NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
        func signIn(_ password: String, at accounts: Accounts) async throws -> String {
            try await accounts.signIn(
                SignInRequest(email: account.email, password: password, deviceID: RunningServer.device), at: 1
            ).token
        }
        /// Signs in at the second process, which then keeps the account.
        func keep() async throws -> String {
            let token = try await signIn("banana", at: there)
            #expect(try await there.account(token: token).accountID == account.accountID)
            return token
        }

        let banned = try await keep()
        _ = try await here.change(account.accountID, AccountChange(paymentsAllowed: false))
        #expect(try await processes.sees { there.knownAccount(token: banned)?.paymentsAllowed != true })
        #expect(try await !there.account(token: banned).paymentsAllowed)

        let removed = try await keep()
        #expect(try await here.signOut(account, deviceID: nil) == 2)
        #expect(try await processes.sees { there.knownAccount(token: removed) == nil })

        let signedOut = try await keep()
        try await here.signOut(token: signedOut)
        #expect(try await processes.sees { there.knownAccount(token: signedOut) == nil })

        let locked = try await keep()
        for _ in 0..<Accounts.wrongPasswordsUntilLocked {
            await #expect(throws: StoreError.self) { try await signIn("cherry", at: here) }
        }
        #expect(try await processes.sees { there.knownAccount(token: locked) == nil })
        let error = await #expect(throws: StoreError.self) { try await there.account(token: locked) }
        #expect(error?.code == .accountLocked)
    }

    private static func stores(_ environment: StoreEnvironment, _ processes: Processes) -> (here: Store, there: Store) {
        environment == .sandbox
            ? (processes.first.sandbox, processes.second.sandbox)
            : (processes.first.production, processes.second.production)
    }

    private static func changeSettings(of environment: StoreEnvironment, _ processes: Processes) async throws {
        let (here, there) = stores(environment, processes)
        let before = there.clock.current
        try await here.changeClock { try $0.advance(by: 5_000) }
        #expect(here.clock.current != before)
        #expect(try await processes.sees { there.clock.current == here.clock.current })

        try await here.payments.setRule(
            DeclineRule(ruleID: "r", accountID: nil, productID: nil, minimumAmount: nil, remaining: 1))
        #expect(try await processes.sees { !there.payments.approvesEverything })
        try await here.payments.removeRules()
        #expect(try await processes.sees { there.payments.approvesEverything })

        try await here.faults.order(.init(operation: .finish, status: 500, remaining: 1))
        #expect(try await processes.sees { there.faults.isOrdered(.finish) })
        try await here.faults.clear()
        #expect(try await processes.sees { !there.faults.isOrdered(.finish) })

        let limits: [RateClass: Int64] = [.history: 10]
        _ = try await here.setRateLimits(limits, of: RunningServer.bundleID)
        #expect(try await processes.sees { there.rateLimitsOfApps == [RunningServer.bundleID: limits] })
        try await here.removeRateLimits(of: RunningServer.bundleID)
        #expect(try await processes.sees { there.rateLimitsOfApps.isEmpty })
    }

    /// Lets the second process know that nothing is due, until something may be.
    private static func makeSomethingDue(in environment: StoreEnvironment, _ processes: Processes) async throws {
        let (here, there) = stores(environment, processes)
        func mayBeDue() -> Bool { there.schedule.mayBeDue(at: there.clock.milliseconds) }
        /// Settles again after a broken connection, with which the process forgets that nothing is due.
        func isSettled() async throws -> Bool {
            try await there.settleSubscriptions()
            return !mayBeDue()
        }

        #expect(try await processes.sees { try await isSettled() })
        try await here.setRefundRule(.preference)
        #expect(try await processes.sees { mayBeDue() })
        #expect(try await there.refundRule() == .preference)

        #expect(try await processes.sees { try await isSettled() })
        _ = try await here.extendAll(of: "club.monthly", in: RunningServer.bundleID, days: 1)
        #expect(try await processes.sees { mayBeDue() })
    }

    // MARK: Both stores

    private static func changeApps(_ processes: Processes) async throws {
        let (here, there) = (processes.first.apps, processes.second.apps)
        let (known, new): (BundleID, BundleID) = (RunningServer.bundleID, "com.example.new")
        try await here.register([new], at: 1)
        #expect(try await processes.sees { there[new] != nil })
        let secrets = processes.second.directory.path("shared-secrets.json")
        let isWritten = try await processes.sees {
            try String(contentsOf: secrets, encoding: .utf8).contains(new.rawValue)
        }
        #expect(isWritten)

        // From now on the second process cannot write the file, which keeps it from nothing else.
        try await until {
            // On a busy machine it may read everything again, and write the file in between.
            try? FileManager.default.removeItem(at: secrets)
            return (try? FileManager.default.createDirectory(at: secrets, withIntermediateDirectories: false)) != nil
        }
        try await processes.second.listener([Announcement(topic: "apps.apps")])
        try await processes.second.listener(nil)

        let grace = GracePeriod(length: .sixteenDays)
        try await here.setGracePeriod(grace, of: known)
        #expect(try await processes.sees { there[known]?.gracePeriod == grace })
        let receiver = try NotificationReceiver(url: "https://merchant.example.com/notifications")
        try await here.setNotificationReceiver(receiver, of: known, in: .production)
        #expect(try await processes.sees { there.notificationReceiver(of: known, in: .production) == receiver })
    }

    private static func changeSecrets(_ processes: Processes) async throws {
        let (here, there) = (processes.first, processes.second)
        let key = try await here.apiKeys.make(for: RunningServer.bundleID, at: 1).key
        #expect(try await processes.sees { there.apiKeys[key.keyID] == key })
        _ = try await here.apiKeys.revoke(key.keyID, at: 2)
        #expect(try await processes.sees { there.apiKeys[key.keyID]?.revokedAt == 2 })

        let before = there.authority.revision
        try await here.currentAuthority.rotateLeaves(at: Date())
        #expect(here.authority.revision > before)
        #expect(try await processes.sees { there.authority.revision == here.authority.revision })

        let password = try await here.partners.add("ann", at: 1)
        #expect(try await there.partners.verify("ann", password, from: .client("")))
        #expect(there.partners.remembers("ann", password))
        try await here.partners.remove("ann")
        #expect(try await processes.sees { !there.partners.remembers("ann", password) })
    }

    private static func rate(_ processes: Processes) async throws {
        let account = try await processes.first.production.accounts.create(
            NewAccount(email: "rita@example.com", password: "banana", storefront: "USA"), at: 1)
        let storefront = try #require(Storefront.named("USA"))
        func stars() -> [Int] {
            processes.second.reviews.ratings.rating(of: 1000, in: storefront, version: nil).histogram
        }
        #expect(stars() == [0, 0, 0, 0, 0])
        _ = try await processes.first.reviews.rate(
            1000, stars: 4, by: Reviewer(account, in: .production), owns: true)
        #expect(try await processes.sees { stars() == [0, 0, 0, 1, 0] })
    }

    private static func changeManagedApp(_ processes: Processes) async throws {
        let (here, there, journal) = (processes.first.managed, processes.second.managed, processes.journal)
        /// Whether the second process has the same apps, and has read again no more than this.
        func isSame(_ read: String) -> Bool { there.apps == here.apps && journal.has("apps.managed", [read]) }
        func price(_ text: String) -> JSONValue { .object(["displayPrice": .string(text)]) }

        try await processes.beginJournal()
        _ = try await here.register(managedApp, name: "Managed", sellsInAppPurchases: true, by: "anna")
        #expect(try await processes.sees { isSame("app com.example.managed") && there.manages(managedApp) })
        try await processes.beginJournal()
        let gems = try await here.createProduct(
            "gems", .consumable, in: nil, of: managedApp, document: price("0.99"), by: "anna")
        #expect(try await processes.sees { isSame("products com.example.managed gems") })
        try await processes.beginJournal()
        _ = try await here.changeProduct(
            "gems", of: managedApp, revision: gems.revision, keys: price("1.99"), by: "anna")
        #expect(try await processes.sees { isSame("products com.example.managed gems") })
        try await processes.beginJournal()
        _ = try await here.changeApp(
            managedApp, revision: try here.app(managedApp).revision, sellsInAppPurchases: nil, review: .manual,
            keys: nil, by: "anna")
        #expect(try await processes.sees { isSame("products com.example.managed") })
        try await processes.beginJournal()
        _ = try await here.changeChecklist(.tax, isRequired: true, isDone: nil, by: "anna")
        #expect(try await processes.sees { isSame("checklist") && there.checklist == here.checklist })
        try await processes.beginJournal()
        let file = """
            cornerstore-catalog: 1
            apps:
              - bundleID: com.example.imported
                name: Imported
                products:
                  - productID: coins
                    type: Consumable
                    displayPrice: 0.99
            """
        _ = try await here.importFile(file, isYAML: true, bundleID: nil, isApproved: true, by: "anna")
        #expect(try await processes.sees { isSame("app com.example.imported") })
        #expect(try there.app("com.example.imported").products.map(\.productID) == ["coins"])
    }

    // MARK: Content

    /// The content of a managed product, whose state the processes keep. The bytes of an upload are at the first
    /// process, which does not wait for the second one to know of its check.
    private static func changeContent(_ processes: Processes) async throws {
        let (here, there, journal) = (processes.first, processes.second, processes.journal)
        let (library, song) = (here.desk.library, ContentProduct("song", of: managedApp))
        /// Whether the second process has the same content, and has heard of so many changes of the product.
        func isSame(after changes: Int, of product: ContentProduct? = nil) -> Bool {
            let product = product ?? song
            let detail = "products \(product.bundleID) \(product.productID)"
            return there.managed.apps == here.managed.apps
                && journal.has("apps.content", Array(repeating: detail, count: changes))
        }
        func upload(_ bytes: [UInt8]) async throws -> UUID {
            let upload = try await library.beginUpload(
                of: song, length: Int64(bytes.count), digest: BlobDigest(SHA256.hash(data: bytes)), at: 1)
            let pieces = AsyncStream<[UInt8]> { stream in
                stream.yield(bytes)
                stream.finish()
            }
            return try await library.append(pieces, to: upload.uploadID, offset: 0, at: 1).uploadID
        }

        try await processes.beginJournal()
        _ = try await here.managed.createProduct(
            "song", .nonConsumable, in: nil, of: managedApp,
            document: .object(["displayPrice": .string("2.99"), "hosted": .bool(true)]), by: "anna")
        #expect(try await processes.sees { isSame(after: 1) })
        #expect(try there.managed.product("song", of: managedApp).content != nil)

        // A package that is refused, one that cannot be stored, and the same once there is room.
        let refused = try await upload(Array("no package".utf8))
        try await processes.beginJournal()
        guard case .refused = try await library.complete(refused, at: { 1 }) else {
            Issue.record("the package was not refused")
            return
        }
        #expect(try await processes.soonSees { isSame(after: 2) })
        let package = try await upload(SampleContent.package("song", "1.0"))
        let blobs = try #require(here.configuration.sharedBlobs)
        try FileManager.default.removeItem(at: blobs)
        try Data().write(to: blobs)
        try await processes.beginJournal()
        await #expect(throws: StoreError.self) { try await library.complete(package, at: { 1 }) }
        #expect(try await processes.soonSees { isSame(after: 2) })
        try FileManager.default.removeItem(at: blobs)
        try await processes.beginJournal()
        guard case .kept(let version) = try await library.complete(package, at: { 1 }) else {
            Issue.record("the package was not kept")
            return
        }
        #expect(try await processes.soonSees { isSame(after: 2) })

        // A process that is killed during a check leaves the check behind. It ends with the upload, or with a restart.
        func state() throws -> ContentState? { try there.managed.product("song", of: managedApp).content?.state }
        func leaveCheck(of bytes: String) async throws -> UUID {
            let left = try await library.upload(try await upload(Array(bytes.utf8)))
            try await library.database.write { try left.setCheck(since: 1, $0) }
            #expect(try await processes.soonSees { try state() == .processingContent })
            return left.uploadID
        }
        try await processes.beginJournal()
        let restarted = try await leaveCheck(of: "restarted")
        try await library.database.write { try ContentUpload.endChecks(in: library.place, isAlone: false, $0) }
        #expect(try await processes.soonSees { try state() == .readyToSubmit })
        try await library.cancelUpload(restarted)
        try await library.cancelUpload(try await leaveCheck(of: "cancelled"))
        let (check, all) = (ManagedPart(song).detail, ManagedPart.everything.detail)
        #expect(
            try await processes.soonSees {
                try state() == .readyToSubmit && journal.has("apps.content", [check, all, check, check])
            })

        for step in [.submit, .approve] as [ContentStep] {
            try await processes.beginJournal()
            _ = try await library.take(step, with: version.versionID, at: 1)
            #expect(try await processes.sees { isSame(after: 1) })
        }
        let content = try there.managed.product("song", of: managedApp).content
        #expect(content?.versions.first?.state == .approved)
        try await processes.beginJournal()
        let hats = ContentProduct("hats", of: RunningServer.bundleID)
        try await here.desk.setHosting(true, of: hats)
        #expect(try await processes.sees { isSame(after: 1, of: hats) })
    }
}
