import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import Synchronization

/// How receipts are verified.
public enum VerificationWay: Sendable {
    /// By their signatures under the roots of the trusted stores, without a request to a store.
    case local
    /// By a request to a store. The dictionary has the anchor for each ``RemoteAnswer/store``. Signed transactions are
    /// always verified as with `local`.
    case remote(any RemoteVerifying, anchors: [String: String])
}

/// Verifies that evidence is genuine, is for one of this merchant's apps, and comes from an accepted environment, in
/// this order. The first failure is the result. Only this type creates a ``VerifiedPurchase``.
public final class PurchaseVerifier: Sendable {
    private let roots: KnownRoots
    private let bundleIDs: Mutex<Set<BundleID>>
    private let environments: Set<StoreEnvironment>
    private let way: VerificationWay
    /// The apps' numbers at the store, which notifications of production must have (`appAppleId`).
    let appIDs: [BundleID: Int64]

    /// Creates a verifier.
    /// - Parameters:
    ///   - stores: the stores whose purchases are accepted.
    ///   - bundleIDs: the apps whose purchases are accepted.
    ///   - environments: ``MerchantPolicy/environments``.
    ///   - appIDs: the numbers of apps at the store, which notifications of production must have (`appAppleId`). The
    ///     number of another app is not checked.
    /// - Throws: ``ReceiptRejection`` with `malformed` for an invalid certificate.
    public init(
        stores: [TrustedStore], bundleIDs: Set<BundleID>, environments: Set<StoreEnvironment>,
        way: VerificationWay = .local, appIDs: [BundleID: Int64] = [:]
    ) throws(ReceiptRejection) {
        roots = try KnownRoots(stores)
        self.bundleIDs = Mutex(bundleIDs)
        self.environments = environments
        self.way = way
        self.appIDs = appIDs
    }

    /// Accepts the purchases of more apps from now on.
    public func take(apps: Set<BundleID>) { bundleIDs.withLock { $0.formUnion(apps) } }

    /// The apps whose purchases are accepted at present.
    public var apps: Set<BundleID> { bundleIDs.withLock { $0 } }

    /// Whether an app's purchases are accepted.
    func takes(_ app: BundleID) -> Bool { bundleIDs.withLock { $0.contains(app) } }

    /// The app whose purchases are accepted; nil when there are several, or none.
    var onlyApp: BundleID? { bundleIDs.withLock { $0.count == 1 ? $0.first : nil } }

    /// Verifies evidence.
    /// - Throws: ``MerchantError``: `too_large`, `malformed_receipt`, `not_genuine`, `wrong_app`, `wrong_environment`,
    ///   or `store_unavailable` when a store has to be asked and is unavailable.
    public func verify(_ evidence: Evidence) async throws -> VerifiedEvidence {
        guard evidence.byteCount <= MerchantLimits.evidence else { throw MerchantError(.tooLarge) }
        switch evidence {
        case .signedTransaction(let text): return try await verifySigned(text)
        case .receipt(let bytes):
            let kind = ReceiptKind.detect(bytes)
            guard let kind else { throw MerchantError(.malformedReceipt) }
            if case .remote(let store, let anchors) = way { return try await ask(store, anchors, bytes) }
            switch kind {
            case .app: return try await verifyAppReceipt(bytes)
            case .transaction: return try await verifyTransactionReceipt(bytes)
            }
        }
    }

    // MARK: Each kind of evidence

    private func verifyAppReceipt(_ bytes: [UInt8]) async throws -> VerifiedEvidence {
        var answer = await roots.verifier.verify(bytes, expecting: ReceiptExpectation())
        if case .rejected(let rejection) = answer, rejection.code == .unknownIssuer,
            let brought = try? ReceiptContainer.parse(bytes).certificates, roots.adopt(from: brought)
        {
            answer = await roots.verifier.verify(bytes, expecting: ReceiptExpectation())
        }
        switch answer {
        case .rejected(let rejection): throw MerchantError(rejection)
        case .verified(let verified): return try read(verified)
        }
    }

    /// Verifies an app receipt or a signed transaction without suspending, if its signer is known. Returns nil when the
    /// caller has to use ``verify(_:)``.
    /// - Throws: ``MerchantError`` as ``verify(_:)``.
    public func verifyAtOnce(_ evidence: Evidence) throws -> VerifiedEvidence? {
        guard evidence.byteCount <= MerchantLimits.evidence else { return nil }
        switch evidence {
        case .signedTransaction(let text):
            let answer = roots.verifier.verifySignedPayloadIfSignerIsKnown(text, expecting: ReceiptExpectation())
            guard case .success(let payload) = answer else { return nil }
            return try read(payload)
        case .receipt(let bytes):
            guard case .local = way, ReceiptKind.detect(bytes) == .app,
                case .verified(let receipt) = roots.verifier.verifyIfChainIsKnown(
                    bytes, expecting: ReceiptExpectation())
            else { return nil }
            return try read(receipt)
        }
    }

    private func read(_ verified: VerifiedReceipt) throws -> VerifiedEvidence {
        let receipt = verified.receipt
        let (anchor, environment, bundleID) = try accept(
            verified.rootFingerprint, receipt.environment, receipt.bundleID)
        let signedAt = receipt.creationDate.milliseconds
        let purchases = receipt.inApp.map { purchase in
            VerifiedPurchase(
                anchor: anchor, environment: environment, bundleID: bundleID,
                productID: ProductID(purchase.productID),
                // 0 may mean that no kind is stated: Apple does not document the numbers.
                statedKind: purchase.productType.flatMap { number in
                    ProductKind.allCases.first { $0.receiptNumber == number && number > 0 }
                },
                transactionID: purchase.transactionID,
                originalTransactionID: purchase.originalTransactionID ?? purchase.transactionID,
                quantity: purchase.quantity, purchasedAt: purchase.purchaseDate.milliseconds,
                expiresAt: purchase.expiresDate?.milliseconds,
                webOrderLineItemID: purchase.webOrderLineItemID.map { String($0) },
                revokedAt: purchase.cancellationDate?.milliseconds, revokedShare: nil, isUpgraded: nil,
                isTrial: purchase.isTrialPeriod, isShared: purchase.isFamilyShared ? true : nil,
                accountToken: purchase.accountToken, signedAt: signedAt)
        }
        return try Self.bounded(environment, bundleID, purchases)
    }

    private func verifyTransactionReceipt(_ bytes: [UInt8]) async throws -> VerifiedEvidence {
        let verified: VerifiedTransactionReceipt
        do throws(ReceiptRejection) {
            let signed = try SignedTransactionReceipt(bytes: bytes)
            verified = try await signed.verified { [verifier = roots.verifier] signed, signature, leaf, date in
                await verifier.verifyTransactionSignature(signed: signed, signature: signature, leaf: leaf, at: date)
            }.get()
        } catch {
            throw MerchantError(error)
        }
        let receipt = verified.receipt
        let (anchor, environment, bundleID) = try accept(
            verified.rootFingerprint, Self.environment(of: verified), receipt.bundleID)
        let purchase = VerifiedPurchase(
            anchor: anchor, environment: environment, bundleID: bundleID, productID: ProductID(receipt.productID),
            statedKind: receipt.expiresDate == nil ? nil : .autoRenewableSubscription,
            transactionID: receipt.transactionID, originalTransactionID: receipt.originalTransactionID,
            quantity: receipt.quantity, purchasedAt: receipt.purchaseDate.milliseconds,
            expiresAt: receipt.expiresDate?.milliseconds, webOrderLineItemID: receipt.webOrderLineItemID,
            revokedAt: nil, revokedShare: nil, isUpgraded: nil, isTrial: receipt.isTrialPeriod, accountToken: nil,
            signedAt: receipt.purchaseDate.milliseconds)
        return try Self.bounded(environment, bundleID, [purchase])
    }

    /// The environment of a transaction receipt. The receipt's own field is not signed, and a sandbox purchase costs
    /// nothing, so the signed transaction identifier decides: all sandbox identifiers have 16 digits, and no production
    /// identifier has (facts: measured on Apple's receipts; Cornerstore's identifiers follow them).
    private static func environment(of verified: VerifiedTransactionReceipt) -> StoreEnvironment {
        let isSandboxID = [verified.receipt.transactionID, verified.receipt.originalTransactionID]
            .contains { $0.utf8.count >= 16 }
        return isSandboxID ? .sandbox : .production
    }

    func verifySigned(_ text: [UInt8]) async throws -> VerifiedEvidence {
        try read(try await verifiedPayload(text))
    }

    private func read(_ payload: VerifiedPayload) throws -> VerifiedEvidence {
        let fields = try SignedTransactionFields(payload)
        let (anchor, environment, bundleID) = try accept(
            payload.rootFingerprint, StoreEnvironment(rawValue: fields.environment), fields.bundleId)
        let purchase = fields.purchase(anchor: anchor, environment: environment, bundleID: bundleID)
        return try Self.bounded(environment, bundleID, [purchase])
    }

    /// Verifies the signature of a JWS from a trusted store. The payload is not checked.
    func verifiedPayload(_ text: [UInt8]) async throws -> VerifiedPayload {
        var answer = await roots.verifier.verifySignedPayload(text, expecting: ReceiptExpectation())
        if case .failure(let rejection) = answer, rejection.code == .unknownIssuer,
            let brought = try? SignedPayload.parse(text).certificates, roots.adopt(from: brought)
        {
            answer = await roots.verifier.verifySignedPayload(text, expecting: ReceiptExpectation())
        }
        switch answer {
        case .success(let payload): return payload
        case .failure(let rejection): throw MerchantError(rejection)
        }
    }

    private func ask(
        _ store: any RemoteVerifying, _ anchors: [String: String], _ bytes: [UInt8]
    ) async throws -> VerifiedEvidence {
        let answer: RemoteAnswer
        do {
            answer = try await store.verify(receipt: bytes)
        } catch let error as RemoteVerificationError {
            throw MerchantError(
                .storeUnavailable, "The store is unavailable. Try again later.", retryAfter: error.retryAfter)
        }
        guard let anchor = anchors[answer.store] else { throw MerchantError(.notGenuine) }
        let read = try RemoteReceipt(answer.json, isRefused: answer.isRefused)
        let (environment, bundleID) = try accept(read.environment, read.bundleID)
        let purchases = read.purchases(anchor: anchor, environment: environment, bundleID: bundleID)
        return try Self.bounded(environment, bundleID, purchases, read.renewals)
    }

    // MARK: Checks for all kinds of evidence

    /// Checks that evidence is from a trusted store, an accepted environment and an app of the merchant, and returns
    /// the three.
    func accept(
        _ fingerprint: [UInt8], _ environment: StoreEnvironment?, _ bundleID: String
    ) throws -> (anchor: String, StoreEnvironment, BundleID) {
        guard let anchor = roots.anchor(of: fingerprint) else { throw MerchantError(.notGenuine) }
        let (environment, bundleID) = try accept(environment, bundleID)
        return (anchor, environment, bundleID)
    }

    private func accept(
        _ environment: StoreEnvironment?, _ bundleID: String
    ) throws -> (StoreEnvironment, BundleID) {
        guard takes(BundleID(bundleID)) else { throw MerchantError(.wrongApp) }
        guard let environment, environments.contains(environment) else { throw MerchantError(.wrongEnvironment) }
        return (environment, BundleID(bundleID))
    }

    /// Refuses values that no store writes, so that later code does not have to handle them.
    private static func bounded(
        _ environment: StoreEnvironment, _ bundleID: BundleID, _ purchases: [VerifiedPurchase],
        _ renewals: [String: RenewalStatement] = [:]
    ) throws -> VerifiedEvidence {
        var seen: Set<String> = []
        var kept: [VerifiedPurchase] = []
        kept.reserveCapacity(purchases.count)
        for purchase in purchases {
            let names = [
                purchase.transactionID, purchase.originalTransactionID, purchase.webOrderLineItemID ?? "0",
                purchase.productID.rawValue,
            ]
            guard (1...1_000_000).contains(purchase.quantity),
                names.allSatisfy({ !$0.isEmpty && $0.utf8.count <= MerchantLimits.identifier && !$0.utf8.contains(0) })
            else { throw MerchantError(.malformedReceipt) }
            if purchases.count == 1 || seen.insert(purchase.transactionID).inserted { kept.append(purchase) }
        }
        // Apple's answers list a transaction in two lists. The size of the answer is limited.
        guard kept.count <= MerchantLimits.transactions else { throw MerchantError(.tooLarge) }
        return VerifiedEvidence(
            environment: environment, bundleID: bundleID, purchases: kept, renewals: renewals)
    }
}

extension MerchantError {
    /// Creates the error that apps receive for a rejected receipt. The details of the rejection are only for the log.
    init(_ rejection: ReceiptRejection) {
        let code: MerchantErrorCode =
            switch rejection.code {
            case .malformed, .truncated, .trailingData, .tooDeep: .malformedReceipt
            case .tooLarge: .tooLarge
            case .wrongBundleID: .wrongApp
            case .unsupportedAlgorithm, .badSignature, .unknownIssuer, .wrongChain, .missingMarker, .expired,
                .wrongVersion, .wrongDeviceHash:
                .notGenuine
            }
        self.init(code)
        reason = "\(rejection.code.rawValue): \(rejection.detail)"
    }
}

extension Date {
    /// Milliseconds since 1970, to the nearest.
    var milliseconds: Int64 { ReceiptDate(self).milliseconds }
}
