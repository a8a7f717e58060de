import Foundation
import StoreWire
import Synchronization

/// All of StoreKit for one app on one device. A process has one engine; each test creates its own.
final class StoreKitEngine: Sendable {
    /// The engine of the process, created at first use.
    static let shared: StoreKitEngine = {
        let configuration = StoreKitConfiguration.settle()
        return StoreKitEngine(
            configuration: configuration, transport: nil, timer: DispatchRetryTimer(pace: configuration.retryPace),
            backoff: Backoff(jitter: { .random(in: 0..<1) }),
            newKey: { UUID(timeOrdered: Date(), chance: UUID()) })
    }()

    let payments: PaymentQueueEngine
    /// The downloads of the queue's transactions; nil while nothing is configured, or the configuration cannot work.
    let downloads: DownloadEngine?
    let callbackQueue: DispatchQueue
    /// The location of the receipt; nil while nothing is configured.
    let receiptURL: URL?
    let session: StoreSession?
    /// The queue's store, for requests that do not pass through the queue; or the reason why there is none.
    private let remote: Result<RemotePaymentStore, PaymentFailure>
    let pages: StorePages
    /// The downloads into the device's library; nil while nothing is configured.
    let library: LibraryDownloads?
    let diagnostics: @Sendable (String) -> Void
    /// Reports why the configuration cannot work.
    private let complain: @Sendable (String) -> Void
    private let notices: StoreNotices?
    private let watch: StoreWatch?
    private let allowsPayments: @Sendable () -> Bool
    let languages: [String]
    /// The purchase intent of the configuration, until an observer is registered.
    private let intent: Mutex<URL?>

    /// Creates the engine from a configuration. It never throws: if a part is missing or cannot be opened, the queue
    /// refuses every payment with the reason.
    init(
        configuration: StoreKitConfiguration, transport: (any StoreTransport)?, timer: any RetryTimer, backoff: Backoff,
        newKey: @escaping @Sendable () -> UUID,
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true },
        downloading: DownloadBoundary = DownloadBoundary()
    ) {
        callbackQueue = configuration.callbackQueue
        allowsPayments = Self.allowsPayments(configuration)
        languages = configuration.languages
        diagnostics = configuration.diagnostics
        complain = { configuration.say(problem: $0) }
        intent = Mutex(configuration.purchaseIntent)
        receiptURL = configuration.bundleIdentifier.map {
            DeviceFolder.receiptURL(
                device: configuration.deviceFolder, bundleID: BundleID($0), environment: configuration.environment)
        }
        pages = StorePages(
            presenter: configuration.presenter, bundleIdentifier: configuration.bundleIdentifier ?? "",
            folder: receiptURL?.deletingLastPathComponent(), timer: timer, backoff: backoff)
        func queue(
            _ journal: any PaymentJournal, _ store: any PaymentStore, _ notices: StoreNotices? = nil,
            _ watch: StoreWatch? = nil, _ downloads: DownloadEngine? = nil
        ) -> PaymentQueueEngine.Parts {
            PaymentQueueEngine.Parts(
                journal: journal, store: store, callbackQueue: configuration.callbackQueue, timer: timer,
                backoff: backoff,
                newKey: newKey, diagnostics: configuration.diagnostics, mayPerform: mayPerform,
                languages: configuration.languages,
                afterListing: {
                    await watch?.follow()
                    await notices?.check()
                }, afterLastObserver: { watch?.pause() },
                downloads: downloads, onStep: configuration.onStep, beforeGrant: configuration.beforeGrant)
        }
        func refusing(_ failure: PaymentFailure) -> PaymentQueueEngine {
            PaymentQueueEngine(queue(NoJournal(), RefusingPaymentStore(failure: failure)), journal: [])
        }

        guard let place = Self.place(configuration, transport) else {
            session = nil
            library = nil
            remote = .failure(.unreachable)
            notices = nil
            watch = nil
            downloads = nil
            payments = refusing(.unreachable)
            return
        }
        do {
            let folder = try DeviceFolder(configuration.deviceFolder)
            let session = try Self.session(configuration, place, folder)
            self.session = session
            let library = Self.library(configuration, place, session, timer, backoff)
            self.library = library
            Task { await library.resume() }
            do {
                let (journal, entries, store) = try Self.journalAndStore(configuration, place, folder, session)
                let notices = try Self.notices(
                    configuration, place, folder, session, store, timer, backoff)
                let downloads = DownloadEngine(
                    configuration, journal: journal, transactions: entries,
                    store: RemoteContentStore(session: session, store: place.store),
                    caches: try folder.cachesFolder(of: place.bundleID), timer: timer, backoff: backoff, downloading)
                self.downloads = downloads
                let watch =
                    configuration.watchesStore
                    ? StoreWatch(session: session, timer: timer, backoff: backoff) : nil
                payments = PaymentQueueEngine(queue(journal, store, notices, watch, downloads), journal: entries)
                notices.attach(payments)
                watch?.attach(payments)
                self.notices = notices
                self.watch = watch
                remote = .success(store)
            } catch {
                notices = nil
                watch = nil
                downloads = nil
                configuration.say(problem: Self.text(error))
                remote = .failure(PaymentFailure(.unknown, Self.text(error)))
                payments = refusing(PaymentFailure(.unknown, Self.text(error)))
            }
        } catch {
            configuration.say(problem: Self.text(error))
            session = nil
            library = nil
            remote = .failure(PaymentFailure(.unknown, Self.text(error)))
            notices = nil
            watch = nil
            downloads = nil
            payments = refusing(PaymentFailure(.unknown, Self.text(error)))
        }
    }

    private static func text(_ error: any Error) -> String { (error as? DeviceError)?.detail ?? "\(error)" }

    /// The store and the app of the configuration.
    private struct Place {
        let store: URL
        let bundleID: BundleID
        let transport: any StoreTransport
    }

    private static func place(_ configuration: StoreKitConfiguration, _ transport: (any StoreTransport)?) -> Place? {
        let bundleID = configuration.bundleIdentifier ?? ""
        if configuration.store == nil, !configuration.isMissingStoreSaid {
            configuration.say(
                problem: "no store is configured; set CORNERSTORE_DATA to a store's data directory, or "
                    + "CORNERSTORE_STORE to its URL")
        }
        if bundleID.isEmpty {
            configuration.say(
                problem: "no bundle identifier is configured; set CORNERSTORE_BUNDLE_ID, or put an "
                    + "Info.plist with CFBundleIdentifier beside the executable")
        }
        guard let store = configuration.store, !bundleID.isEmpty else { return nil }
        guard let transport = transport ?? HTTPTransport(store: store) else {
            configuration.say(problem: "the store's address is not an http or https URL with a host")
            return nil
        }
        return Place(store: store, bundleID: BundleID(bundleID), transport: transport)
    }

    private static func session(
        _ configuration: StoreKitConfiguration, _ place: Place, _ folder: DeviceFolder
    ) throws -> StoreSession {
        StoreSession(
            client: StoreClient(transport: place.transport),
            tokens: AccountTokens(file: try folder.accountFile(of: place.store)),
            deviceID: folder.deviceID, bundleID: place.bundleID, languages: configuration.languages,
            sheet: sheet(configuration), callbackQueue: configuration.callbackQueue)
    }

    /// The configuration's sheet. One on a web page says which app asks, and which environment a purchase is for.
    private static func sheet(_ configuration: StoreKitConfiguration) -> any PaymentSheet {
        guard var web = configuration.sheet as? WebPaymentSheet else { return configuration.sheet }
        web.environment = web.environment ?? configuration.environment
        web.app = web.app ?? configuration.bundleIdentifier
        return web
    }

    private static func journalAndStore(
        _ configuration: StoreKitConfiguration, _ place: Place, _ folder: DeviceFolder, _ session: StoreSession
    ) throws -> (SQLitePaymentJournal, [PaymentQueueEntry], RemotePaymentStore) {
        let bundleFolder = try folder.bundleFolder(of: place.bundleID)
        let check = try ReceiptCheck(
            roots: configuration.roots, bundleID: place.bundleID, bundleVersion: configuration.bundleVersion,
            vendorIdentifier: folder.vendorIdentifier, environment: configuration.environment)
        let (journal, entries) = try SQLitePaymentJournal.opened(
            in: bundleFolder, name: "\(configuration.environment.name).journal",
            diagnostics: configuration.diagnostics)
        let store = RemotePaymentStore(
            session: session,
            check: check,
            receiptURL: DeviceFolder.receiptURL(
                device: configuration.deviceFolder, bundleID: place.bundleID, environment: configuration.environment),
            bundleVersion: configuration.bundleVersion, vendorIdentifier: folder.vendorIdentifier,
            allowsPayments: Self.allowsPayments(configuration), diagnostics: configuration.diagnostics,
            alarm: configuration.alarm ?? configuration.diagnostics)
        return (journal, entries, store)
    }

    private static func notices(
        _ configuration: StoreKitConfiguration, _ place: Place, _ folder: DeviceFolder, _ session: StoreSession,
        _ store: RemotePaymentStore, _ timer: any RetryTimer, _ backoff: Backoff
    ) throws -> StoreNotices {
        let file = try folder.bundleFolder(of: place.bundleID).appendingPathComponent(
            "\(configuration.environment.name).notices")
        return StoreNotices(
            session: session, store: store, cursors: NoticeCursors(file: file), timer: timer,
            backoff: backoff, diagnostics: configuration.diagnostics)
    }

    private static func library(
        _ configuration: StoreKitConfiguration, _ place: Place, _ session: StoreSession, _ timer: any RetryTimer,
        _ backoff: Backoff
    ) -> LibraryDownloads {
        let (device, environment) = (configuration.deviceFolder, configuration.environment)
        return LibraryDownloads(
            session: session, store: place.store,
            library: { try DeviceLibrary(device: device, environment: environment, account: $0) },
            tell: { [presenter = configuration.presenter] in await presenter.tell($0) }, timer: timer,
            backoff: backoff, diagnostics: configuration.diagnostics)
    }

    /// Whether the program and the device allow payments. The device's restrictions may change while the app runs.
    private static func allowsPayments(_ configuration: StoreKitConfiguration) -> @Sendable () -> Bool {
        let (allowed, folder) = (configuration.allowsPayments, configuration.deviceFolder)
        return { allowed && DeviceRestrictions(deviceFolder: folder).allowsPayments }
    }

    // MARK: For the public classes

    var canMakePayments: Bool { allowsPayments() && session?.tokens.current?.account.canMakePayments != false }

    var storefront: StorefrontDescription? { session?.storefront }

    /// Requests products, in batches of the store's limit. The error has the network failure as its underlying error.
    ///
    /// Observers that were added before receive their unfinished transactions first, however fast the store responds.
    func products(_ identifiers: Set<String>) async -> Result<ProductsResponse, SKError> {
        let (answer, cause) = await NetworkWitness.during { await self.productsInPortions(identifiers) }
        await payments.settled()
        return answer.mapError { $0.because(cause) }
    }

    private func productsInPortions(_ identifiers: Set<String>) async -> Result<ProductsResponse, SKError> {
        guard let session else { return .failure(PaymentFailure.unreachable.error(in: languages)) }
        let wanted = identifiers.map(ProductID.init(rawValue:)).sorted()
        let known = wanted.filter(\.isPlain)
        var whole = ProductsResponse(
            products: [], invalidProductIDs: wanted.filter { !$0.isPlain },
            storefront: StorefrontDescription(countryCode: "", identifier: ""))
        var rest = known[...]
        repeat {
            let portion = Array(rest.prefix(StoreLimits.productsInOneRequest))
            rest = rest.dropFirst(portion.count)
            do {
                let part = try await session.products(portion)
                whole.products += part.products
                whole.invalidProductIDs += part.invalidProductIDs
                whole.storefront = part.storefront
            } catch {
                if case .refused(let refusal) = error {
                    // An app that the store does not know is a wrong configuration, which its SKError does not say.
                    let say = refusal.code == .unknownApp ? complain : diagnostics
                    say("the store refused the request for products: \(refusal.message)")
                }
                return .failure(PaymentFailure(error).error(in: languages))
            }
        } while !rest.isEmpty
        return .success(whole)
    }

    /// Fetches and writes a new app receipt, and asks the customer to sign in if necessary. Returns nil on success.
    func refreshReceipt(_ pretence: ReceiptPretence?) async -> SKError? {
        switch remote {
        case .failure(let failure): return failure.error(in: languages)
        case .success(let store):
            let (failure, cause) = await NetworkWitness.during { await store.refreshReceipt(pretence) }
            return failure?.error(in: languages).because(cause)
        }
    }

    /// Opens a purchase intent; false when the link is of another kind, or for another app.
    func openPurchaseIntent(_ url: URL) -> Bool {
        guard let notices, let intent = PurchaseIntent(url), intent.bundleID == session?.bundleID else { return false }
        Task { await notices.offer(intent.productID) }
        return true
    }

    /// Opens the configuration's purchase intent, once, after an observer was added.
    func offerConfiguredIntent() {
        let url = intent.withLock { intent in
            defer { intent = nil }
            return intent
        }
        if let url { _ = openPurchaseIntent(url) }
    }

    func showPriceConsent() {
        guard let notices else { return }
        Task { await notices.showPriceConsent() }
    }

    func redeemCode() {
        guard let notices else { return }
        Task { await notices.redeemCode() }
    }

    /// Stops the engine. On return the last call to the app is over and the journal is closed.
    func stop() async {
        notices?.stop()
        watch?.stop()
        await library?.stop()
        await payments.stop()
    }
}
