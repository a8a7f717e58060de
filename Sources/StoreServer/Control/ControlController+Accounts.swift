import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for accounts and their devices.
extension ControlController {
    /// The most rows of a list within an account's details.
    private static let mostInDetail = 200

    func addAccountRoutes(to router: Router<StoreRequestContext>) {
        on(router, .accounts(.sandbox), listAccounts)
        on(router, .createAccount(.sandbox), createAccount)
        on(router, .changeAccount(.sandbox, email: ""), changeAccount)
        on(router, .account(.sandbox, email: ""), showAccount)
        on(router, .signOut(.sandbox, email: "")) { store, request, context in
            let account = try await account(in: context, at: store)
            let device = request.query(.device)
            let tokens = try await store.accounts.signOut(account, deviceID: device)
            context.note?.say(subject: [account.email, device].compactMap(\.self).joined(separator: " "))
            return try .json(ControlAPI.SignedOut(tokens: tokens))
        }
        on(router, .clearHistory(.sandbox, email: "")) { store, _, context in
            let account = try await account(in: context, at: store)
            let cleared = try await store.clearHistory(of: account)
            context.note?.say(
                subject: account.email,
                before: "\(cleared.transactions) transactions, \(cleared.items) items, \(cleared.attempts) attempts")
            return try .json(
                ControlAPI.ClearedHistory(
                    transactions: cleared.transactions, items: cleared.items, attempts: cleared.attempts))
        }
        on(router, .appReceipt(.sandbox, email: "", bundle: "")) { store, request, context in
            let account = try await account(in: context, at: store)
            guard let bundle = request.query(.bundle) else {
                throw StoreError(.invalidRequest, "The query must contain “bundle”.")
            }
            let receipt = try await store.appReceipt(
                AppReceiptRequest(
                    bundleID: BundleID(bundle), bundleVersion: Self.version(request),
                    vendorIdentifier: try Self.device(request)), for: account)
            return try .json(ControlAPI.Receipt(receipt: Data(receipt).base64EncodedString()))
        }
    }

    /// The `CFBundleVersion` for a receipt that the operator asks for.
    static func version(_ request: Request) -> String { request.query(.version) ?? "1" }

    /// The device for a receipt that the operator asks for; all zeros when the query names none.
    static func device(_ request: Request) throws -> UUID {
        guard let text = request.query(.device) else {
            return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        }
        guard let device = UUID(uuidString: text) else {
            throw StoreError(.invalidRequest, "“device” must be a device's identifierForVendor, a UUID.")
        }
        return device
    }

    @Sendable private func listAccounts(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let flag = try request.query(.flag).map { name in
            guard let flag = AccountFlag(rawValue: name) else {
                let known = AccountFlag.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“flag” must be one of \(known).")
            }
            return AccountQuery.Flag(flag, now: store.clock.milliseconds)
        }
        let page = try await store.accounts.list(
            AccountQuery(
                after: request.query(.after), start: request.query(.start), flag: flag,
                limit: try request.limit(most: 200, usual: 200)))
        return try .json(
            ControlAPI.Page(
                rows: page.rows.map { ControlAPI.Account($0.account, lastPurchase: $0.lastPurchase) }, next: page.next))
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
        context.note?.say(subject: account.email, after: account.words)
        return try .json(ControlAPI.Account(account), status: .created)
    }

    @Sendable private func changeAccount(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let change = try await request.decodeJSON(ControlAPI.AccountChange.self, upTo: Self.bodyLimit)
        let account = try await account(in: context, at: store)
        let rate = try change.renewalRate.map { text in
            guard let rate = RenewalRate(rawValue: text) else {
                let all = RenewalRate.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“renewalRate” must be one of \(all).")
            }
            guard store.environment == .sandbox else {
                throw StoreError(.forbidden, "Only sandbox testers have a renewal rate.")
            }
            return rate
        }
        let changed = try await store.accounts.change(
            account.accountID,
            AccountChange(
                storefront: change.storefront, paymentsAllowed: change.paymentsAllowed, asksToBuy: change.asksToBuy,
                isLocked: change.locked, interruptsPurchases: change.interruptsPurchases,
                renewalRate: rate))
        context.note?.say(subject: account.email, before: account.words, after: changed.words)
        return try .json(ControlAPI.Account(changed))
    }

    @Sendable private func showAccount(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let account = try await account(in: context, at: store)
        var unfinished = LedgerQuery(accountID: account.accountID, limit: Self.mostInDetail)
        unfinished.state = .unfinished
        var items = LedgerQuery(accountID: account.accountID, limit: Self.mostInDetail)
        (items.kind, items.state) = (LedgerQuery.itemKind, .finished)
        let newest = try await store.ledger(LedgerQuery(accountID: account.accountID, limit: 1)).rows.first
        let catalog = catalog.value
        return try .json(
            ControlAPI.AccountDetail(
                account: ControlAPI.Account(account, lastPurchase: newest?.purchaseDate),
                devices: try await store.accounts.devices(of: account).map {
                    ControlAPI.Device(deviceId: $0.deviceID, signedInDate: ControlAPI.text($0.signedInAt))
                },
                owned: try await store.ownerships(of: account).map(ControlAPI.OwnedProduct.init),
                items: try await store.ledger(items).rows.map { ControlAPI.Transaction($0, catalog) },
                unfinished: try await store.ledger(unfinished).rows.map { ControlAPI.Transaction($0, catalog) },
                promotions: try await store.promotions(of: account).map(ControlAPI.WaitingPromotion.init),
                priceIncreases: try await store.priceIncreases(of: account).map(ControlAPI.PriceIncrease.init),
                codes: try await store.codes(of: account).map(ControlAPI.Code.init),
                restored: try await store.restores(of: account, limit: Self.mostInDetail)
                    .map(ControlAPI.RestoredDelivery.init),
                family: try await described(try await store.familyIfAny(of: account), at: store)))
    }

    /// The account that the path names by its e-mail address or identifier.
    func account(in context: StoreRequestContext, at store: Store) async throws -> Account {
        guard let account = try await existing(context.text(.email), at: store)
        else { throw StoreError(.invalidRequest, "The path must contain the account's e-mail address.") }
        return account
    }

    /// The account with an e-mail address or an identifier; nil when the text is nil.
    /// - Throws: ``HTTPProblem`` 404 when there is no such account.
    func existing(_ text: String?, at store: Store) async throws -> Account? {
        guard let text else { return nil }
        let account =
            text.contains("@")
            ? try await store.accounts.account(email: text) : try await store.accounts.account(AccountID(text))
        guard let account else {
            throw HTTPProblem(
                .notFound, code: "not_found",
                message: "No account in \(store.environment.name) has this e-mail address or identifier.")
        }
        return account
    }
}

extension Account {
    /// The account's settings in words, for the list of changes.
    fileprivate var words: String {
        let flags = [
            paymentsAllowed ? nil : "payments off", asksToBuy ? "asks to buy" : nil,
            interruptsPurchases ? "interrupts purchases" : nil, isLocked ? "locked" : nil,
            renewalRate == .real ? nil : "renewal rate \(renewalRate.rawValue)",
        ]
        return ([storefront] + flags.compactMap(\.self)).joined(separator: ", ")
    }
}

extension AccountQuery.Flag {
    /// The time without a purchase after which an account is inactive: 180 days.
    private static let inactivity: Int64 = 180 * 24 * 3600 * 1000

    fileprivate init(_ flag: AccountFlag, now: Int64) {
        self =
            switch flag {
            case .locked: .locked
            case .asksToBuy: .asksToBuy
            case .interruptsPurchases: .interruptsPurchases
            case .paymentsForbidden: .paymentsForbidden
            case .inactive: .inactive(since: now - Self.inactivity)
            }
    }
}

extension ControlAPI.Account {
    init(_ account: Account, lastPurchase: Int64? = nil) {
        self.init(
            accountId: account.accountID.rawValue, email: account.email, storefront: account.storefront,
            paymentsAllowed: account.paymentsAllowed, asksToBuy: account.asksToBuy, locked: account.isLocked,
            interruptsPurchases: account.interruptsPurchases, renewalRate: account.renewalRate.rawValue,
            createdDate: ControlAPI.text(account.createdAt),
            lastPurchaseDate: lastPurchase.map(ControlAPI.text))
    }
}

extension ControlAPI.OwnedProduct {
    init(_ ownership: Ownership) {
        self.init(
            bundleId: ownership.bundleID.rawValue, productId: ownership.productID.rawValue,
            originalTransactionId: ownership.originalTransactionID.description,
            originalPurchaseDate: ControlAPI.text(ownership.originalPurchaseDate))
    }
}

extension ControlAPI.WaitingPromotion {
    init(_ promotion: WaitingPromotion) {
        self.init(
            promotionId: promotion.promotionID, accountId: promotion.accountID.rawValue,
            bundleId: promotion.bundleID.rawValue, productId: promotion.productID.rawValue,
            createdDate: ControlAPI.text(promotion.createdAt))
    }
}
