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
    static let bodyLimit = 64 << 10

    typealias Handler = @Sendable (Store, Request, StoreRequestContext) async throws -> Response

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.health) { _, _ in
            for store in stores.values { try await store.check() }
            return try Response.json(["status": "ok"])
        }
        router.on(.apps) { _, _ in try Response.json(listApps()) }
        on(router, .clock(.sandbox)) { store, _, _ in try Response.json(clock(of: store)) }
        on(router, .changeClock(.sandbox), changeClock)
        on(router, .faults(.sandbox)) { store, _, _ in
            try Response.json(store.faults.ordered.map(ControlAPI.Fault.init))
        }
        on(router, .orderFault(.sandbox), orderFault)
        on(router, .clearFaults(.sandbox)) { store, _, _ in
            store.faults.clear()
            return Response(status: .noContent)
        }
        on(router, .paymentRules(.sandbox), listRules)
        on(router, .addPaymentRule(.sandbox), addRule)
        on(router, .clearPaymentRules(.sandbox)) { store, _, _ in
            try await store.payments.removeRules()
            return Response(status: .noContent)
        }
        on(router, .accounts(.sandbox), listAccounts)
        on(router, .createAccount(.sandbox), createAccount)
        on(router, .changeAccount(.sandbox, email: ""), changeAccount)
        on(router, .transactions(.sandbox), listTransactions)
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
        addCustomerRoutes(to: router)
    }

    /// Registers a route of one environment for both: the handler gets the store that the path names.
    func on(_ router: Router<StoreRequestContext>, _ route: ControlRoute, _ handler: @escaping Handler) {
        router.on(route) { request, context in
            guard let environment = context.parameter(.environment).flatMap(StoreEnvironment.init(name:)),
                let store = stores[environment]
            else {
                throw HTTPProblem(
                    .notFound, code: "not_found", message: "The environments are “sandbox” and “production”.")
            }
            return try await handler(store, request, context)
        }
    }

    private func listApps() -> [ControlAPI.App] {
        let catalog = catalog.value
        return apps.all.map { record in
            let app = catalog.app(record.bundleID)
            return ControlAPI.App(
                bundleId: record.bundleID.rawValue, name: app?.name, appId: record.appID,
                sharedSecret: record.sharedSecret,
                isInCatalog: app != nil, productIds: app?.products.map(\.productID.rawValue) ?? [])
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
        try await store.changeClock { clock in
            if change.reset == true { clock.reset() }
            if let freeze = change.freeze { freeze ? clock.freeze() : clock.resume() }
            if let instant { try clock.set(to: instant) }
            if let advance = change.advance { try clock.advance(by: advance) }
        }
        return try .json(clock(of: store))
    }

    // MARK: Faults and payment rules

    @Sendable private func orderFault(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let order = try await request.decodeJSON(ControlAPI.Fault.self, upTo: Self.bodyLimit)
        guard let operation = Faults.Operation(rawValue: order.operation) else {
            let known = Faults.Operation.allCases.map(\.rawValue).joined(separator: ", ")
            throw StoreError(.invalidRequest, "“operation” must be one of \(known).")
        }
        try store.faults.order(try Self.fault(order, operation))
        return try .json(store.faults.ordered.map(ControlAPI.Fault.init), status: .created)
    }

    @Sendable private func listRules(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        var rules: [ControlAPI.PaymentRule] = []
        for rule in store.payments.declineRules {
            var email: String?
            if let accountID = rule.accountID { email = try await store.accounts.account(accountID)?.email }
            rules.append(
                ControlAPI.PaymentRule(
                    name: rule.ruleID, account: email, productId: rule.productID?.rawValue,
                    minimumAmount: rule.minimumAmount,
                    count: rule.remaining))
        }
        return try .json(rules)
    }

    @Sendable private func addRule(_ store: Store, _ request: Request, _ context: StoreRequestContext) async throws
        -> Response
    {
        let rule = try await request.decodeJSON(ControlAPI.PaymentRule.self, upTo: Self.bodyLimit)
        let account = try await existing(rule.account, at: store)
        try await store.payments.setRule(
            DeclineRule(
                ruleID: rule.name, accountID: account?.accountID, productID: rule.productId.map { ProductID($0) },
                minimumAmount: rule.minimumAmount, remaining: rule.count))
        return Response(status: .created)
    }

    // MARK: Accounts

    @Sendable private func listAccounts(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let page = try await store.accounts.list(after: request.query(.after), limit: 200)
        return try .json(
            ControlAPI.Page(
                rows: page.map(ControlAPI.Account.init), next: page.count == 200 ? page.last?.email : nil))
    }

    @Sendable private func createAccount(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let new = try await request.decodeJSON(ControlAPI.NewAccount.self, upTo: Self.bodyLimit)
        let account = try await store.accounts.create(
            NewAccount(
                email: new.email, password: new.password, storefront: new.storefront ?? "USA",
                paymentsAllowed: new.paymentsAllowed ?? true, asksToBuy: new.asksToBuy ?? false),
            at: store.clock.milliseconds)
        return try .json(ControlAPI.Account(account), status: .created)
    }

    @Sendable private func changeAccount(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.AccountChange.self, upTo: Self.bodyLimit)
        let email = context.parameter(.email)?.removingPercentEncoding ?? ""
        guard let account = try await existing(email, at: store) else {
            throw StoreError(.invalidRequest, "The path must contain the account's e-mail address.")
        }
        let changed = try await store.accounts.change(
            account.accountID,
            AccountChange(
                storefront: change.storefront, paymentsAllowed: change.paymentsAllowed, asksToBuy: change.asksToBuy,
                isLocked: change.locked, interruptsPurchases: change.interruptsPurchases))
        return try .json(ControlAPI.Account(changed))
    }

    /// The account with an e-mail address; nil when the address is nil.
    /// - Throws: ``HTTPProblem`` 404 when no account has the address.
    func existing(_ email: String?, at store: Store) async throws -> Account? {
        guard let email else { return nil }
        guard let account = try await store.accounts.account(email: email) else {
            throw HTTPProblem(
                .notFound, code: "not_found",
                message: "No account in \(store.environment.name) has this e-mail address.")
        }
        return account
    }

    // MARK: The ledger

    @Sendable private func listTransactions(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let account = try await existing(request.query(.account), at: store)
        let before = try request.query(.before).map { text in
            guard let id = TransactionID(text) else {
                throw StoreError(.invalidRequest, "“before” must be a transaction id.")
            }
            return id
        }
        let limit = try request.query(.limit).map { text in
            guard let limit = Int(text), (1...1000).contains(limit) else {
                throw StoreError(.invalidRequest, "“limit” must be a number from 1 to 1000.")
            }
            return limit
        }
        let bundleID = request.query(.bundle).map { BundleID($0) }
        let most = limit ?? 50
        let products = try await store.transactions(
            before: before, bundleID: bundleID, accountID: account?.accountID, limit: most)
        // An item of the storefront belongs to no app.
        let items =
            bundleID == nil
            ? try await store.itemPurchases(before: before, accountID: account?.accountID, limit: most) : []
        let rows = ControlAPI.Transaction.newest(most, of: products, items: items, named: catalog.value)
        return try .json(ControlAPI.Page(rows: rows, next: rows.count == most ? rows.last?.transactionId : nil))
    }

    @Sendable private func listPending(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        try .json(
            try await store.pendingPurchases().map { purchase in
                ControlAPI.PendingPurchase(
                    key: purchase.idempotencyKey, accountId: purchase.accountID.rawValue,
                    bundleId: purchase.bundleID.rawValue,
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

extension ControlAPI.Fault {
    init(_ fault: Faults.Fault) {
        self.init(
            operation: fault.operation.rawValue,
            status: fault.error == nil && fault.cutAfter == nil && fault.lie == nil ? fault.status : nil,
            error: fault.error?.name, cutAfter: fault.cutAfter, lie: fault.lie?.rawValue, count: fault.remaining)
    }
}

extension ControlAPI.Account {
    init(_ account: Account) {
        self.init(
            accountId: account.accountID.rawValue, email: account.email, storefront: account.storefront,
            paymentsAllowed: account.paymentsAllowed, asksToBuy: account.asksToBuy, locked: account.isLocked,
            interruptsPurchases: account.interruptsPurchases, createdDate: ControlAPI.text(account.createdAt))
    }
}
