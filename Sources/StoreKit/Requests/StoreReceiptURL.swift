import Foundation

/// Where the app receipt lies (`receipt`, or `sandboxReceipt` for a sandbox store), whether or not it is there yet;
/// nil while nothing is configured.
///
/// Foundation on Linux has a `Bundle.appStoreReceiptURL` that is always nil, and an extension of the same name in
/// this module would make every use ambiguous. One line in the app's own module makes Apple's spelling work:
///
/// ```swift
/// extension Bundle { var appStoreReceiptURL: URL? { storeReceiptURL } }
/// ```
public var storeReceiptURL: URL? { StoreKitEngine.shared.receiptURL }
