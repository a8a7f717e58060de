import StoreReceipts

extension StoreUnderLoad {
    /// The App Store Server API's signed transaction by its id, of another transaction each time.
    /// - Parameter count: The number of requests to prepare. The load fails when they do not suffice.
    func signedTransactions(_ key: ServerAPIKey, _ count: Int) throws -> ServerUnderLoad {
        let ledger = ledger
        let requests = try key.requests(count) { number in
            // A step that is coprime to the number of transactions scatters them.
            "/inApps/v1/transactions/\(ledger.transactionID(number * 7_919 % ledger.transactions))"
        }
        return try serverAPI("signed transaction", requests, answering: #""signedTransactionInfo":""#)
    }

    /// The first page of customers' histories. They must have more than one.
    /// - Parameters:
    ///   - accounts: how many of the accounts are asked for. The store keeps the signatures of some 25.
    ///   - count: as for ``signedTransactions(_:_:)``.
    func histories(_ key: ServerAPIKey, of accounts: Int, _ count: Int) throws -> ServerUnderLoad {
        let ledger = ledger
        let requests = try key.requests(count) { number in
            "/inApps/v2/history/\(ledger.subscriptionID(number % accounts))"
        }
        return try serverAPI("history of \(accounts) customers", requests, answering: #""hasMore":true"#)
    }

    /// The statuses of customers' subscriptions.
    /// - Parameters:
    ///   - accounts: how many of the accounts are asked for.
    ///   - count: as for ``signedTransactions(_:_:)``.
    func statuses(_ key: ServerAPIKey, of accounts: Int, _ count: Int) throws -> ServerUnderLoad {
        let ledger = ledger
        let step = ledger.accounts / accounts
        let requests = try key.requests(count) { number in
            "/inApps/v1/subscriptions/\(ledger.subscriptionID((number % accounts) * step))"
        }
        return try serverAPI(
            "statuses among \(ledger.accounts) customers", requests, answering: #""signedRenewalInfo":""#)
    }

    private func serverAPI(
        _ name: String, _ requests: @escaping LoadGenerator.Requests, answering text: String
    ) throws -> ServerUnderLoad {
        ServerUnderLoad(
            name: name, child: store.child, port: try store.port("sandbox"), requests: requests,
            accepts: { Self.contains($0, text) })
    }

    /// The OCSP responder's answer about the certificate that signs transactions.
    func certificateStatus() throws -> ServerUnderLoad {
        let chain = authority.jwsIdentity(for: .sandbox).certificates
        guard chain.count > 1 else { throw BenchmarkError("the store's chain has no issuer") }
        let request = LoadGenerator.post(
            "/ocsp", contentType: "application/ocsp-request",
            body: try OCSPQuestion(about: chain[0], issuedBy: chain[1]).der)
        return ServerUnderLoad(
            name: "OCSP", child: store.child, port: try store.port("sandbox"), requests: { _, _ in request },
            accepts: { OCSPQuestion.isGood($0) })
    }
}
