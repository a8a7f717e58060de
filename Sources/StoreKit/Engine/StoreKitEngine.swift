import Foundation
import StoreWire

/// All of StoreKit for one app on one device: made once a process, or once a test.
final class StoreKitEngine: Sendable {
    /// The process's own, made at first use.
    static let shared: StoreKitEngine = {
        let configuration = StoreKitConfiguration.settle()
        return StoreKitEngine(
            configuration: configuration, transport: nil, timer: DispatchRetryTimer(pace: configuration.retryPace),
            backoff: Backoff(jitter: { .random(in: 0..<1) }),
            newKey: { UUID(timeOrdered: Date(), chance: UUID()) })
    }()

    let payments: PaymentQueueEngine
    let callbackQueue: DispatchQueue
    /// Where the receipt lies; nil while nothing is configured.
    let receiptURL: URL?
    private let session: StoreSession?
    /// The store of the queue, for what is asked past the queue; or why there is none.
    private let remote: Result<RemotePaymentStore, PaymentFailure>
    private let allowsPayments: Bool

    /// Puts it together. What is missing or cannot be opened never throws: the queue then refuses every payment and
    /// says why.
    init(
        configuration: StoreKitConfiguration, transport: (any StoreTransport)?, timer: any RetryTimer, backoff: Backoff,
        newKey: @escaping @Sendable () -> UUID,
        mayPerform: @escaping @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
    ) {
        callbackQueue = configuration.callbackQueue
        allowsPayments = configuration.allowsPayments
        receiptURL = configuration.bundleIdentifier.map {
            DeviceFolder.receiptURL(
                device: configuration.deviceFolder, bundleID: BundleID($0), environment: configuration.environment)
        }
        func queue(_ journal: any PaymentJournal, _ store: any PaymentStore) -> PaymentQueueEngine.Parts {
            PaymentQueueEngine.Parts(
                journal: journal, store: store, callbackQueue: configuration.callbackQueue, timer: timer,
                backoff: backoff,
                newKey: newKey, diagnostics: configuration.diagnostics, mayPerform: mayPerform,
                onStep: configuration.onStep)
        }
        func refusing(_ failure: PaymentFailure) -> PaymentQueueEngine {
            PaymentQueueEngine(queue(NoJournal(), RefusingPaymentStore(failure: failure)), journal: [])
        }

        guard let place = Self.place(configuration, transport) else {
            session = nil
            remote = .failure(.unreachable)
            payments = refusing(.unreachable)
            return
        }
        do {
            let folder = try DeviceFolder(configuration.deviceFolder)
            let session = try Self.session(configuration, place, folder)
            self.session = session
            do {
                let (journal, store) = try Self.journalAndStore(configuration, place, folder, session)
                payments = PaymentQueueEngine(queue(journal, store), journal: try Self.load(journal))
                remote = .success(store)
            } catch {
                configuration.diagnostics(Self.text(error))
                remote = .failure(PaymentFailure(.unknown, Self.text(error)))
                payments = refusing(PaymentFailure(.unknown, Self.text(error)))
            }
        } catch {
            configuration.diagnostics(Self.text(error))
            session = nil
            remote = .failure(PaymentFailure(.unknown, Self.text(error)))
            payments = refusing(PaymentFailure(.unknown, Self.text(error)))
        }
    }

    private static func text(_ error: any Error) -> String { (error as? DeviceError)?.detail ?? "\(error)" }

    /// The store and the app that the configuration names.
    private struct Place {
        let store: URL
        let bundleID: BundleID
        let transport: any StoreTransport
    }

    private static func place(_ configuration: StoreKitConfiguration, _ transport: (any StoreTransport)?) -> Place? {
        guard let store = configuration.store, let bundleID = configuration.bundleIdentifier, !bundleID.isEmpty else {
            configuration.diagnostics(
                "no store or no bundle id is configured; set CORNERSTORE_STORE and CORNERSTORE_BUNDLE_ID")
            return nil
        }
        guard let transport = transport ?? HTTPTransport(store: store) else {
            configuration.diagnostics("the store's address is not an http or https URL")
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
            sheet: configuration.sheet)
    }

    private static func journalAndStore(
        _ configuration: StoreKitConfiguration, _ place: Place, _ folder: DeviceFolder, _ session: StoreSession
    ) throws -> (any PaymentJournal, RemotePaymentStore) {
        let bundleFolder = try folder.bundleFolder(of: place.bundleID)
        let check = try ReceiptCheck(
            roots: configuration.roots, bundleID: place.bundleID, bundleVersion: configuration.bundleVersion,
            vendorIdentifier: folder.vendorIdentifier, environment: configuration.environment)
        let journal = try SQLitePaymentJournal(
            folder: bundleFolder, name: "\(configuration.environment.name).journal",
            diagnostics: configuration.diagnostics)
        let store = RemotePaymentStore(
            session: session,
            check: check,
            receiptURL: DeviceFolder.receiptURL(
                device: configuration.deviceFolder, bundleID: place.bundleID, environment: configuration.environment),
            bundleVersion: configuration.bundleVersion, vendorIdentifier: folder.vendorIdentifier,
            allowsPayments: configuration.allowsPayments, diagnostics: configuration.diagnostics)
        return (journal, store)
    }

    private static func load(_ journal: any PaymentJournal) throws -> [PaymentQueueEntry] {
        do { return try journal.load() } catch {
            journal.close()
            throw DeviceError(code: .journalUnusable, detail: "the payment journal cannot be read: \(error)")
        }
    }

    // MARK: What the public classes ask

    var canMakePayments: Bool { allowsPayments && session?.tokens.current?.account.canMakePayments != false }

    var storefront: StorefrontDescription? { session?.storefront }

    /// Asks for products, in portions that the store takes. What the network said stands under the error.
    func products(_ identifiers: Set<String>) async -> Result<ProductsResponse, SKError> {
        let (answer, cause) = await NetworkWitness.during { await self.productsInPortions(identifiers) }
        return answer.mapError { $0.because(cause) }
    }

    private func productsInPortions(_ identifiers: Set<String>) async -> Result<ProductsResponse, SKError> {
        guard let session else { return .failure(PaymentFailure.unreachable.error) }
        let known = identifiers.filter { !$0.isEmpty && $0.utf8.count <= StoreLimits.identifier }.sorted().map(
            ProductID.init(rawValue:))
        var whole = ProductsResponse(
            products: [],
            invalidProductIDs: identifiers.subtracting(known.map(\.rawValue)).sorted().map(ProductID.init(rawValue:)),
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
                return .failure(PaymentFailure(error).error)
            }
        } while !rest.isEmpty
        return .success(whole)
    }

    /// Fetches the app receipt anew and writes it, asking the customer to sign in when nobody is; nil when it is there.
    func refreshReceipt(_ pretence: ReceiptPretence?) async -> SKError? {
        switch remote {
        case .failure(let failure): return failure.error
        case .success(let store):
            let (failure, cause) = await NetworkWitness.during { await store.refreshReceipt(pretence) }
            return failure?.error.because(cause)
        }
    }

    /// Ends it as a kill would, and returns when the journal is closed.
    func stop() async { await payments.stop() }
}
