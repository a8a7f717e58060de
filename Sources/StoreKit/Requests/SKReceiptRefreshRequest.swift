import Foundation
import StoreWire

// Apple's name. The key's text is the one in common use.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// A test property of ``SKReceiptRefreshRequest``: the receipt has expired. A Boolean, sandbox only.
public let SKReceiptPropertyIsExpired = "expired"
// Apple's name. The key's text is the one in common use.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// A test property of ``SKReceiptRefreshRequest``: a revoked volume purchase. A Boolean, sandbox only.
public let SKReceiptPropertyIsRevoked = "revoked"
// Apple's name. The key's text is the one in common use.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// A test property of ``SKReceiptRefreshRequest``: a volume purchase. A Boolean, sandbox only.
public let SKReceiptPropertyIsVolumePurchase = "vpp"

/// A request that fetches a new app receipt and writes it to `storeReceiptURL`. Use it when the receipt is missing,
/// damaged, or from another device. StoreKit asks the customer to sign in when nobody is signed in.
open class SKReceiptRefreshRequest: SKRequest {
    private let properties: [String: Any]?
    private let fixedEngine: StoreKitEngine?

    /// Creates a request for the receipt without test properties.
    public override init() {
        properties = nil
        fixedEngine = nil
        super.init()
    }

    /// Creates a request with test properties, for which the sandbox returns a receipt that is expired, revoked or of a
    /// volume purchase. Production ignores them. Other keys and values that are not Booleans are ignored.
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

    /// The test properties of the request.
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
    /// Reads the test properties; nil when none is set.
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

// Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Ends the program because its receipt is not valid. It writes a line to standard error and exits with status 173, the
/// status with which a Mac app requests a receipt from the system.
public func SKTerminateForInvalidReceipt() {
    let text = "The app's receipt is not valid. Sign in to the store and start the app again.\n"
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    exit(173)
}
