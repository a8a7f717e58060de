import Foundation

/// A vault's ledger after opening. All its evidence was verified again, and unlocks and balances were limited according
/// to the incidents.
struct VaultOpening: Sendable {
    private(set) var ledger: VaultLedger
    private(set) var incidents: [VaultIncident]
    /// Whether the ledger differs from the file.
    private(set) var mustWrite = false

    /// `receipt` is the verified app receipt on this device; nil when there is none.
    init(
        _ found: VaultRecovery, _ receipt: Result<VaultEvidence, VaultError>?, _ configuration: VaultConfiguration,
        _ check: EvidenceCheck
    ) async {
        var certificates = found.contents.intermediates
        if case .success(let evidence)? = receipt { certificates += evidence.certificates }
        let isForeign = found.contents.device != configuration.deviceIdentifier
        var proofs: [String: [VaultProof]] = [:]
        var reasons: [String: String] = [:]
        let knowing = check.knowing(certificates)
        for (digest, bytes) in isForeign ? [:] : found.contents.evidence {
            switch await knowing.verify(bytes) {
            case .success(let evidence) where evidence.digest == digest: proofs[digest] = evidence.proofs
            case .success: reasons[digest] = "it has another digest"
            case .failure(let error): reasons[digest] = error.detail
            }
        }
        ledger = VaultLedger(found.contents, grants: configuration.grants, proofs: proofs)
        incidents = found.incidents
        if isForeign {
            rebind(to: configuration.deviceIdentifier, found.ceiling, receipt, at: configuration.now())
            return
        }
        incidents += found.contents.refused(reasons)
        switch found.ceiling {
        case .none: break
        case .mark(let mark): ledger.lower(to: mark)
        case .nought: ledger.lowerToNought()
        }
    }

    /// Binds the vault to this device, and keeps only the products in this device's own receipt.
    private mutating func rebind(
        to device: UUID, _ ceiling: VaultRecovery.Ceiling, _ receipt: Result<VaultEvidence, VaultError>?, at date: Date
    ) {
        let before = ledger.contents.unlocks
        var mark: VaultMark?
        if case .mark(let newer) = ceiling { mark = newer }
        ledger.rebind(to: device, mark)
        if case .success(let evidence)? = receipt { _ = try? ledger.recordAll(evidence, at: date) }
        let after = ledger.contents.unlocks
        let kept = before.filter { old in
            after.contains {
                $0.productID == old.productID && $0.originalTransactionID == old.originalTransactionID
            }
        }
        let dropped = before.filter { !kept.contains($0) }
        incidents.append(
            .rebound(kept: kept.map(\.productID).sorted(), dropped: dropped.map(\.productID).sorted()))
        mustWrite = true
    }
}

extension VaultContents {
    /// The purchases whose evidence was refused, with reasons.
    fileprivate func refused(_ reasons: [String: String]) -> [VaultIncident] {
        let entries = unlocks.map { ($0.productID, $0.evidence) } + credits.map { ($0.productID, $0.evidence) }
        return entries.compactMap { product, digest in
            let reason = reasons[digest] ?? (evidence[digest] == nil ? "its receipt is missing" : nil)
            return reason.map { .evidenceRefused(productIdentifier: product, reason: $0) }
        }
    }
}
