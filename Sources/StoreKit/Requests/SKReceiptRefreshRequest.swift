import Foundation
import StoreWire

/// A test property of ``SKReceiptRefreshRequest``: the receipt's expiration date is past. A Boolean, sandbox only.
// Apple's name; the key's text is the one that is commonly seen.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let SKReceiptPropertyIsExpired = "expired"
/// A test property of ``SKReceiptRefreshRequest``: a volume purchase that was taken back. A Boolean, sandbox only.
// Apple's name; the key's text is the one that is commonly seen.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let SKReceiptPropertyIsRevoked = "revoked"
/// A test property of ``SKReceiptRefreshRequest``: a volume purchase. A Boolean, sandbox only.
// Apple's name; the key's text is the one that is commonly seen.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let SKReceiptPropertyIsVolumePurchase = "vpp"

/// Fetches the app receipt anew and writes it where `storeReceiptURL` says: for an app whose receipt is missing, broken,
/// or another device's. The customer is asked to sign in when nobody is.
open class SKReceiptRefreshRequest: SKRequest {
    private let properties: [String: Any]?
    private let fixedEngine: StoreKitEngine?

    /// A request for the receipt as it is.
    public override init() {
        properties = nil
        fixedEngine = nil
        super.init()
    }

    /// A request for the receipt; with test properties the sandbox pretends that it is expired, revoked or of a volume
    /// purchase. Production takes no notice of them, nor is notice taken of other keys or of values that are no
    /// Booleans.
    public init(receiptProperties properties: [String: Any]?) {
        self.properties = properties
        fixedEngine = nil
        super.init()
    }

    init(receiptProperties properties: [String: Any]?, engine: StoreKitEngine) {
        self.properties = properties
        fixedEngine = engine
        super.init()
    }

    /// The test properties it was made with.
    open var receiptProperties: [String: Any]? { properties }

    open override func start() {
        let engine = fixedEngine ?? .shared
        let pretence = ReceiptPretence(receiptProperties)
        let carried = Carried(object: self)
        run.withLock { run in
            guard run.task == nil else { return }
            let number = run.number
            run.task = Task {
                let error = await engine.refreshReceipt(pretence)
                engine.callbackQueue.async { carried.object.deliver(error, of: number) }
            }
        }
    }

    private func deliver(_ error: SKError?, of number: Int) {
        let isCurrent = run.withLock { run in
            guard run.number == number else { return false }
            run = (number + 1, nil)
            return true
        }
        guard isCurrent else { return }
        if let error { delegate?.request(self, didFailWithError: error) } else { delegate?.requestDidFinish(self) }
    }
}

extension ReceiptPretence {
    /// Nil when nothing is pretended.
    fileprivate init?(_ properties: [String: Any]?) {
        func isSet(_ key: String) -> Bool {
            (properties?[key] as? Bool) ?? (properties?[key] as? NSNumber)?.boolValue ?? false
        }
        self.init(
            isExpired: isSet(SKReceiptPropertyIsExpired), isRevoked: isSet(SKReceiptPropertyIsRevoked),
            isVolumePurchase: isSet(SKReceiptPropertyIsVolumePurchase))
        guard isExpired || isRevoked || isVolumePurchase else { return nil }
    }
}

/// Ends the program because its receipt is not valid, after a line on standard error that says so: with exit status 173,
/// by which a Mac app tells the system that it needs a receipt.
// Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func SKTerminateForInvalidReceipt() {
    let text = "The app's receipt is not valid. Sign in to the store and start the app again.\n"
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    exit(173)
}
