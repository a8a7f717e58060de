/// `receipt` in the answer to an app receipt (Apple's "responseBody.Receipt").
public struct ReceiptInformation: Sendable, Equatable {
    /// `receipt_type`: attribute 0 of the receipt.
    public var receiptType: String
    /// `adam_id` and `app_item_id`, numbers; 0 in the sandbox.
    public var appItemID: Int64
    /// `bundle_id`
    public var bundleID: String
    /// `application_version`
    public var applicationVersion: String
    /// `download_id`, a number; 0 in the sandbox.
    public var downloadID: Int64
    /// `version_external_identifier`, a number; 0 in the sandbox.
    public var versionExternalIdentifier: Int64
    /// `receipt_creation_date` in three forms.
    public var receiptCreationDate: ReceiptDate
    /// `request_date` in three forms: when this answer was made, to the millisecond.
    public var requestDate: ReceiptDate
    /// `original_purchase_date` in three forms; 2013-08-01T07:00:00Z in the sandbox.
    public var originalPurchaseDate: ReceiptDate?
    /// `original_application_version`; `1.0` in the sandbox.
    public var originalApplicationVersion: String?
    /// `preorder_date` in three forms; only of apps that were ordered before their release.
    public var preorderDate: ReceiptDate?
    /// `expiration_date` in three forms; only of volume purchases.
    public var expirationDate: ReceiptDate?
    /// `in_app`
    public var inApp: [PurchaseInformation]

    /// What the receipt says, with the date of the request. `in_app` is ``PurchaseInformation/init(_:ownership:)`` of
    /// each purchase; a caller that knows more of them than the receipt does replaces it.
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
        // In place: a copy of a purchase costs as much as what is made of it.
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
