/// The value of `receipt` in the answer to an app receipt (Apple's "responseBody.Receipt").
public struct ReceiptInformation: Sendable, Equatable {
    /// The kind of receipt: `receipt_type`, attribute 0 of the receipt.
    public var receiptType: String
    /// The app's Apple ID: `adam_id` and `app_item_id`, numbers; 0 in the sandbox.
    public var appItemID: Int64
    /// The app's bundle identifier: `bundle_id`.
    public var bundleID: String
    /// The app's `CFBundleVersion`: `application_version`.
    public var applicationVersion: String
    /// The number of the app's download: `download_id`, a number; 0 in the sandbox.
    public var downloadID: Int64
    /// The number of the app's version: `version_external_identifier`, a number; 0 in the sandbox.
    public var versionExternalIdentifier: Int64
    /// When the receipt was made: `receipt_creation_date` in three forms.
    public var receiptCreationDate: ReceiptDate
    /// When this answer was made, to the millisecond: `request_date` in three forms.
    public var requestDate: ReceiptDate
    /// When the app itself was bought: `original_purchase_date` in three forms; 2013-08-01T07:00:00Z in the sandbox.
    public var originalPurchaseDate: ReceiptDate?
    /// The version of the app that was bought first: `original_application_version`; `1.0` in the sandbox.
    public var originalApplicationVersion: String?
    /// When the app was pre-ordered: `preorder_date` in three forms; only for pre-ordered apps.
    public var preorderDate: ReceiptDate?
    /// When the receipt expires: `expiration_date` in three forms; only for volume purchases.
    public var expirationDate: ReceiptDate?
    /// The purchases: `in_app`.
    public var inApp: [PurchaseInformation]

    /// Creates the value from a receipt and the date of the request. The purchases are made by
    /// ``PurchaseInformation/init(_:ownership:)``. A caller that knows more about them than the receipt replaces them.
    public init(_ receipt: borrowing AppReceipt, requestDate: ReceiptDate) {
        receiptType = receipt.receiptType
        appItemID = receipt.appItemID
        bundleID = receipt.bundleID
        applicationVersion = receipt.applicationVersion
        downloadID = receipt.downloadID
        versionExternalIdentifier = receipt.versionExternalIdentifier
        receiptCreationDate = ReceiptDate(receipt.creationDate)
        self.requestDate = requestDate
        originalPurchaseDate = receipt.originalPurchaseDate.map { ReceiptDate($0) }
        originalApplicationVersion = receipt.originalApplicationVersion
        preorderDate = nil
        expirationDate = receipt.expirationDate.map { ReceiptDate($0) }
        // The purchases are read in place: copying one costs as much as converting it.
        inApp = receipt.inApp.withUnsafeBufferPointer { purchases in
            [PurchaseInformation](unsafeUninitializedCapacity: purchases.count) { buffer, count in
                for index in purchases.indices {
                    buffer.initializeElement(at: index, to: PurchaseInformation(purchases[index]))
                }
                count = purchases.count
            }
        }
    }
}
