import MerchantWire

/// The user's account, balances and entitlements.
extension MerchantClient {
    /// Returns the user's name with the merchant and the account token. Pass `accountToken` to StoreKit as
    /// `applicationUsername` with every payment. A purchase that carries the token belongs to this user, whoever is
    /// signed in when it is redeemed.
    ///
    /// - Throws: ``MerchantClientError``.
    public func account() async throws(MerchantClientError) -> UserDescription { try await ask(.account) }

    /// Returns the user's balances in ``MerchantClientConfiguration/environment``.
    ///
    /// - Throws: ``MerchantClientError``.
    public func balances() async throws(MerchantClientError) -> BalanceList {
        try await ask(.balances(in: configuration.environment))
    }

    /// Spends the user's credits. If no answer arrives, the client repeats the request with the same key. If the call
    /// still fails, call it again with the same `key`: the credits are spent once.
    ///
    /// - Parameters:
    ///   - amount: The number of credits, at least 1.
    ///   - key: The idempotency key, up to 128 bytes. Choose a new key for each spend. To prevent a second spend after
    ///     a crash, save the key before the first attempt.
    ///   - note: The purpose of the spend, up to 500 bytes.
    /// - Throws: ``MerchantClientError``; its reason is `insufficientBalance` when the balance is too low.
    public func spend(
        _ amount: Int64, of currency: CurrencyID, key: String, note: String? = nil
    ) async throws(MerchantClientError) -> SpendAnswer {
        guard (1...MerchantLimits.amount).contains(amount), (1...MerchantLimits.spendKey).contains(key.utf8.count),
            note?.utf8.count ?? 0 <= MerchantLimits.note
        else {
            throw MerchantClientError(
                .refused, "the amount, key or note of the spend is out of range", reason: .invalidRequest)
        }
        return try await ask(
            .spends,
            SpendRequest(
                key: key, currency: currency, amount: amount, note: note, environment: configuration.environment))
    }

    /// Returns every entitlement that the user has or had.
    ///
    /// - Throws: ``MerchantClientError``.
    public func entitlements() async throws(MerchantClientError) -> EntitlementList { try await ask(.entitlements) }

    /// Returns a page of the user's ledger entries, newest first.
    ///
    /// - Parameter before: ``HistoryPage/next`` of the previous page; nil for the first page.
    /// - Throws: ``MerchantClientError``.
    public func history(
        of currency: CurrencyID, before: Int64? = nil
    ) async throws(MerchantClientError) -> HistoryPage {
        try await ask(.history(currency, before: before, in: configuration.environment))
    }
}
