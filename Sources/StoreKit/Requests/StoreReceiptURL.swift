import Foundation

/// The location of the app receipt (`receipt`, or `sandboxReceipt` for a sandbox store), which may not exist yet. Nil
/// while nothing is configured.
///
/// Foundation on Linux has a `Bundle.appStoreReceiptURL` that is always nil. An extension of the same name in this
/// module would make every use ambiguous. One line in the app's own module makes Apple's spelling work:
///
/// ```swift
/// extension Bundle { var appStoreReceiptURL: URL? { storeReceiptURL } }
/// ```
public var storeReceiptURL: URL? { StoreKitEngine.shared.receiptURL }
