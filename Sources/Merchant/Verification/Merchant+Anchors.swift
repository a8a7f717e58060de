import Database
import MerchantWire

extension Merchant {
    /// Gives each trusted store the anchor under which one of its roots was first recorded, and records new roots. A
    /// purchase therefore keeps its redemption key when the operator replaces a store's first root.
    /// - Parameter stores: the stores. The first of a store's roots that is already recorded decides.
    /// - Throws: ``MerchantError`` `invalid_request` when the roots of one store were recorded for several;
    ///   ``DatabaseError``.
    static func recordAnchors(_ stores: [TrustedStore], in database: Database) async throws -> [TrustedStore] {
        try await database.write { connection in
            var settled: [TrustedStore] = []
            for var store in stores {
                let fingerprints = store.fingerprints
                var known: Set<String> = []
                for fingerprint in fingerprints {
                    let row = try connection.queryOne(
                        "SELECT anchor FROM trust_anchors WHERE fingerprint = $1", [fingerprint])
                    if let anchor = try row?.string(0) { known.insert(anchor) }
                }
                guard known.count <= 1 else {
                    throw MerchantError(
                        .invalidRequest, "The roots given for \(store.anchor) belong to several stores.")
                }
                if let anchor = known.first { store.anchor = anchor }
                for fingerprint in fingerprints {
                    try connection.execute(
                        """
                        INSERT INTO trust_anchors (fingerprint, anchor) VALUES ($1, $2) ON CONFLICT (fingerprint) DO NOTHING
                        """, [fingerprint, store.anchor])
                }
                settled.append(store)
            }
            return settled
        }
    }
}
