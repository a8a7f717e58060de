import Foundation
import StoreWire

/// Finds environment variables with invalid values. An invalid value is never replaced by a default: a program set to
/// `prod` must not buy in the sandbox.
struct EnvironmentProblems {
    /// A sentence for each invalid variable, with its value and the valid values.
    private(set) var lines: [String] = []

    init(_ variables: [String: String]) {
        let sheets = ["terminal", "web", "approve", "decline"]
        check(variables, "CORNERSTORE_ENVIRONMENT", "sandbox or production") { StoreEnvironment(name: $0) != nil }
        check(variables, "CORNERSTORE_SHEET", "terminal, web, approve or decline") { sheets.contains($0.lowercased()) }
        check(variables, "CORNERSTORE_PAYMENTS", "on or off") { ["on", "off"].contains($0.lowercased()) }
        check(variables, "CORNERSTORE_STORE", "a URL such as http://127.0.0.1:8401", Self.isAddress)
        check(variables, "CORNERSTORE_CONTROL", "a URL such as http://127.0.0.1:8400", Self.isAddress)
        check(variables, "CORNERSTORE_STOREFRONT", "a URL such as http://127.0.0.1:8403", Self.isAddress)
        check(variables, "CORNERSTORE_ROOTS", "certificate files (DER), or a folder of them") {
            !StoreKitConfiguration.roots($0).isEmpty
        }
    }

    private mutating func check(
        _ variables: [String: String], _ name: String, _ taken: String, _ isTaken: (String) -> Bool
    ) {
        guard let value = variables[name], !value.isEmpty, !isTaken(value) else { return }
        let shown = TerminalPaymentSheet.printable(value)
        lines.append("\(name) is “\(shown)”; set it to \(taken). StoreKit uses no store until then")
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let url = URL(string: text) else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased() ?? "") && url.host?.isEmpty == false
    }
}
