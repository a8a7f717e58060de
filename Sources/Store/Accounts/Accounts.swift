import CornerstoreEncoding
import Crypto
import Database
import Foundation
import StoreWire

/// The accounts of one store. Creates accounts, signs devices in, and finds the account of a device's token.
public struct Accounts: Sendable {
    /// The number of wrong passwords in a row that locks an account. The operator unlocks it.
    public static let wrongPasswordsUntilLocked: Int64 = 10

    let database: Database
    private let cost: PasswordCost
    private let work: PasswordWork
    private let signedIn: RecentValues<[UInt8], Account>
    /// Called when accounts or their devices have changed.
    private let changed: @Sendable () -> Void
    /// Whether ``signedIn`` has followed the changes of other processes.
    private let isFresh: @Sendable () -> Bool
    /// Waits until no process uses what it kept before the call.
    private let outlast: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - cost: the cost of hashing a new password. A stored password is checked at the cost it was stored with.
    ///   - work: runs the hashing.
    ///   - changed: called when accounts or their devices have changed.
    ///   - isFresh: whether this process has heard of all accounts that other processes changed until a second ago.
    ///     While it has not, each request reads its account from the database.
    ///   - outlast: waits until no process uses accounts that it kept before the call.
    init(
        database: Database, cost: PasswordCost = .standard, work: PasswordWork = .shared,
        changed: @escaping @Sendable () -> Void = {}, isFresh: @escaping @Sendable () -> Bool = { true },
        outlast: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.database = database
        self.cost = cost
        self.work = work
        self.changed = changed
        self.isFresh = isFresh
        self.outlast = outlast
        // Every device request looks its token up here. 65,536 entries take about 15 MiB.
        signedIn = RecentValues(capacity: 1 << 16)
    }

    /// Creates an account.
    /// - Throws: ``StoreError`` `invalid_request` when the address, password or storefront is invalid or the address is
    ///   taken; `unavailable` when too many passwords wait to be hashed.
    public func create(_ new: NewAccount, at milliseconds: Int64) async throws -> Account {
        let email = try Self.normalized(new.email)
        guard (1...1024).contains(new.password.utf8.count) else {
            throw StoreError(.invalidRequest, "A password must have 1 to 1024 bytes.")
        }
        guard Storefront.named(new.storefront) != nil else {
            throw StoreError(
                .invalidRequest,
                "Unknown storefront “\(new.storefront.prefix(16))”. Use an ISO 3166-1 alpha-3 code such as USA.")
        }
        let hash = try await PasswordHash.make(new.password, cost: cost, by: work, for: .operation)
        let account = Account(
            accountID: AccountID(Self.newID()), email: email, storefront: new.storefront,
            paymentsAllowed: new.paymentsAllowed,
            asksToBuy: new.asksToBuy, isLocked: false, createdAt: milliseconds)
        let inserted = try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO accounts (account_id, email, password_salt, password_hash, password_rounds, storefront,
                    payments_allowed, asks_to_buy, failed_sign_ins, locked, created_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10) ON CONFLICT DO NOTHING
                """,
                [
                    account.accountID.rawValue, email, hash.salt, hash.hash, hash.rounds, account.storefront,
                    account.paymentsAllowed, account.asksToBuy, false, milliseconds,
                ])
        }
        guard inserted == 1 else {
            throw StoreError(.invalidRequest, "An account with this e-mail address already exists.")
        }
        changed()
        return account
    }

    /// Signs a device in and returns a new token. The store keeps only the token's SHA-256.
    ///
    /// A wrong password for a known address takes as long as any password for an unknown one.
    /// - Parameter source: the client, for fair queueing of password checks.
    /// - Throws: ``StoreError`` `wrong_password` (also for an unknown address), `account_locked` for the right password
    ///   of a locked account, or `unavailable` when too many wait; `CancellationError` when the task is cancelled while
    ///   it waits.
    public func signIn(
        _ request: SignInRequest, from source: PasswordSource = .client(""), at milliseconds: Int64
    ) async throws -> (token: String, account: Account) {
        guard request.email.utf8.count <= 254, !request.email.utf8.contains(0), request.password.utf8.count <= 1024
        else { throw Self.wrongPassword }
        let email = request.email.lowercased()
        let row = try await database.read { connection in
            try connection.queryOne(
                "SELECT \(Self.columns), password_salt, password_hash, password_rounds FROM accounts WHERE email = $1",
                [email])
        }
        guard let row else {
            _ = try await PasswordHash.make(request.password, cost: cost, by: work, for: source)
            try await simulateCountingWrongPassword(email)
            throw Self.wrongPassword
        }
        let kept = PasswordHash(salt: try row.bytes(9), hash: try row.bytes(10), rounds: try row.int(11))
        let account = try Self.account(row)
        guard try await kept.matches(request.password, by: work, for: source) else {
            try await countWrongPassword(of: account)
            throw Self.wrongPassword
        }
        guard !account.isLocked else { throw Self.locked }
        let token = Self.newToken()
        let digest = Self.digest(token)
        try await database.write { connection in
            // When guesses run in parallel, a right one fails once the tenth wrong one has locked the account.
            let open = try connection.execute(
                "UPDATE accounts SET failed_sign_ins = 0 WHERE account_id = $1 AND NOT locked",
                [account.accountID.rawValue])
            guard open == 1 else { throw Self.locked }
            try connection.execute(
                "INSERT INTO device_tokens (token_digest, account_id, device_id, created_at) VALUES ($1, $2, $3, $4)",
                [digest, account.accountID.rawValue, request.deviceID.uuidString, milliseconds])
        }
        changed()
        return (token, account)
    }

    /// Deletes a token. Returns when no process accepts it any more.
    /// - Throws: ``DatabaseError``; `CancellationError` when the task is cancelled while it waits for other processes.
    public func signOut(token: String) async throws {
        let digest = Self.digest(token)
        let count = try await database.write { connection in
            let count = try connection.execute("DELETE FROM device_tokens WHERE token_digest = $1", [digest])
            if count > 0 { try connection.announce("accounts", Hexadecimal.encoded(digest)) }
            return count
        }
        signedIn.removeValue(for: digest)
        changed()
        // An earlier request may have deleted it, whose process ended before all others had heard of it. That is not
        // announced again: anyone can send tokens that there are not, and must not thereby keep the processes busy.
        if count == 0 { try await outlast() }
    }

    /// Forgets cached accounts that another process has changed.
    /// - Parameter tokenDigest: the SHA-256 of the only token to forget; nil for all.
    func forget(_ tokenDigest: [UInt8]?) {
        if let tokenDigest { signedIn.removeValue(for: tokenDigest) } else { signedIn.removeAll() }
    }

    /// Returns the account of a token.
    /// - Throws: ``StoreError`` `not_signed_in` or `account_locked`; ``DatabaseError``.
    public func account(token: some StringProtocol) async throws -> Account {
        guard (1...128).contains(token.utf8.count) else { throw StoreError(.notSignedIn, "Sign in again.") }
        let digest = Self.digest(token)
        if isFresh(), let account = signedIn.value(for: digest) { return account }
        let changes = signedIn.changes
        return try signedIn(try await database.read { try Self.account(digest, $0) }, digest, changes)
    }

    /// Looks up the account of a token and caches it for ``knownAccount(token:)``.
    /// - Parameter completion: called on a database thread, with nil when ``account(token:)`` would throw.
    func learnAccount(token: some StringProtocol, completion: @escaping @Sendable (Account?) -> Void) {
        guard (1...128).contains(token.utf8.count) else { return completion(nil) }
        let digest = Self.digest(token)
        let changes = signedIn.changes
        database.read {
            try Self.account(digest, $0)
        } completion: { result in
            completion(try? signedIn(try result.get(), digest, changes))
        }
    }

    private static func account(_ tokenDigest: [UInt8], _ connection: Connection) throws -> Account? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM accounts
            WHERE account_id = (SELECT account_id FROM device_tokens WHERE token_digest = $1)
            """, [tokenDigest]
        ).map(account)
    }

    /// Checks the account that was found for a token, and caches it.
    private func signedIn(_ found: Account?, _ tokenDigest: [UInt8], _ changes: Int) throws -> Account {
        guard let account = found else { throw StoreError(.notSignedIn, "Unknown token. Sign in again.") }
        guard !account.isLocked else { throw Self.locked }
        if isFresh() { signedIn.insert(account, for: tokenDigest, unlessChangedSince: changes) }
        return account
    }

    /// The cached account of a token; nil when the token is not in the cache, or the cache may be outdated.
    func knownAccount(token: some StringProtocol) -> Account? {
        guard (1...128).contains(token.utf8.count), isFresh() else { return nil }
        return signedIn.value(for: Self.digest(token))
    }

    /// The account with an e-mail address; nil when there is none.
    /// - Throws: ``DatabaseError``.
    public func account(email: String) async throws -> Account? {
        let email = email.lowercased()
        return try await database.read { connection in
            try connection.queryOne("SELECT \(Self.columns) FROM accounts WHERE email = $1", [email]).map(Self.account)
        }
    }

    /// The account with an identifier; nil when there is none.
    /// - Throws: ``DatabaseError``.
    public func account(_ accountID: AccountID) async throws -> Account? {
        try await database.read { try Self.account(accountID, $0) }
    }

    /// The account with an identifier; nil when there is none.
    static func account(_ accountID: AccountID, _ connection: Connection) throws -> Account? {
        try connection.queryOne("SELECT \(columns) FROM accounts WHERE account_id = $1", [accountID.rawValue]).map(
            account)
    }

    /// Returns the e-mail addresses of accounts by their identifiers. Accounts that do not exist any more are left out.
    /// - Throws: ``DatabaseError``.
    public func addresses(of accounts: some Collection<AccountID>) async throws -> [AccountID: String] {
        let unique = Set(accounts).map(\.rawValue)
        guard !unique.isEmpty else { return [:] }
        return try await database.read { connection in
            let rows = try connection.query(portionsOf: unique) { places in
                "SELECT account_id, email FROM accounts WHERE account_id IN (\(places))"
            }
            var found: [AccountID: String] = [:]
            for row in rows { found[AccountID(try row.string(0))] = try row.string(1) }
            return found
        }
    }

    /// Lists accounts in the order of their addresses.
    ///
    /// A flag looks at ``AccountQuery/mostLooked`` accounts and then answers with a cursor to look further.
    /// - Throws: ``DatabaseError``.
    public func list(_ query: AccountQuery) async throws -> AccountPage {
        try await database.read { try Self.list(query, $0) }
    }

    private static func list(_ query: AccountQuery, _ connection: Connection) throws -> AccountPage {
        let (after, start) = (query.after ?? "", query.start ?? "")
        var ceiling: String?
        if query.flag != nil || query.start != nil {
            // Addresses with the same start stand together, so without a flag a look beyond the limit is enough.
            let looked = query.flag.map(mostLooked) ?? query.limit + 1
            ceiling = try connection.queryOne(
                "SELECT email FROM accounts WHERE email > $1 AND email >= $2 ORDER BY email LIMIT 1 OFFSET $3",
                [after, start, looked - 1]
            )?.string(0)
        }
        var since: Int64?
        if case .inactive(let time) = query.flag { since = time }
        let rows = try connection.query(
            """
            SELECT \(columns), \(lastPurchase("finished_at IS NOT NULL")), \(lastPurchase("finished_at IS NULL"))
            FROM accounts
            WHERE email > $1 AND email >= $2 AND substr(email, 1, CAST($3 AS INTEGER)) = $2
                AND (CAST($4 AS TEXT) IS NULL OR email <= $4)
                AND (CAST($5 AS BIGINT) IS NULL OR (COALESCE(\(lastPurchase("finished_at IS NOT NULL")), 0) < $5
                    AND COALESCE(\(lastPurchase("finished_at IS NULL")), 0) < $5)) \(condition(query.flag))
            ORDER BY email LIMIT $6
            """,
            [after, start, Int64(start.unicodeScalars.count), ceiling, since, query.limit + 1])
        let found = try rows.prefix(query.limit).map { row in
            ListedAccount(
                account: try account(row),
                lastPurchase: [try row.optionalInt64(9), try row.optionalInt64(10)].compactMap(\.self).max())
        }
        guard rows.count <= query.limit else { return AccountPage(rows: found, next: found.last?.account.email) }
        // The addresses that begin with the text stand together, so a later one ends the list.
        return AccountPage(rows: found, next: ceiling.flatMap { start.isEmpty || $0.hasPrefix(start) ? $0 : nil })
    }

    private static func mostLooked(_ flag: AccountQuery.Flag) -> Int {
        if case .inactive = flag { AccountQuery.mostInactive } else { AccountQuery.mostLooked }
    }

    private static func condition(_ flag: AccountQuery.Flag?) -> String {
        switch flag {
        case nil, .inactive: ""
        case .locked: "AND locked"
        case .asksToBuy: "AND asks_to_buy"
        case .interruptsPurchases: "AND interrupts_purchases"
        case .paymentsForbidden: "AND NOT payments_allowed"
        }
    }

    /// The date of the account's newest own transaction in one of two indexes, which together hold all.
    private static func lastPurchase(_ part: String) -> String {
        """
        (SELECT purchase_date FROM transactions WHERE transactions.account_id = accounts.account_id AND \(part)
            AND shared_from IS NULL ORDER BY transaction_id DESC LIMIT 1)
        """
    }

    // MARK: Devices

    /// The devices that are signed in to an account, the last one first, at most 200.
    /// - Throws: ``DatabaseError``.
    public func devices(of account: Account) async throws -> [SignedInDevice] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT device_id, max(created_at) FROM device_tokens WHERE account_id = $1
                GROUP BY device_id ORDER BY max(created_at) DESC, device_id LIMIT 200
                """, [account.accountID.rawValue]
            ).map { SignedInDevice(deviceID: try $0.string(0), signedInAt: try $0.int64(1)) }
        }
    }

    /// Signs an account's devices out. Their next requests need a new sign-in.
    /// - Parameter deviceID: the device; nil for all.
    /// - Returns: the number of tokens that are no longer valid.
    /// - Throws: ``DatabaseError``.
    public func signOut(_ account: Account, deviceID: String?) async throws -> Int {
        let count = try await database.write { connection in
            let count = try connection.execute(
                "DELETE FROM device_tokens WHERE account_id = $1 AND (CAST($2 AS TEXT) IS NULL OR device_id = $2)",
                [account.accountID.rawValue, deviceID])
            // Also when an earlier request did it: its process may have ended before all others had heard of it.
            try connection.announce("accounts")
            return count
        }
        signedIn.removeAll()
        if count > 0 { changed() }
        return count
    }

    /// Changes an account. The next requests of its signed-in devices see the change.
    /// - Throws: ``StoreError`` `invalid_request` for an unknown account or storefront.
    public func change(_ accountID: AccountID, _ change: AccountChange) async throws -> Account {
        if let storefront = change.storefront, Storefront.named(storefront) == nil {
            throw StoreError(
                .invalidRequest,
                "Unknown storefront “\(storefront.prefix(16))”. Use an ISO 3166-1 alpha-3 code such as USA.")
        }
        let row = try await database.write { connection in
            try connection.announce("accounts")
            return try connection.queryOne(
                """
                UPDATE accounts SET
                    storefront = COALESCE(CAST($2 AS TEXT), storefront),
                    payments_allowed = COALESCE(CAST($3 AS BOOLEAN), payments_allowed),
                    asks_to_buy = COALESCE(CAST($4 AS BOOLEAN), asks_to_buy),
                    locked = COALESCE(CAST($5 AS BOOLEAN), locked),
                    interrupts_purchases = COALESCE(CAST($6 AS BOOLEAN), interrupts_purchases),
                    renewal_rate = COALESCE(CAST($7 AS TEXT), renewal_rate),
                    failed_sign_ins = 0
                WHERE account_id = $1 RETURNING \(Self.columns)
                """,
                [
                    accountID.rawValue, change.storefront, change.paymentsAllowed, change.asksToBuy, change.isLocked,
                    change.interruptsPurchases, change.renewalRate?.rawValue,
                ])
        }
        guard let row else { throw StoreError(.invalidRequest, "No account has this identifier.") }
        signedIn.removeAll()
        changed()
        return try Self.account(row)
    }

    /// Writes as much for an unknown address as ``countWrongPassword(of:)`` does for a known one, without effect. A
    /// faster answer would reveal that the account does not exist.
    ///
    /// The address's digest chooses the row to write. Account identifiers are random, so attempts at different
    /// addresses write different rows and do not wait for one another. Attempts at the same address do, as with a known
    /// one.
    private func simulateCountingWrongPassword(_ email: String) async throws {
        let accountID = Hexadecimal.encoded(Self.digest(email).prefix(8))
        try await database.write { connection in
            _ = try connection.execute(
                """
                UPDATE accounts SET failed_sign_ins = failed_sign_ins
                WHERE account_id = COALESCE(
                    (SELECT min(account_id) FROM accounts WHERE account_id >= $1),
                    (SELECT min(account_id) FROM accounts))
                """, [accountID])
        }
    }

    /// Counts a wrong password and locks the account when it reaches ``wrongPasswordsUntilLocked``.
    private func countWrongPassword(of account: Account) async throws {
        let wrongPasswords = try await database.write { connection -> Int64 in
            let row = try connection.queryOne(
                """
                UPDATE accounts SET failed_sign_ins = failed_sign_ins + 1, locked = (locked OR failed_sign_ins + 1 >= $2)
                WHERE account_id = $1 RETURNING failed_sign_ins
                """, [account.accountID.rawValue, Self.wrongPasswordsUntilLocked])
            let wrongPasswords = try row?.int64(0) ?? 0
            if wrongPasswords == Self.wrongPasswordsUntilLocked { try connection.announce("accounts") }
            return wrongPasswords
        }
        // The cached accounts hold the lock but not the count. Clearing the cache on each wrong password would make the
        // store look up every device again.
        if wrongPasswords == Self.wrongPasswordsUntilLocked {
            signedIn.removeAll()
            changed()
        }
    }

    private static let wrongPassword = StoreError(
        .wrongPassword, "The e-mail address and password do not match.")

    private static let locked = StoreError(.accountLocked, "The account is locked. Unlock it through the control port.")

    private static let columns =
        "account_id, email, storefront, payments_allowed, asks_to_buy, locked, created_at, interrupts_purchases, renewal_rate"

    private static func account(_ row: Row) throws -> Account {
        Account(
            accountID: AccountID(try row.string(0)), email: try row.string(1), storefront: try row.string(2),
            paymentsAllowed: try row.bool(3), asksToBuy: try row.bool(4), isLocked: try row.bool(5),
            createdAt: try row.int64(6), interruptsPurchases: try row.bool(7),
            renewalRate: RenewalRate(rawValue: try row.string(8)) ?? .real)
    }

    private static func normalized(_ email: String) throws -> String {
        let parts = email.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, email.utf8.count <= 254, parts.allSatisfy({ !$0.isEmpty }),
            email.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
        else { throw StoreError(.invalidRequest, "Invalid e-mail address.") }
        guard email.isInNormalizationFormC else {
            throw StoreError(
                .invalidRequest,
                "The e-mail address is not in Unicode's normalization form C (NFC). Normalize it first.")
        }
        return email.lowercased()
    }

    private static func digest(_ token: some StringProtocol) -> [UInt8] {
        // Each purchase needs a digest. `token.utf8` and the digest as a sequence would be copied byte by byte.
        var text = String(token)
        var hash = SHA256()
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hash.finalize().withUnsafeBytes { Array($0) }
    }

    private static func newID() -> String { Hexadecimal.encoded(RandomBytes.make(8)) }

    private static func newToken() -> String { Hexadecimal.encoded(RandomBytes.make(32)) }
}
