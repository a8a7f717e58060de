import Foundation
import StoreKit
import Synchronization

/// A tamper-evident record of the customer's purchases: unlocked products and balances, each backed by a signed
/// receipt.
///
/// ```swift
/// let vault = try await PurchaseVault(
///     VaultConfiguration(
///         storeKit: .current, grants: ["com.example.sepia": .unlock, "com.example.coins": .credit(10, of: "coins")],
///         now: { Date() }))
///
/// case .purchased, .restored:
///     try await vault.record(transaction)
///     queue.finishTransaction(transaction)
/// ```
///
/// One process holds a vault at a time, until ``close()`` or the end of the object. A vault can be used from any
/// thread. `Documentation/PurchaseVault.md` lists the manipulations that a vault detects, and those that it cannot
/// detect.
public final class PurchaseVault: Sendable {
    private struct State: Sendable {
        var ledger: VaultLedger
        /// The SHA-256 of the file on disk; empty when there is none.
        var digest: Data
        var generation: Int
        /// Whether the mark is older than the file.
        var needsMark: Bool
        var isClosed = false
    }

    private let configuration: VaultConfiguration
    private let files: VaultFiles
    private let check: EvidenceCheck
    private let state: Mutex<State>

    /// The findings of the opening. Check them: a vault opens even after tampering, and grants nothing for the changes.
    public let report: VaultReport

    /// Opens the vault, or creates an empty one. It verifies every receipt in the vault again.
    ///
    /// - Throws: ``VaultError`` `notConfigured`, `inUse`, `exposedKey` or `storage`. Tampering is not an error; it is
    ///   in the ``report``.
    public convenience init(_ configuration: VaultConfiguration) async throws(VaultError) {
        try await self.init(configuration, before: { _ in })
    }

    /// The vault calls `before` ahead of each step of a write. If `before` throws, the write ends there.
    init(
        _ configuration: VaultConfiguration, before: @escaping @Sendable (VaultFiles.Step) throws -> Void
    ) async throws(VaultError) {
        self.configuration = configuration
        check = try EvidenceCheck(configuration)
        files = try VaultFiles(configuration, before: before)
        let file = try files.readFile()
        let found = VaultRecovery(file: file, mark: try files.readMark(), device: configuration.deviceIdentifier)
        let receipt = await Self.receipt(configuration, check)
        let opened = await VaultOpening(found, receipt, configuration, check)

        var digest = Data()
        if case .read(let file) = file { digest = file.digest }
        var state = State(
            ledger: opened.ledger, digest: digest, generation: found.lastGeneration, needsMark: false)
        if found.mustWrite || opened.mustWrite {
            if file == .unreadable { try files.putAside() }
            if found.incidents.isEmpty, !opened.mustWrite {
                // Only the mark is older, or the vault is new. The mark is written before the first file, so that no
                // file is ever without a mark.
                try files.write(state.ledger.mark(generation: state.generation, digest: digest))
            } else {
                try Self.commit(state.ledger, &state, files)
            }
        }
        report = VaultReport(incidents: opened.incidents, generation: state.generation)
        self.state = Mutex(state)
    }

    deinit { files.release() }

    /// Closes the vault, so that another process can open it. The object can no longer record or spend, but its
    /// unlocked products and balances stay readable.
    public func close() {
        state.withLock { $0.isClosed = true }
        files.release()
    }

    // MARK: Reading

    /// Whether the customer owns the product now.
    public func isUnlocked(_ productIdentifier: String) -> Bool {
        let date = configuration.now()
        return state.withLock { $0.ledger.isUnlocked(productIdentifier, at: date) }
    }

    /// The products that the customer owns now, in alphabetical order.
    public var unlockedProducts: [String] {
        configuration.grants.keys.filter(isUnlocked).sorted()
    }

    /// The balance of a currency; never negative.
    public func balance(_ currency: String) -> Int { state.withLock { $0.ledger.balance(currency) } }

    // MARK: Recording

    /// Records the grant of a purchased or restored transaction, once for each transaction. On return the change is on
    /// disk, and the app may finish the transaction.
    ///
    /// The evidence for an unlock is the app receipt, and for a credit the transaction's own receipt. If that receipt
    /// does not prove the purchase, the vault uses the other one.
    ///
    /// - Throws: ``VaultError`` `notPaid`, `unknownProduct`, `noEvidence`, `evidenceRefused`, `tooLarge`, `storage` or
    ///   `closed`. The vault is then unchanged, and the app should leave the transaction unfinished.
    @discardableResult
    public func record(_ transaction: SKPaymentTransaction) async throws(VaultError) -> VaultChange {
        guard [.purchased, .restored].contains(transaction.transactionState),
            let identifier = transaction.transactionIdentifier
        else { throw VaultError(.notPaid, "the transaction is not purchased or restored, and cannot be recorded") }
        let productID = transaction.payment.productIdentifier
        guard let grant = configuration.grants[productID] else {
            throw VaultError(.unknownProduct, "the vault's configuration has no grant for \(productID)")
        }
        let original = transaction.original?.transactionIdentifier
        let receipt = await Self.receipt(configuration, check)
        let own = await ownEvidence(of: transaction, receipt)
        var refusal = VaultError(.noEvidence, "no receipt on this device contains the transaction of \(productID)")
        var found: (proof: VaultProof, evidence: VaultEvidence)?
        for candidate in grant == .unlock ? [receipt, own] : [own, receipt] where found == nil {
            switch candidate {
            case nil: break
            case .failure(let error): refusal = error
            case .success(let evidence):
                let proofs = evidence.proofs.filter {
                    guard $0.productID == productID else { return false }
                    if $0.transactionID == identifier { return true }
                    // The receipt does not contain a restored transaction, but its original transaction.
                    return grant == .unlock && [identifier, original].contains($0.originalTransactionID)
                }
                found = VaultProof.best(of: proofs).map { ($0, evidence) }
            }
        }
        guard let (proof, evidence) = found else { throw refusal }
        let date = configuration.now()
        return try change(knowing: receipt) { ledger throws(VaultError) in
            try ledger.record(proof, evidence, at: date)
        }
    }

    /// Records the purchase in a transaction's own receipt (the property list of iOS 6), for apps that store such
    /// receipts.
    ///
    /// - Throws: ``VaultError``, as ``record(_:)`` does.
    @discardableResult
    public func record(transactionReceipt: Data) async throws(VaultError) -> VaultChange {
        let receipt = await Self.receipt(configuration, check)
        let evidence = try await check.knowing(intermediates(receipt)).verify(transactionReceipt).get()
        guard evidence.proofs.count == 1, let proof = evidence.proofs.first, evidence.certificates.isEmpty else {
            throw VaultError(.evidenceRefused, "the data is not the receipt of one transaction")
        }
        let date = configuration.now()
        return try change(knowing: receipt) { ledger throws(VaultError) in
            try ledger.record(proof, evidence, at: date)
        }
    }

    /// Records every unlock in the app receipt on this device, and revokes products that the receipt shows as refunded.
    /// Call it after a restore, a receipt refresh or the loss of a vault. Balances stay unchanged; their transactions
    /// arrive through the queue.
    ///
    /// - Returns: the changes.
    /// - Throws: ``VaultError`` `noEvidence` when there is no receipt, `evidenceRefused`, `tooLarge`, `storage` or
    ///   `closed`.
    @discardableResult
    public func recordReceipt() async throws(VaultError) -> [VaultChange] {
        guard let receipt = await Self.receipt(configuration, check) else {
            throw VaultError(.noEvidence, "there is no receipt at \(configuration.receiptURL.path)")
        }
        let evidence = try receipt.get()
        let date = configuration.now()
        return try change(knowing: receipt) { ledger throws(VaultError) in
            try ledger.recordAll(evidence, at: date)
        }
    }

    // MARK: Spending

    /// Deducts an amount from a balance, which never becomes negative.
    ///
    /// `key` is an idempotency key: a spend that is repeated with the same key, for example after a crash, is made
    /// once. The vault remembers the latest thousand keys.
    ///
    /// - Throws: ``VaultError`` `insufficientBalance`, `invalidSpend`, `keyReused`, `storage` or `closed`. After
    ///   `storage`, try again with the same key.
    @discardableResult
    public func spend(_ amount: Int, of currency: String, key: String) throws(VaultError) -> VaultSpend {
        let date = configuration.now()
        return try change(knowing: nil) { ledger throws(VaultError) in
            try ledger.spend(amount, of: currency, key: key, at: date)
        }
    }

    // MARK: Changing

    /// Changes a copy of the ledger, writes it to disk, and only then makes it visible.
    private func change<Value: Sendable>(
        knowing receipt: Result<VaultEvidence, VaultError>?,
        _ body: (inout VaultLedger) throws(VaultError) -> Value
    ) throws(VaultError) -> Value {
        let result: Result<Value, VaultError> = state.withLock { state in
            do throws(VaultError) {
                guard !state.isClosed else { throw VaultError(.closed, "the vault was closed") }
                var ledger = state.ledger
                let value = try body(&ledger)
                guard ledger.contents != state.ledger.contents else {
                    state.ledger = ledger
                    return .success(value)
                }
                if case .success(let evidence)? = receipt { ledger.know(evidence.certificates) }
                try Self.commit(ledger, &state, files)
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Writes the file, then its mark. After a crash in between, the file contains the digest of the marked file as its
    /// predecessor.
    private static func commit(_ ledger: VaultLedger, _ state: inout State, _ files: VaultFiles) throws(VaultError) {
        if state.needsMark {
            try files.write(state.ledger.mark(generation: state.generation, digest: state.digest))
            state.needsMark = false
        }
        var ledger = ledger
        let contents = ledger.next(generation: state.generation + 1, previous: state.digest)
        let digest = try files.write(contents)
        ledger.wasWritten(contents)
        state.ledger = ledger
        state.digest = digest
        state.generation = contents.generation
        state.needsMark = true
        try files.write(ledger.mark(generation: state.generation, digest: digest))
        state.needsMark = false
    }

    // MARK: Evidence

    /// The verified app receipt on this device; nil when there is none.
    private static func receipt(
        _ configuration: VaultConfiguration, _ check: EvidenceCheck
    ) async -> Result<VaultEvidence, VaultError>? {
        guard let bytes = BoundedFile.read(configuration.receiptURL, limit: VaultLimits.receipt) else {
            guard FileManager.default.fileExists(atPath: configuration.receiptURL.path) else { return nil }
            return .failure(VaultError(.tooLarge, "\(configuration.receiptURL.path) is unreadable or too large"))
        }
        return await check.verify(bytes)
    }

    private func ownEvidence(
        of transaction: SKPaymentTransaction, _ receipt: Result<VaultEvidence, VaultError>?
    ) async -> Result<VaultEvidence, VaultError>? {
        guard let bytes = transaction.transactionReceipt else { return nil }
        return await check.knowing(intermediates(receipt)).verify(bytes)
    }

    private func intermediates(_ receipt: Result<VaultEvidence, VaultError>?) -> [Data] {
        let known = state.withLock { $0.ledger.contents.intermediates }
        guard case .success(let evidence)? = receipt else { return known }
        return known + evidence.certificates
    }
}
