/// The two stores that run beside each other and share nothing but the catalog. Raw values are the words of `verifyReceipt` and of signed
/// transactions.
public enum StoreEnvironment: String, Codable, Sendable, CaseIterable, Hashable {
    case production = "Production"
    case sandbox = "Sandbox"

    /// The word in attribute 0 of an app receipt and in `receipt_type`.
    public var receiptType: String {
        switch self {
        case .production: "Production"
        case .sandbox: "ProductionSandbox"
        }
    }

    /// The word in addresses, file names and options: `production` or `sandbox`.
    public var name: String { rawValue.lowercased() }

    /// Reads `production`, `Sandbox` and the like; nil for anything else.
    public init?(name: String) {
        switch name.lowercased() {
        case "production": self = .production
        case "sandbox": self = .sandbox
        default: return nil
        }
    }
}
