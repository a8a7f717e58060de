import Foundation
import StoreKit
import Synchronization

/// What an app sold to its customer, in a file that the customer cannot edit: unlocked products and balances, each backed
/// by the signed receipt that proves it.
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
/// One process holds it at a time, until ``close()`` or the object's end. It may be used from any thread. What is
/// detected and what cannot be is told in `Documentation/PurchaseVault.md`.
public final class PurchaseVault: Sendable {
    private struct State: Sendable {
        var ledger: VaultLedger
        /// Of the file as it lies on the disk; empty when there is none.
        var digest: Data
        var generation: Int
        /// Whether the mark is behind the file.
        var needsMark: Bool
        var isClosed = false
    }

    private let configuration: VaultConfiguration
    private let files: VaultFiles
    private let check: EvidenceCheck
    private let state: Mutex<State>

    /// What was found when it was opened. Look at it: a vault that was tampered with opens all the same, and gives
    /// nothing for it.
    public let report: VaultReport

    /// Opens the vault, or makes an empty one. Every receipt in it is verified again.
    ///
    /// - Throws: ``VaultError`` `notConfigured`, `inUse`, `exposedKey` or `storage`. What was tampered with is no error:
    ///   it is in the ``report``.
    public convenience init(_ configuration: VaultConfiguration) async throws(VaultError) {
        try await self.init(configuration, before: { _ in })
    }

    /// `before` is called ahead of each step of writing; what it throws ends the writing there.
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
                // Nothing but the mark is behind, or it is all new: the mark comes before the first file, so that no
                // file is ever without one.
                try files.write(state.ledger.mark(generation: state.generation, digest: digest))
            } else {
                try Self.commit(state.ledger, &state, files)
            }
        }
        report = VaultReport(incidents: opened.incidents, generation: state.generation)
        self.state = Mutex(state)
    }

    deinit { files.release() }

    /// Lets another process open it. Nothing can be recorded or spent any more; what was read stays readable.
    public func close() {
        state.withLock { $0.isClosed = true }
        files.release()
    }

    // MARK: What is there

    /// Whether the product is owned now.
    public func isUnlocked(_ productIdentifier: String) -> Bool {
        let date = configuration.now()
        return state.withLock { $0.ledger.isUnlocked(productIdentifier, at: date) }
    }

    /// The products that are owned now, in alphabetical order.
    public var unlockedProducts: [String] {
        configuration.grants.keys.filter(isUnlocked).sorted()
    }

    /// What is left of a currency; never below nought.
    public func balance(_ currency: String) -> Int { state.withLock { $0.ledger.balance(currency) } }

    // MARK: Recording

    /// Records what a purchased or restored transaction gives, once however often it comes. When it returns, it is on
    /// the disk, and the transaction may be finished.
    ///
    /// The evidence is the app's receipt for what is unlocked and the transaction's own receipt for what is credited;
    /// the other one where the first does not serve.
    ///
    /// - Throws: ``VaultError`` `notPaid`, `unknownProduct`, `noEvidence`, `evidenceRefused`, `tooLarge`, `storage` or
    ///   `closed`. Nothing was recorded then, and the transaction should stay unfinished.
    @discardableResult
    public func record(_ transaction: SKPaymentTransaction) async throws(VaultError) -> VaultChange {
        guard [.purchased, .restored].contains(transaction.transactionState),
            let identifier = transaction.transactionIdentifier
        else { throw VaultError(.notPaid, "only purchased and restored transactions are recorded") }
        let productID = transaction.payment.productIdentifier
        guard let grant = configuration.grants[productID] else {
            throw VaultError(.unknownProduct, "the app's configuration says nothing of \(productID)")
        }
        let original = transaction.original?.transactionIdentifier
        let receipt = await Self.receipt(configuration, check)
        let own = await ownEvidence(of: transaction, receipt)
        var refusal = VaultError(.noEvidence, "no receipt on this device speaks of the transaction of \(productID)")
        var found: (proof: VaultProof, evidence: VaultEvidence)?
        for candidate in grant == .unlock ? [receipt, own] : [own, receipt] where found == nil {
            switch candidate {
            case nil: break
            case .failure(let error): refusal = error
            case .success(let evidence):
                let proofs = evidence.proofs.filter {
                    guard $0.productID == productID else { return false }
                    if $0.transactionID == identifier { return true }
                    // A restored transaction is not in the receipt: its first one is.
                    return grant == .unlock && [identifier, original].contains($0.originalTransactionID)
                }
                found = VaultProof.best(of: proofs).map { ($0, evidence) }
            }
        }
        guard let (proof, evidence) = found else { throw refusal }
        return try change(knowing: receipt) { ledger throws(VaultError) in try ledger.record(proof, evidence) }
    }

    /// Records what a transaction's own receipt proves (the property list of iOS 6), for apps that keep these.
    ///
    /// - Throws: ``VaultError`` as ``record(_:)``.
    @discardableResult
    public func record(transactionReceipt: Data) async throws(VaultError) -> VaultChange {
        let receipt = await Self.receipt(configuration, check)
        let evidence = try await check.knowing(intermediates(receipt)).verify(transactionReceipt).get()
        guard evidence.proofs.count == 1, let proof = evidence.proofs.first, evidence.certificates.isEmpty else {
            throw VaultError(.evidenceRefused, "these bytes are no receipt of one transaction")
        }
        return try change(knowing: receipt) { ledger throws(VaultError) in try ledger.record(proof, evidence) }
    }

    /// Takes every unlock that the app's receipt on this device proves, and takes back what it says was refunded: after
    /// a restore, a refresh, or when the vault was lost. Balances are not touched; their transactions come through the
    /// queue.
    ///
    /// - Returns: what changed.
    /// - Throws: ``VaultError`` `noEvidence` when there is no receipt, `evidenceRefused`, `tooLarge`, `storage` or `closed`.
    @discardableResult
    public func recordReceipt() async throws(VaultError) -> [VaultChange] {
        guard let receipt = await Self.receipt(configuration, check) else {
            throw VaultError(.noEvidence, "there is no receipt at \(configuration.receiptURL.path)")
        }
        let evidence = try receipt.get()
        return try change(knowing: receipt) { ledger throws(VaultError) in try ledger.recordAll(evidence) }
    }

    // MARK: Spending

    /// Takes from a balance, and never below nought. The key names what it is for: a spend that is repeated under the
    /// same key, say after a crash, is made once. The latest thousand keys are remembered.
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

    /// Changes the ledger, writes it down, and only then lets it be seen.
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

    /// First the file, then its mark. A process that ends in between leaves a file that names the marked one as the one
    /// before it.
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

    /// The app's receipt on this device, verified; nil when there is none.
    private static func receipt(
        _ configuration: VaultConfiguration, _ check: EvidenceCheck
    ) async -> Result<VaultEvidence, VaultError>? {
        guard let bytes = BoundedFile.read(configuration.receiptURL, limit: VaultLimits.receipt) else {
            guard FileManager.default.fileExists(atPath: configuration.receiptURL.path) else { return nil }
            return .failure(VaultError(.tooLarge, "\(configuration.receiptURL.path) cannot be read, or is too large"))
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
