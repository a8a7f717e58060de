import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// Serves the operator: moves clocks, orders faults, manages accounts and reads the ledger. These routes are never on a
/// protocol port.
struct ControlController: Sendable {
    let stores: [StoreEnvironment: Store]
    let apps: AppRegistry
    let catalog: CurrentCatalog
    let managed: ManagedCatalog
    static let bodyLimit = 64 << 10

    typealias Handler = @Sendable (Store, Request, StoreRequestContext) async throws -> Response

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.apps) { _, _ in try Response.json(listApps()) }
        on(router, .clock(.sandbox)) { store, _, _ in try Response.json(clock(of: store)) }
        on(router, .changeClock(.sandbox), changeClock)
        on(router, .pendingPurchases(.sandbox), listPending)
        on(router, .approve(.sandbox, key: UUID())) { store, _, context in
            Response.message(try await store.approve(try Self.key(context)))
        }
        on(router, .decline(.sandbox, key: UUID())) { store, _, context in
            try await store.decline(try Self.key(context))
            return Response(status: .noContent)
        }
        on(router, .resolve(.sandbox, key: UUID())) { store, _, context in
            Response.message(try await store.resolve(try Self.key(context)))
        }
        addFaultRoutes(to: router)
        addAccountRoutes(to: router)
        addLedgerRoutes(to: router)
        addCustomerRoutes(to: router)
        addPreviewRoutes(to: router)
        addSubscriptionRoutes(to: router)
        addFamilyRoutes(to: router)
    }

    /// Registers a route of one environment for both: the handler gets the store that the path names. Only the route's
    /// template counts, so that `.sandbox`, an empty id or a new UUID stands for any value in it.
    func on(_ router: Router<StoreRequestContext>, _ route: ControlRoute, _ handler: @escaping Handler) {
        router.on(route, of: stores, use: handler)
    }

    private func listApps() -> [ControlAPI.App] {
        let catalog = catalog.value
        return apps.all.map { record in
            let app = catalog.app(record.bundleID)
            return ControlAPI.App(
                bundleId: record.bundleID.rawValue, name: app?.name, appId: record.appID,
                sharedSecret: record.sharedSecret,
                isInCatalog: app != nil, productIds: app?.products.map(\.productID.rawValue) ?? [],
                gracePeriod: record.gracePeriod.map(ControlAPI.GracePeriod.init))
        }
    }

    // MARK: The clock

    private func clock(of store: Store) -> ControlAPI.Clock {
        let now = store.clock.milliseconds
        // For a running clock, take the offset from the setting: two readings of the machine's clock may differ.
        let (isFrozen, offset) =
            switch store.clock.current {
            case .running(let offset): (false, offset)
            case .frozen(let instant): (true, instant - store.clock.realMilliseconds)
            }
        return ControlAPI.Clock(now: ControlAPI.text(now), milliseconds: now, frozen: isFrozen, offset: offset)
    }

    @Sendable private func changeClock(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.ClockChange.self, upTo: Self.bodyLimit)
        let instant = try change.set.map { text in
            guard let instant = ControlAPI.milliseconds(text) else {
                throw StoreError(
                    .invalidRequest,
                    "“set” is not a date that exists. Write one in ISO 8601, such as 2026-01-31T12:00:00Z.")
            }
            return instant
        }
        let before = clock(of: store)
        try await store.changeClock { clock in
            if change.reset == true { clock.reset() }
            if let freeze = change.freeze { freeze ? clock.freeze() : clock.resume() }
            if let instant { try clock.set(to: instant) }
            if let months = change.months { try clock.advance(months: months) }
            if let advance = change.advance { try clock.advance(by: advance) }
        }
        context.note?.say(before: before.words, after: clock(of: store).words)
        return try .json(clock(of: store))
    }

    // MARK: Purchases that wait

    @Sendable private func listPending(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let pending = try await store.pendingPurchases()
        let addresses = try await store.accounts.addresses(of: pending.map(\.accountID))
        return try .json(
            pending.map { purchase in
                ControlAPI.PendingPurchase(
                    key: purchase.idempotencyKey, accountId: purchase.accountID.rawValue,
                    email: addresses[purchase.accountID], bundleId: purchase.bundleID.rawValue,
                    productId: purchase.productID.rawValue, quantity: purchase.quantity,
                    createdDate: ControlAPI.text(purchase.createdAt),
                    waitsFor: purchase.isInterrupted ? .customer : .approval)
            })
    }

    private static func key(_ context: StoreRequestContext) throws -> UUID {
        guard let key = context.parameter(.key).flatMap(UUID.init(uuidString:)) else {
            throw StoreError(.invalidRequest, "A purchase's key must be a UUID.")
        }
        return key
    }
}

extension ControlAPI.Clock {
    /// The clock in words, for the list of changes.
    fileprivate var words: String { "\(now), \(frozen ? "frozen" : "running")" }
}
