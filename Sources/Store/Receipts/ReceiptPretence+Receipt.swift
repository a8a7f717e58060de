import Foundation
import StoreReceipts
import StoreWire

extension ReceiptPretence {
    /// Changes a sandbox receipt to have the requested properties.
    ///
    /// Apple documents that the properties exist, but not what they change. Here, receipts of volume purchases and
    /// revoked receipts have the type `ProductionVPPSandbox`, an expired receipt expires a day before its creation
    /// date, and a revoked one at its creation date.
    func apply(to receipt: inout AppReceipt) {
        if isVolumePurchase || isRevoked { receipt.receiptType = "ProductionVPPSandbox" }
        if isRevoked { receipt.expirationDate = receipt.creationDate }
        if isExpired { receipt.expirationDate = receipt.creationDate.addingTimeInterval(-86_400) }
    }
}
