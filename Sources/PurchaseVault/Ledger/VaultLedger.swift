import Foundation

/// The vault's rules over its contents: what counts, what is used up, and that nothing is granted without evidence. It
/// is a value: who changes it writes it down before anyone sees the change.
struct VaultLedger: Sendable, Equatable {
    private(set) var contents: VaultContents
    private let grants: [String: VaultGrant]
    /// What the evidence in `contents` proves, by its digest; what did not verify is not in it.
    private var proofs: [String: [VaultProof]]
    /// What a transaction is worth that stands in `contents.credits` and verified.
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

    // MARK: What is there

    /// What is left of a currency; never below nought.
    func balance(_ currency: String) -> Int {
        max(0, credited(currency) - (contents.spent[currency] ?? 0))
    }

    /// Every currency that something is left of.
    var balances: [String: Int] {
        var balances: [String: Int] = [:]
        for currency in Set(worth.values.map(\.currency)) {
            let balance = balance(currency)
            if balance > 0 { balances[currency] = balance }
        }
        return balances
    }

    /// Whether the product is owned at a time.
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

    /// Records one purchase on the strength of a receipt that proves it.
    mutating func record(_ proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) -> VaultChange {
        switch grants[proof.productID] {
        case nil:
            throw VaultError(.unknownProduct, "the app's configuration says nothing of \(proof.productID)")
        case .unlock:
            guard !proof.isRevoked else {
                throw VaultError(.evidenceRefused, "the receipt says that \(proof.productID) was refunded")
            }
            return try recordUnlock(proof, evidence)
        case .credit: return try recordCredit(proof, evidence)
        }
    }

    /// Records every unlock of an app receipt, and takes back what it says was refunded.
    mutating func recordAll(_ evidence: VaultEvidence) throws(VaultError) -> [VaultChange] {
        var changes: [VaultChange] = []
        var purchases: [String: [VaultProof]] = [:]
        for proof in evidence.proofs where grants[proof.productID] == .unlock {
            purchases["\(proof.productID) \(proof.originalTransactionID)", default: []].append(proof)
        }
        for name in purchases.keys.sorted() {
            guard let proof = VaultProof.best(of: purchases[name] ?? []) else { continue }
            let change = try proof.isRevoked ? revoke(proof, evidence) : recordUnlock(proof, evidence)
            if change != .alreadyRecorded { changes.append(change) }
        }
        return changes
    }

    private mutating func revoke(_ proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) -> VaultChange {
        try checkRoom(contents.revoked.count)
        let known = contents.revoked[proof.originalTransactionID] ?? .distantPast
        contents.revoked[proof.originalTransactionID] = max(known, evidence.date)
        guard let index = contents.unlocks.firstIndex(where: proof.proves) else { return .alreadyRecorded }
        contents.unlocks.remove(at: index)
        dropUnusedEvidence()
        return .revoked(proof.productID)
    }

    private mutating func recordUnlock(_ proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) -> VaultChange
    {
        // A receipt of before the refund does not undo it.
        if let date = contents.revoked[proof.originalTransactionID], evidence.date <= date { return .alreadyRecorded }
        contents.revoked[proof.originalTransactionID] = nil
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
        if let old {
            // An older period of a subscription does not take the place of a newer one.
            if let end = old.expires, proof.expires.map({ $0 < end }) ?? false { return .alreadyRecorded }
            guard contents.unlocks[index].evidence != evidence.digest else { return .alreadyRecorded }
        }
        try keep(evidence)
        contents.unlocks[index].evidence = evidence.digest
        dropUnusedEvidence()
        return old == nil || old?.expires != proof.expires ? .unlocked(proof.productID) : .alreadyRecorded
    }

    private mutating func recordCredit(_ proof: VaultProof, _ evidence: VaultEvidence) throws(VaultError) -> VaultChange
    {
        guard proof.isFirst else {
            throw VaultError(.evidenceRefused, "a purchase that was made before is not credited again")
        }
        guard let value = Self.worth(of: proof, grants) else {
            throw VaultError(
                .evidenceRefused, "the receipt says that \(proof.productID) was refunded or is worth nothing")
        }
        let id = proof.transactionID
        if let index = contents.credits.firstIndex(where: { $0.transactionID == id }) {
            // Known, but its evidence had stopped to verify: this one does.
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
            throw VaultError(.tooLarge, "the vault holds \(VaultLimits.counted) transactions and takes no more")
        }
        try keep(evidence)
        contents.credits.append(
            VaultContents.Credit(productID: proof.productID, transactionID: id, evidence: evidence.digest))
        worth[id] = value
        var added = value.amount
        if let index = contents.lost.firstIndex(of: id) {
            // It was credited before, and partly spent: together they bring back what was left, and no more.
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
            throw VaultError(.tooLarge, "the vault holds \(VaultLimits.entries) purchases and takes no more")
        }
    }

    // MARK: Spending

    /// Takes from a balance, once for a key.
    mutating func spend(
        _ amount: Int, of currency: String, key: String, at date: Date
    ) throws(VaultError) -> VaultSpend {
        guard amount > 0, [currency, key].allSatisfy({ !$0.isEmpty && $0.utf8.count <= VaultLimits.text }) else {
            throw VaultError(
                .invalidSpend, "an amount is above zero, and a currency and a key have 1 to \(VaultLimits.text) bytes")
        }
        if let known = contents.spends.last(where: { $0.key == key }) {
            guard known.amount == amount, known.currency == currency else {
                throw VaultError(.keyReused, "the key “\(key)” was used for another amount or currency")
            }
            return .alreadySpent
        }
        let balance = balance(currency)
        guard balance >= amount else {
            throw VaultError(.insufficientBalance, "\(amount) of \(currency) were asked for, and \(balance) are there")
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

    /// Credits that are used up need no evidence any more; that they were counted is kept.
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

    /// Lowers balances to what the mark knows, after the file turned out to be an older copy or gone.
    mutating func lower(to mark: VaultMark) {
        let known = Set(contents.credits.map(\.transactionID) + contents.counted + contents.lost)
        contents.lost += mark.counted.filter { !known.contains($0) }
        // What does not verify now would count whole when it does again, spent or not.
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

    /// Counts all credits as spent, when nobody can say what was.
    mutating func lowerToNought() {
        contents.counted += contents.credits.map(\.transactionID)
        contents.credits = []
        contents.spent = [:]
        contents.recoverable = [:]
        worth = [:]
        dropUnusedEvidence()
    }

    /// Makes it this device's: nothing that another device's receipts prove stays, and what was credited there, the mark's
    /// transactions included, never counts here.
    mutating func leaveBehindEverything(for device: UUID, _ mark: VaultMark?) {
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

    /// What goes into the next file.
    func next(generation: Int, previous: Data) -> VaultContents {
        var next = contents
        next.generation = generation
        next.previous = previous
        return next
    }

    /// The mark of a file with this.
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
                throw VaultError(.tooLarge, "the vault's receipts would have \(size) bytes, more than it takes")
            }
            contents.evidence[evidence.digest] = evidence.bytes
        }
    }

    /// Certificates of a verified app receipt, for the transactions' own receipts.
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
    /// Whether it is the purchase itself, not a renewal or a restored copy of it.
    var isFirst: Bool { transactionID == originalTransactionID }

    func proves(_ unlock: VaultContents.Unlock) -> Bool {
        productID == unlock.productID && originalTransactionID == unlock.originalTransactionID
    }
}
