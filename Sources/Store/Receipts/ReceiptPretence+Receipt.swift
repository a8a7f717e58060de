import Foundation
import StoreReceipts
import StoreWire

extension ReceiptPretence {
    /// Makes a sandbox receipt look as it was asked for. Apple documents that the properties exist and not what they change; here both volume
    /// purchases and revoked ones are `ProductionVPPSandbox`, an expired receipt expired a day before it was made, and a revoked one at the moment
    /// it was made.
    func apply(to receipt: inout AppReceipt) {
        if isVolumePurchase || isRevoked { receipt.receiptType = "ProductionVPPSandbox" }
        if isRevoked { receipt.expirationDate = receipt.creationDate }
        if isExpired { receipt.expirationDate = receipt.creationDate.addingTimeInterval(-86_400) }
    }
}
