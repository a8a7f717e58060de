import Crypto
import MerchantWire
import StoreReceipts
import Synchronization

/// The roots of the trusted stores. A root that is configured by its name and key alone is added when evidence contains
/// a self-signed certificate with both. Its owner may have renewed the certificate.
final class KnownRoots: Sendable {
    private struct State {
        var verifier: ReceiptVerifier
        var roots: [[UInt8]]
        /// The anchor of each root, by the root's SHA-256.
        var anchors: [[UInt8]: String] = [:]
        /// The anchors of roots whose certificates have not been seen yet.
        var awaited: [RootIdentity: String] = [:]
    }

    private let state: Mutex<State>
    private let intermediates: [[UInt8]]

    /// - Throws: ``ReceiptRejection`` with `malformed` for an invalid certificate.
    init(_ stores: [TrustedStore]) throws(ReceiptRejection) {
        let roots = stores.flatMap(\.roots)
        intermediates = stores.flatMap(\.intermediates)
        var state = State(verifier: try Self.verifier(roots, intermediates), roots: roots)
        let given = Set(roots.compactMap { RootIdentity(der: $0) })
        for store in stores {
            for fingerprint in store.fingerprints { state.anchors[fingerprint] = store.anchor }
            for identity in store.rootIdentities where !given.contains(identity) {
                state.awaited[identity] = store.anchor
            }
        }
        self.state = Mutex(state)
    }

    /// The verifier with the currently known roots.
    var verifier: ReceiptVerifier { state.withLock { $0.verifier } }

    /// The anchor of the store that a root belongs to.
    func anchor(of fingerprint: [UInt8]) -> String? { state.withLock { $0.anchors[fingerprint] } }

    /// Adds the certificates whose names and keys are configured and not yet known. Returns whether there was one.
    func adopt(from certificates: [[UInt8]]) -> Bool {
        state.withLock { state in
            guard !state.awaited.isEmpty else { return false }
            var isNew = false
            for certificate in certificates {
                guard let identity = RootIdentity(der: certificate), let anchor = state.awaited[identity],
                    RootIdentity.isSelfSigned(certificate),
                    let verifier = try? Self.verifier(state.roots + [certificate], intermediates)
                else { continue }
                state.awaited[identity] = nil
                state.roots.append(certificate)
                state.anchors[Array(SHA256.hash(data: certificate))] = anchor
                state.verifier = verifier
                isNew = true
            }
            return isNew
        }
    }

    private static func verifier(
        _ roots: [[UInt8]], _ intermediates: [[UInt8]]
    ) throws(ReceiptRejection) -> ReceiptVerifier {
        try ReceiptVerifier(
            roots: roots, intermediates: intermediates,
            limits: ReceiptLimits(byteCount: MerchantLimits.evidence, attributeCount: 250_000))
    }
}
