import Foundation
import StoreReceipts
import StoreWire

/// Checks an app receipt from the store before it is written to disk. The receipt must be signed under the trusted
/// roots, for this app, version and device, by the store of the configured environment.
struct ReceiptCheck: Sendable {
    /// The verifier; nil when no roots are configured. Receipts are then not checked.
    private let verifier: ReceiptVerifier?
    private let expectation: ReceiptExpectation
    private let environment: StoreEnvironment

    /// Creates a check. `roots` are DER files.
    ///
    /// - Throws: ``DeviceError`` with the file that cannot be read or is not a certificate.
    init(
        roots: [URL], bundleID: BundleID, bundleVersion: String, vendorIdentifier: UUID, environment: StoreEnvironment
    ) throws {
        verifier = try Self.verifier(roots)
        expectation = ReceiptExpectation(
            bundleID: bundleID.rawValue, applicationVersion: bundleVersion,
            deviceIdentifier: withUnsafeBytes(of: vendorIdentifier.uuid) { Array($0) })
        self.environment = environment
    }

    private static func verifier(_ roots: [URL]) throws -> ReceiptVerifier? {
        guard !roots.isEmpty else { return nil }
        let certificates = try roots.map { file in
            guard let bytes = BoundedFile.read(file, limit: 1 << 16) else {
                throw DeviceError(code: .folderUnusable, detail: "cannot read the root certificate \(file.path)")
            }
            return [UInt8](bytes)
        }
        do { return try ReceiptVerifier(roots: certificates) } catch {
            let files = roots.map(\.path).joined(separator: ", ")
            throw DeviceError(
                code: .folderUnusable, detail: "not a certificate in DER among \(files): \(error.detail)")
        }
    }

    /// The reason to refuse the receipt; nil when it is valid.
    func refusal(of receipt: Data) async -> String? {
        guard !receipt.isEmpty else { return "the store sent an empty receipt" }
        guard let verifier else { return nil }
        switch await verifier.verify([UInt8](receipt), expecting: expectation) {
        case .rejected(let rejection):
            return "\(rejection.code.rawValue): \(rejection.detail)"
        case .verified(let verified):
            let made = verified.receipt.environment
            return made == environment ? nil : "the receipt is from another environment than \(environment.name)"
        }
    }
}
