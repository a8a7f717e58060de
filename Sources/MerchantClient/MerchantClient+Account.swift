import MerchantWire

/// What the user has.
extension MerchantClient {
    /// Who the merchant takes the user for. Give `accountToken` to StoreKit as `applicationUsername` with every payment: what
    /// is bought under it goes to this user, whoever is signed in when it is redeemed.
    ///
    /// - Throws: ``MerchantClientError``.
    public func account() async throws(MerchantClientError) -> UserDescription { try await ask(.account) }

    /// What the user has of each currency, in ``MerchantClientConfiguration/environment``.
    ///
    /// - Throws: ``MerchantClientError``.
    public func balances() async throws(MerchantClientError) -> BalanceList {
        try await ask(.balances(in: configuration.environment))
    }

    /// Takes credits from the user. A lost answer is asked for again, under the same key; when it stays lost, ask again with
    /// the same `key`, and nothing is spent twice.
    ///
    /// - Parameters:
    ///   - amount: At least 1.
    ///   - key: The app's own, new for each thing that is bought, and written down before the first attempt when it must
    ///     not be bought twice over a crash; up to 128 bytes.
    ///   - note: What it was spent on, up to 500 bytes.
    /// - Throws: ``MerchantClientError``; its reason is `insufficientBalance` when there is not enough.
    public func spend(
        _ amount: Int64, of currency: CurrencyID, key: String, note: String? = nil
    ) async throws(MerchantClientError) -> SpendAnswer {
        guard (1...MerchantLimits.amount).contains(amount), (1...MerchantLimits.spendKey).contains(key.utf8.count),
            note?.utf8.count ?? 0 <= MerchantLimits.note
        else {
            throw MerchantClientError(
                .refused, "the amount, the key or the note of a spend is out of bounds", reason: .invalidRequest)
        }
        return try await ask(
            .spends,
            SpendRequest(
                key: key, currency: currency, amount: amount, note: note, environment: configuration.environment))
    }

    /// What the user may use, and why.
    ///
    /// - Throws: ``MerchantClientError``.
    public func entitlements() async throws(MerchantClientError) -> EntitlementList { try await ask(.entitlements) }

    /// A page of what happened to the user's balance, newest first.
    ///
    /// - Parameter before: ``HistoryPage/next`` of the page before; nil for the first.
    /// - Throws: ``MerchantClientError``.
    public func history(
        of currency: CurrencyID, before: Int64? = nil
    ) async throws(MerchantClientError) -> HistoryPage {
        try await ask(.history(currency, before: before, in: configuration.environment))
    }
}
