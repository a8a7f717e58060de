import Foundation
import StoreReceipts
import StoreWire

/// Judges an app receipt that the store sent, before it is written. THE ONE PLACE where `StoreReceipts`' verifier is plugged in.
struct ReceiptCheck: Sendable {
    /// DER bytes of the trusted roots; empty means that receipts are not checked.
    var roots: [Data]
    var bundleID: BundleID
    var bundleVersion: String
    var vendorIdentifier: UUID
    var environment: StoreEnvironment

    /// Nil when the receipt may be written, else why not.
    func refusal(of receipt: Data) -> String? {
        guard !receipt.isEmpty else { return "the store sent an empty receipt" }
        guard !roots.isEmpty else { return nil }
        // PLUG: ReceiptVerifier with `roots`, this bundle id, bundle version and device hash. Until it is there, every receipt is taken.
        return nil
    }
}
