import Foundation
import StoreKit
import StoreReceipts

/// The app receipt on the device, as the screen shows it. The app's own code decides whether to trust it.
package struct ScreenReceipt {
    /// The largest receipt that is shown, in bytes.
    private static let most = 16 << 20

    /// A purchase in the receipt.
    package struct Purchase {
        package var product: String
        var quantity: Int64
        var transaction: String
        var date: Date
        package var isRefunded: Bool
    }

    var created: Date
    /// The purchases, the newest first.
    package var purchases: [Purchase]

    /// The receipt's bytes; nil when there is none.
    static func bytes() -> [UInt8]? {
        guard let url = storeReceiptURL, let file = try? FileHandle(forReadingFrom: url) else { return nil }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: most + 1), data.count <= most else { return nil }
        return [UInt8](data)
    }

    /// Reads the receipt; nil when there is none, or it is damaged.
    package static func read() -> ScreenReceipt? {
        guard let bytes = bytes(), let container = try? ReceiptContainer.parse(bytes) else { return nil }
        let purchases = container.receipt.inApp.map {
            Purchase(
                product: $0.productID, quantity: $0.quantity, transaction: $0.transactionID, date: $0.purchaseDate,
                isRefunded: $0.cancellationDate != nil)
        }
        return ScreenReceipt(
            created: container.receipt.creationDate, purchases: purchases.sorted { $0.date > $1.date })
    }
}
