import Foundation

/// The rules of a vault: which purchases count, which are used up, and that every grant needs evidence. It is a value.
/// The caller writes a changed ledger to disk before the change becomes visible.
struct VaultLedger: Sendable, Equatable {
    private(set) var contents: VaultContents
    private let grants: [String: VaultGrant]
    /// The purchases proved by the evidence in `contents`, by digest. Evidence that did not verify is absent.
    private var proofs: [String: [VaultProof]]
    /// The amount of each verified transaction in `contents.credits`.
    private var worth: [String: Worth] = [:]

    struct Worth: Sendable, Equatable {
        var currency: String
        var amount: Int
    }

    init(_ contents: VaultContents, grants: [String: VaultGrant], proofs: [String: [VaultProof]]) {
        self.contents = contents
        self.grants = grants
        self.proofs = proofs
        for credit in contents.credits {
            guard let proof = proof(of: credit), let found = Self.worth(of: proof, grants) else { continue }
            worth[credit.transactionID] = found
        }
    }

    // MARK: Reading

    /// The balance of a currency; never negative.
    func balance(_ currency: String) -> Int {
        max(0, credited(currency) - (contents.spent[currency] ?? 0))
    }

    /// The balances above zero, by currency.
    var balances: [String: Int] {
        var balances: [String: Int] = [:]
        for currency in Set(worth.values.map(\.currency)) {
            let balance = balance(currency)
            if balance > 0 { balances[currency] = balance }
        }
        return balances
    }

    /// Whether the customer owns the product at a time.
    func isUnlocked(_ productID: String, at date: Date) -> Bool {
        guard grants[productID] == .unlock else { return false }
        return contents.unlocks.contains { unlock in
            guard unlock.productID == productID, let proof = proof(of: unlock), !proof.isRevoked else { return false }
            return proof.expires.map { date < $0 } ?? true
        }
    }

    private func credited(_ currency: String) -> Int {
        var sum = 0
        for worth in worth.values where worth.currency == currency {
            let next = sum.addingReportingOverflow(worth.amount)
            sum = next.overflow ? .max : next.partialValue
        }
        return sum
    }

    private func proof(of credit: VaultContents.Credit) -> VaultProof? {
        proofs[credit.evidence]?.first {
            $0.transactionID == credit.transactionID && $0.productID == credit.productID && $0.isFirst
        }
    }

    private func proof(of unlock: VaultContents.Unlock) -> VaultProof? {
        VaultProof.best(of: proofs[unlock.evidence]?.filter { $0.proves(unlock) } ?? [])
    }

    static func worth(of proof: VaultProof, _ grants: [String: VaultGrant]) -> Worth? {
        guard case .credit(let amount, let currency)? = grants[proof.productID], amount > 0, !proof.isRevoked else {
            return nil
        }
        let product = amount.multipliedReportingOverflow(by: proof.quantity)
        return product.overflow ? nil : Worth(currency: currency, amount: product.partialValue)
    }

    // MARK: Recording

    /// Records one purchase, with the receipt that proves it.
    mutating func record(
        _ proof: VaultProof, _ evidence: VaultEvidence, at date: Date
    ) throws(VaultError) -> VaultChange {
        switch grants[proof.productID] {
        case nil:
            throw VaultError(.unknownProduct, "the vault's configuration has no grant for \(proof.productID)")
        case .unlock:
            guard !proof.isRevoked else {
                throw VaultError(.evidenceRefused, "the receipt shows \(proof.productID) as refunded")
            }
            return try recordUnlock(proof, evidence, at: date)
        case .credit: return try recordCredit(proof, evidence)
        }
    }

    /// Records every unlock of an app receipt, and revokes products that it shows as refunded.
    mutating func recordAll(_ evidence: VaultEvidence, at date: Date) throws(VaultError) -> [VaultChange] {
        var changes: [VaultChange] = []
        var purchases: [String: [VaultProof]] = [:]
        for proof in evidence.proofs where grants[proof.productID] == .unlock {
            purchases[proof.purchase, default: []].append(proof)
        }
        for name in purchases.keys.sorted() {
            guard let proof = VaultProof.best(of: purchases[name] ?? []) else { continue }
            let change = try proof.isRevoked ? revoke(proof, evidence) : recordUnlock(proof, evidence, at: date)
            if change != .alreadyRecorded { changes.append(change) }
        }
        return changes
    }

    private mutating func revoke(_ proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) -> VaultChange {
        try noteRefund(of: proof, evidence)
        guard let index = contents.unlocks.firstIndex(where: proof.proves) else { return .alreadyRecorded }
        contents.unlocks.remove(at: index)
        dropUnusedEvidence()
        return .revoked(proof.productID)
    }

    /// Remembers the date of a receipt that shows a refund of the purchase, so that no older receipt undoes the refund.
    private mutating func noteRefund(of proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) {
        let known = contents.revoked[proof.purchase]
        if known == nil { try checkRoom(contents.revoked.count) }
        contents.revoked[proof.purchase] = max(known ?? .distantPast, evidence.date)
    }

    private mutating func recordUnlock(
        _ proof: VaultProof, _ evidence: VaultEvidence, at date: Date
    ) throws(VaultError) -> VaultChange {
        // A receipt from before the refund does not undo the refund. Earlier versions noted the original transaction
        // alone, which all plans of a subscription group share.
        for name in [proof.purchase, proof.originalTransactionID] {
            if let refund = contents.revoked[name], evidence.date <= refund { return .alreadyRecorded }
        }
        contents.revoked[proof.purchase] = nil
        contents.revoked[proof.originalTransactionID] = nil
        let refunded = evidence.proofs.filter { $0.isRevoked && $0.purchase == proof.purchase }
        if !refunded.isEmpty { try noteRefund(of: proof, evidence) }
        guard let index = contents.unlocks.firstIndex(where: proof.proves) else {
            try checkRoom(contents.unlocks.count)
            try keep(evidence)
            contents.unlocks.append(
                VaultContents.Unlock(
                    productID: proof.productID, originalTransactionID: proof.originalTransactionID,
                    evidence: evidence.digest))
            return .unlocked(proof.productID)
        }
        let old = self.proof(of: contents.unlocks[index])
        let isRefunded = refunded.contains { $0.transactionID == old?.transactionID }
        if let old, !isRefunded {
            // An older period of a subscription does not replace a newer one.
            if let end = old.expires, proof.expires.map({ $0 < end }) ?? false { return .alreadyRecorded }
            guard contents.unlocks[index].evidence != evidence.digest else { return .alreadyRecorded }
        }
        try keep(evidence)
        contents.unlocks[index].evidence = evidence.digest
        dropUnusedEvidence()
        if isRefunded, !isUnlocked(proof.productID, at: date) { return .revoked(proof.productID) }
        return old == nil || old?.expires != proof.expires ? .unlocked(proof.productID) : .alreadyRecorded
    }

    private mutating func recordCredit(_ proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) -> VaultChange
    {
        guard proof.isFirst else {
            throw VaultError(.evidenceRefused, "a restored or renewed transaction is not credited again")
        }
        guard let value = Self.worth(of: proof, grants) else {
            throw VaultError(
                .evidenceRefused, "the receipt shows \(proof.productID) as refunded, or its grant is not positive")
        }
        let id = proof.transactionID
        if let index = contents.credits.firstIndex(where: { $0.transactionID == id }) {
            // The credit is known, but its evidence no longer verified. The new evidence does.
            guard worth[id] == nil, contents.credits[index].productID == proof.productID else {
                return .alreadyRecorded
            }
            try keep(evidence)
            contents.credits[index].evidence = evidence.digest
            dropUnusedEvidence()
            worth[id] = value
            return .credited(value.amount, of: value.currency)
        }
        guard !contents.counted.contains(id) else { return .alreadyRecorded }
        try checkRoom(contents.credits.count)
        guard contents.counted.count + contents.lost.count + contents.credits.count < VaultLimits.counted else {
            throw VaultError(.tooLarge, "the vault has reached its limit of \(VaultLimits.counted) transactions")
        }
        try keep(evidence)
        contents.credits.append(
            VaultContents.Credit(productID: proof.productID, transactionID: id, evidence: evidence.digest))
        worth[id] = value
        var added = value.amount
        if let index = contents.lost.firstIndex(of: id) {
            // The transaction was credited before, and may be spent. All lost transactions together bring back at most
            // the balance before the loss.
            contents.lost.remove(at: index)
            added = min(value.amount, contents.recoverable[value.currency] ?? 0)
            take(value.amount - added, of: value.currency)
            contents.recoverable[value.currency, default: 0] -= added
        }
        settle(value.currency)
        return added > 0 ? .credited(added, of: value.currency) : .alreadyRecorded
    }

    private func checkRoom(_ count: Int) throws(VaultError) {
        guard count < VaultLimits.entries else {
            throw VaultError(.tooLarge, "the vault has reached its limit of \(VaultLimits.entries) purchases")
        }
    }

    // MARK: Spending

    /// Deducts an amount from a balance, once for each key.
    mutating func spend(
        _ amount: Int, of currency: String, key: String, at date: Date
    ) throws(VaultError) -> VaultSpend {
        guard amount > 0, [currency, key].allSatisfy({ !$0.isEmpty && $0.utf8.count <= VaultLimits.text }) else {
            throw VaultError(
                .invalidSpend,
                "invalid spend: the amount must be positive, the currency and key 1 to \(VaultLimits.text) bytes long")
        }
        if let known = contents.spends.last(where: { $0.key == key }) {
            guard known.amount == amount, known.currency == currency else {
                throw VaultError(.keyReused, "the key “\(key)” was used for another amount or currency")
            }
            return .alreadySpent
        }
        let balance = balance(currency)
        guard balance >= amount else {
            throw VaultError(.insufficientBalance, "cannot spend \(amount) of \(currency); the balance is \(balance)")
        }
        take(amount, of: currency)
        contents.spends.append(VaultContents.Spend(key: key, currency: currency, amount: amount, date: date))
        if contents.spends.count > VaultLimits.spends {
            contents.spends.removeFirst(contents.spends.count - VaultLimits.spends)
        }
        settle(currency)
        return .spent(left: self.balance(currency))
    }

    private mutating func take(_ amount: Int, of currency: String) {
        guard amount > 0 else { return }
        let sum = (contents.spent[currency] ?? 0).addingReportingOverflow(amount)
        contents.spent[currency] = sum.overflow ? .max : sum.partialValue
    }

    /// Moves credits that are used up to `counted`, and drops their evidence.
    private mutating func settle(_ currency: String) {
        var spent = contents.spent[currency] ?? 0
        var settled: Set<String> = []
        for credit in contents.credits {
            guard let value = worth[credit.transactionID], value.currency == currency else { continue }
            guard value.amount <= spent else { break }
            spent -= value.amount
            settled.insert(credit.transactionID)
        }
        guard !settled.isEmpty else { return }
        contents.spent[currency] = spent == 0 ? nil : spent
        contents.counted += contents.credits.filter { settled.contains($0.transactionID) }.map(\.transactionID)
        contents.credits.removeAll { settled.contains($0.transactionID) }
        for id in settled { worth[id] = nil }
        dropUnusedEvidence()
    }

    // MARK: After a loss

    /// Lowers balances to those in the mark, when the file is an older copy or missing.
    mutating func lower(to mark: VaultMark) {
        let known = Set(contents.credits.map(\.transactionID) + contents.counted + contents.lost)
        contents.lost += mark.counted.filter { !known.contains($0) }
        // A credit that does not verify now would count in full when it verifies again, even if it was spent.
        contents.lost += contents.credits.map(\.transactionID).filter { worth[$0] == nil }
        contents.credits.removeAll { worth[$0.transactionID] == nil }
        for currency in Set(balances.keys).union(mark.balances.keys) {
            let there = balance(currency)
            let last = mark.balances[currency] ?? 0
            if there > last { take(there - last, of: currency) }
            contents.recoverable[currency] = max(0, last - there)
            settle(currency)
        }
    }

    /// Counts all credits as spent, when the spent amount is unknown.
    mutating func lowerToNought() {
        contents.counted += contents.credits.map(\.transactionID)
        contents.credits = []
        contents.spent = [:]
        contents.recoverable = [:]
        worth = [:]
        dropUnusedEvidence()
    }

    /// Binds the ledger to this device. It removes all purchases of the other device. Transactions that were credited
    /// there, including those in the mark, are never credited here.
    mutating func rebind(to device: UUID, _ mark: VaultMark?) {
        var fresh = VaultContents(device: device)
        fresh.generation = contents.generation
        fresh.counted = contents.credits.map(\.transactionID) + contents.counted + contents.lost
        let known = Set(fresh.counted)
        fresh.counted += (mark?.counted ?? []).filter { !known.contains($0) }
        contents = fresh
        proofs = [:]
        worth = [:]
    }

    // MARK: Writing

    /// The contents of the next file.
    func next(generation: Int, previous: Data) -> VaultContents {
        var next = contents
        next.generation = generation
        next.previous = previous
        return next
    }

    /// The mark for a file with these contents.
    func mark(generation: Int, digest: Data) -> VaultMark {
        VaultMark(
            generation: generation, digest: digest,
            counted: contents.credits.map(\.transactionID) + contents.counted + contents.lost, balances: balances)
    }

    mutating func wasWritten(_ written: VaultContents) { contents = written }

    // MARK: Evidence

    private mutating func keep(_ evidence: VaultEvidence) throws(VaultError) {
        proofs[evidence.digest] = evidence.proofs
        if contents.evidence[evidence.digest] == nil {
            let size = contents.evidence.values.reduce(evidence.bytes.count) { $0 + $1.count }
            guard size <= VaultLimits.evidence else {
                throw VaultError(
                    .tooLarge, "the vault's receipts would have \(size) bytes; the limit is \(VaultLimits.evidence)")
            }
            contents.evidence[evidence.digest] = evidence.bytes
        }
    }

    /// Adds certificates of a verified app receipt, for verifying the transactions' own receipts.
    mutating func know(_ certificates: [Data]) {
        for certificate in certificates
        where contents.intermediates.count < VaultLimits.intermediates && !contents.intermediates.contains(certificate)
        {
            contents.intermediates.append(certificate)
        }
    }

    private mutating func dropUnusedEvidence() {
        let used = Set(contents.unlocks.map(\.evidence) + contents.credits.map(\.evidence))
        contents.evidence = contents.evidence.filter { used.contains($0.key) }
        proofs = proofs.filter { used.contains($0.key) }
    }
}

extension VaultProof {
    /// Whether this is the original transaction, not a renewal or a restored copy.
    var isFirst: Bool { transactionID == originalTransactionID }

    /// The product and the original transaction. All periods of a subscription's plan have the same.
    var purchase: String { "\(productID) \(originalTransactionID)" }

    func proves(_ unlock: VaultContents.Unlock) -> Bool {
        productID == unlock.productID && originalTransactionID == unlock.originalTransactionID
    }
}
