import Foundation
import Merchant

extension TrustedStore {
    /// The Cornerstore whose data directory this is, by the files of its roots there.
    /// - Parameter intermediates: certificates under them, in DER, beside the store's own.
    /// - Throws: ``CommandError`` when there are none.
    static func cornerstore(in folder: URL, intermediates: [[UInt8]] = []) throws -> TrustedStore {
        let files = ["receipt-root.der", "jws-root.der"].map { folder.appendingPathComponent("roots/\($0)").path }
        guard files.allSatisfy({ FileManager.default.fileExists(atPath: $0) }) else {
            throw CommandError(
                .usage,
                "There is no root of a Cornerstore at \(files[0]). Start the store first, name its data directory with --store-data or its "
                    + "roots with --root, or take Apple's purchases with --store apple.")
        }
        var between = intermediates
        let own = folder.appendingPathComponent("authority/receipt-intermediate.pem").path
        if FileManager.default.isReadableFile(atPath: own) { between.append(try CertificateInput.read(own)) }
        return .cornerstore(roots: try files.map { try CertificateInput.read($0) }, intermediates: between)
    }
}
