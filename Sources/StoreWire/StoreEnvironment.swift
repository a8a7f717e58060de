/// The store's environment. The production store and the sandbox run beside each other and share only the catalog. The
/// raw values are the words of `verifyReceipt` and of signed transactions.
public enum StoreEnvironment: String, Codable, Sendable, CaseIterable, Hashable {
    /// The store that charges real customers.
    case production = "Production"
    /// The store for tests, which charges nobody.
    case sandbox = "Sandbox"

    /// The value of attribute 0 of an app receipt and of `receipt_type`.
    public var receiptType: String {
        switch self {
        case .production: "Production"
        case .sandbox: "ProductionSandbox"
        }
    }

    /// The environment's name in addresses, file names and options: `production` or `sandbox`.
    public var name: String { rawValue.lowercased() }

    /// Reads `production` or `sandbox` in any letter case. Returns nil for anything else.
    public init?(name: String) {
        switch name.lowercased() {
        case "production": self = .production
        case "sandbox": self = .sandbox
        default: return nil
        }
    }
}
