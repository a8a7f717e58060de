import Foundation
import Merchant

extension TrustedStore {
    /// Returns the Cornerstore with the root certificates in this data directory.
    /// - Parameter intermediates: additional intermediate certificates in DER.
    /// - Throws: ``CommandError`` when the data directory contains no roots.
    static func cornerstore(in folder: URL, intermediates: [[UInt8]] = []) throws -> TrustedStore {
        let files = ["receipt-root.der", "jws-root.der"].map { folder.appendingPathComponent("roots/\($0)").path }
        guard files.allSatisfy({ FileManager.default.fileExists(atPath: $0) }) else {
            throw CommandError(
                .usage,
                "There is no root of a Cornerstore at \(files[0]). Start the store first, give its data directory with --store-data or its "
                    + "roots with --root, or accept Apple's purchases with --store apple.")
        }
        let own = try CertificateInput.intermediates(in: folder).map { try CertificateInput.read($0) }
        return .cornerstore(
            roots: try files.map { try CertificateInput.read($0) }, intermediates: intermediates + own)
    }
}
