import Crypto
import MerchantWire
import StoreReceipts
import Synchronization

/// The roots of the trusted stores. A root that is configured by its fingerprint alone is added when evidence contains
/// its certificate, which the fingerprint identifies.
final class KnownRoots: Sendable {
    private struct State {
        var verifier: ReceiptVerifier
        var roots: [[UInt8]]
        /// Fingerprints whose certificates have not been seen yet.
        var awaited: Set<[UInt8]>
    }

    private let state: Mutex<State>
    private let intermediates: [[UInt8]]
    /// The anchor of each root, by the root's SHA-256.
    private let anchors: [[UInt8]: String]

    /// - Throws: ``ReceiptRejection`` with `malformed` for an invalid certificate.
    init(_ stores: [TrustedStore]) throws(ReceiptRejection) {
        var anchors: [[UInt8]: String] = [:]
        for store in stores {
            for fingerprint in store.fingerprints { anchors[fingerprint] = store.anchor }
        }
        self.anchors = anchors
        let roots = stores.flatMap(\.roots)
        intermediates = stores.flatMap(\.intermediates)
        let seen = Set(roots.map { Array(SHA256.hash(data: $0)) })
        state = Mutex(
            State(
                verifier: try Self.verifier(roots, intermediates), roots: roots,
                awaited: Set(stores.flatMap(\.rootFingerprints)).subtracting(seen)))
    }

    /// The verifier with the currently known roots.
    var verifier: ReceiptVerifier { state.withLock { $0.verifier } }

    /// The anchor of the store that a root belongs to.
    func anchor(of fingerprint: [UInt8]) -> String? { anchors[fingerprint] }

    /// Adds the certificates whose fingerprints are configured and not yet known. Returns whether there was one.
    func adopt(from certificates: [[UInt8]]) -> Bool {
        state.withLock { state in
            guard !state.awaited.isEmpty else { return false }
            var isNew = false
            for certificate in certificates {
                let fingerprint = Array(SHA256.hash(data: certificate))
                guard state.awaited.contains(fingerprint),
                    let verifier = try? Self.verifier(state.roots + [certificate], intermediates)
                else { continue }
                state.awaited.remove(fingerprint)
                state.roots.append(certificate)
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
