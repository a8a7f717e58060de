import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// Returns a user's balances in one environment, sorted by currency. Expired credits are removed first.
    /// - Parameter environment: the environment; nil for ``MerchantPolicy/usualEnvironment``.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func balances(of user: UserID, in environment: StoreEnvironment? = nil) async throws -> BalanceList {
        let environment = policy.balanceEnvironment(environment)
        return BalanceList(balances: try await allBalances(of: user).filter { $0.environment == environment })
    }

    /// Returns a user's balances in both environments, production first.
    func allBalances(of user: UserID) async throws -> [Balance] {
        try Self.checkName(user.rawValue)
        let times = self.times
        let read = try await database.read { try Ledger.balances(of: user, at: times, $0) }
        guard read.isDue else { return read.balances.inOrder }
        let writer = EventWriter(policy, id: makeID(), now: times.machine)
        return try await commit(.posting) { connection in
            try Self.expireAll(of: user, at: times, writer, connection)
            return try Ledger.balances(of: user, at: times, connection).balances.inOrder
        }
    }

    /// Spends a user's credits. A request repeated with the same key gets the first answer again, and spends nothing.
    /// - Parameter caller: the caller. The app's keys and the backend's keys are independent.
    /// - Throws: ``MerchantError`` `insufficient_balance`, `key_reused` when the caller used the key for something
    ///   else, `invalid_request`.
    public func spend(
        _ request: SpendRequest, by user: UserID, for caller: LedgerCaller = .app
    ) async throws -> SpendAnswer {
        try Self.checkSpend(request, by: user)
        let entry = try await post(
            user, key: request.key, of: caller, policy.account(request.currency, in: request.environment),
            -request.amount, .spend, note: request.note)
        return SpendAnswer(request, entry)
    }

    private static func checkSpend(_ request: SpendRequest, by user: UserID) throws {
        try checkName(user.rawValue)
        guard request.amount > 0 else { throw MerchantError(.invalidRequest, "The amount must be at least 1.") }
        try check(key: request.key, request.currency, request.amount, note: request.note)
    }

    /// Spends a user's credits for the app, as ``spend(_:by:for:)`` does, without suspending a task.
    /// - Parameter completion: called once, on a thread of the database. It must return quickly.
    /// - Throws: ``MerchantError`` `invalid_request`; `completion` is not called then.
    public func spend(
        _ request: SpendRequest, by user: UserID,
        completion: @escaping @Sendable (Result<SpendAnswer, any Error>) -> Void
    ) throws {
        try Self.checkSpend(request, by: user)
        let posting = posting(
            user, key: request.key, of: .app, policy.account(request.currency, in: request.environment),
            -request.amount, .spend, note: request.note, at: times)
        commit(.posting, posting) { result in
            completion(result.flatMap { outcome in Result { SpendAnswer(request, try outcome.entry) } })
        }
    }

    /// Adds or removes a user's credits for a reason of the merchant's own, once for each of the backend's keys.
    /// - Throws: as ``spend(_:by:for:)``.
    public func adjust(_ request: AdjustmentRequest, of user: UserID) async throws -> LedgerEntry {
        try Self.check(key: request.key, request.currency, request.amount, note: request.note)
        return try await post(
            user, key: request.key, of: .backend, policy.account(request.currency, in: request.environment),
            request.amount, .adjustment, note: request.note)
    }

    /// Returns a page of a user's ledger entries, newest first. Expired credits are removed first.
    /// - Parameters:
    ///   - before: ``HistoryPage/next`` of the previous page; nil for the first page.
    ///   - environment: the environment; nil for ``MerchantPolicy/usualEnvironment``.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func history(
        of user: UserID, _ currency: CurrencyID, before: Int64?, limit: Int = MerchantLimits.page,
        in environment: StoreEnvironment? = nil
    ) async throws -> HistoryPage {
        // Remove expired credits first, so that the newest entry has the current balance.
        _ = try await allBalances(of: user)
        return try await readHistory(of: user, currency, before: before, limit: limit, in: environment)
    }

    /// Returns the same as ``history(of:_:before:limit:in:)`` without changing the ledger: expired credits stay there.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func readHistory(
        of user: UserID, _ currency: CurrencyID, before: Int64?, limit: Int = MerchantLimits.page,
        in environment: StoreEnvironment? = nil
    ) async throws -> HistoryPage {
        try Self.checkName(user.rawValue)
        try Self.checkCurrency(currency)
        let limit = min(max(limit, 1), MerchantLimits.page)
        let account = policy.account(currency, in: environment)
        let entries = try await database.read {
            try Ledger.history(of: user, account.name, before: before, limit: limit, $0)
        }
        let last = entries.last?.entry ?? 1
        return HistoryPage(
            currency: currency, entries: entries.map(account.seen), next: last > 1 ? last : nil,
            environment: account.environment)
    }

    /// Removes expired credits of all users, a limited number at a time.
    /// - Parameter limit: the largest number of expired lots to process.
    /// - Returns: the number of lots processed. When it equals `limit`, there may be more.
    /// - Throws: ``DatabaseError``.
    public func expireCredits(limit: Int = 500) async throws -> Int {
        let times = self.times
        let writer = EventWriter(policy, id: makeID(), now: times.machine)
        return try await commit(.posting) { connection in
            let due = try Lots.due(at: times, limit: limit, connection)
            // Each account once, in the order in which every transaction locks accounts.
            let accounts = Set(due.map { [$0.user.rawValue, $0.currency.rawValue] })
            for account in accounts.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                let (user, currency) = (UserID(account[0]), CurrencyID(account[1]))
                if try Ledger.expire(user, currency, at: times[account: currency], connection) {
                    try writer.write(.balanceChanged(user, currency, "expiry"), connection)
                }
            }
            return due.count
        }
    }

    private static func expireAll(
        of user: UserID, at times: BookTimes, _ writer: EventWriter, _ connection: Connection
    ) throws {
        // In the order in which every transaction locks accounts.
        let balances = try Ledger.balances(of: user, at: times, connection).balances
        for balance in balances.sorted(by: { $0.account < $1.account })
        where try Ledger.expire(user, balance.account, at: times[balance.environment], connection) {
            try writer.write(.balanceChanged(user, balance.account, "expiry"), connection)
        }
    }

    /// The result of a posting with a caller's key.
    private enum Outcome: Sendable {
        case posted(LedgerEntry)
        case insufficient
        case reused

        var entry: LedgerEntry {
            get throws {
                switch self {
                case .posted(let entry): return entry
                case .insufficient: throw MerchantError(.insufficientBalance)
                case .reused: throw MerchantError(.keyReused)
                }
            }
        }
    }

    private func post(
        _ user: UserID, key: String, of caller: LedgerCaller, _ account: CreditAccount, _ amount: Int64,
        _ kind: LedgerEntry.Kind, note: String?
    ) async throws -> LedgerEntry {
        try Self.checkName(user.rawValue)
        return try await commit(
            .posting, posting(user, key: key, of: caller, account, amount, kind, note: note, at: times)
        ).entry
    }

    /// Returns the database transaction that posts an entry, once for its key.
    private func posting(
        _ user: UserID, key callersKey: String, of caller: LedgerCaller, _ account: CreditAccount, _ amount: Int64,
        _ kind: LedgerEntry.Kind, note: String?, at times: BookTimes
    ) -> @Sendable (Connection) throws -> Outcome {
        let writer = EventWriter(policy, id: makeID(), now: times.machine)
        let (currency, key, now) = (account.name, account.reference(ofKey: callersKey), times[account.environment])
        return { connection in
            func again(_ known: CurrencyID, _ entry: LedgerEntry) -> Outcome {
                known == currency && entry.kind == kind && entry.amount == amount
                    && entry.note.map { Array($0.utf8) } == note.map { Array($0.utf8) }
                    ? .posted(account.seen(entry)) : .reused
            }
            let posting: Ledger.Posting
            if amount > 0 {
                if let (known, entry) = try Ledger.entry(ofKey: key, caller, user, connection) {
                    return again(known, entry)
                }
                posting = try Ledger.credit(
                    user, currency, amount, kind, reference: key, caller: caller, note: note, at: now, connection)
            } else {
                let debit = try Ledger.debit(
                    user, currency, -amount, kind, key: key, of: caller, note: note, at: now, connection
                ) {
                    try writer.write(.balanceChanged(user, currency, "expiry"), connection)
                }
                switch debit {
                case .posted(let posted): posting = posted
                case .repeated(let known, let entry): return again(known, entry)
                case .insufficient: return .insufficient
                }
            }
            try writer.write(.balanceChanged(user, currency, kind.rawValue), connection)
            return .posted(
                LedgerEntry(
                    entry: posting.entry, kind: kind, amount: amount, balance: posting.balance, createdAt: now,
                    reference: callersKey, note: note, environment: account.environment))
        }
    }

    private static func check(key: String, _ currency: CurrencyID, _ amount: Int64, note: String?) throws {
        try checkCurrency(currency)
        guard (1...MerchantLimits.spendKey).contains(key.utf8.count), !key.utf8.contains(0) else {
            throw MerchantError(
                .invalidRequest, "Invalid key. Expected 1 to \(MerchantLimits.spendKey) bytes without NUL.")
        }
        guard !key.utf8.starts(with: CreditAccount.sandboxPrefix.utf8) else {
            throw MerchantError(
                .invalidRequest,
                "The key begins with “\(CreditAccount.sandboxPrefix)”, which is reserved. Choose another key.")
        }
        guard amount != 0, amount.magnitude <= MerchantLimits.amount.magnitude else {
            throw MerchantError(
                .invalidRequest,
                "Invalid amount. Expected a number other than 0, at most \(MerchantLimits.amount) in magnitude.")
        }
        guard (note?.utf8.count ?? 0) <= MerchantLimits.note, note?.utf8.contains(0) != true else {
            throw MerchantError(
                .invalidRequest, "Invalid note. Expected at most \(MerchantLimits.note) bytes without NUL.")
        }
    }

    /// Checks the name of a currency.
    /// - Throws: as ``checkName(_:)``, and `invalid_request` for a name with the prefix of sandbox accounts
    ///   (``CreditAccount``).
    static func checkCurrency(_ currency: CurrencyID) throws {
        try checkName(currency.rawValue)
        guard !currency.rawValue.utf8.starts(with: CreditAccount.sandboxPrefix.utf8) else {
            throw MerchantError(
                .invalidRequest,
                "The currency “\(currency)” begins with “\(CreditAccount.sandboxPrefix)”, which is reserved. Choose another name."
            )
        }
    }

    /// Checks the name of a user, currency, entitlement, content item, product, app or API key.
    /// - Throws: ``MerchantError`` `invalid_request` for an empty name, one over ``MerchantLimits/identifier`` bytes
    ///   or one with a NUL; `name_not_normalized` for one that has another spelling in normalization form C.
    static func checkName(_ name: String) throws {
        guard (1...MerchantLimits.identifier).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw MerchantError(
                .invalidRequest, "Invalid name. Expected 1 to \(MerchantLimits.identifier) bytes without NUL.")
        }
        guard name.isInNormalizationFormC else {
            throw MerchantError(
                .nameNotNormalized,
                "The name “\(name)” is not in Unicode's normalization form C (NFC). Normalize names before you send them."
            )
        }
    }
}

extension SpendAnswer {
    fileprivate init(_ request: SpendRequest, _ entry: LedgerEntry) {
        self.init(
            key: request.key, currency: request.currency, amount: request.amount, balance: entry.balance,
            entry: entry.entry, environment: entry.environment)
    }
}

extension [Balance] {
    /// The balances with production first, and each environment's sorted by currency.
    var inOrder: [Balance] {
        let isSandbox = { (balance: Balance) in balance.environment == .sandbox }
        return filter { !isSandbox($0) } + filter(isSandbox)
    }
}
