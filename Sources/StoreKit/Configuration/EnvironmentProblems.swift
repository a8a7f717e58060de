import Foundation
import StoreWire

/// The environment variables that are set to what they do not take. Whoever wrote `prod` meant something, and a purchase
/// in the sandbox is not it.
struct EnvironmentProblems {
    /// A sentence for each: the variable, its value, what it takes.
    private(set) var lines: [String] = []

    init(_ variables: [String: String]) {
        let sheets = ["terminal", "web", "approve", "decline"]
        check(variables, "CORNERSTORE_ENVIRONMENT", "sandbox or production") { StoreEnvironment(name: $0) != nil }
        check(variables, "CORNERSTORE_SHEET", "terminal, web, approve or decline") { sheets.contains($0.lowercased()) }
        check(variables, "CORNERSTORE_PAYMENTS", "on or off") { ["on", "off"].contains($0.lowercased()) }
        check(variables, "CORNERSTORE_STORE", "a URL such as http://127.0.0.1:8401", Self.isAddress)
        check(variables, "CORNERSTORE_CONTROL", "a URL such as http://127.0.0.1:8400", Self.isAddress)
        check(variables, "CORNERSTORE_ROOTS", "certificate files (DER), or a folder of them") {
            !StoreKitConfiguration.roots($0).isEmpty
        }
    }

    private mutating func check(
        _ variables: [String: String], _ name: String, _ taken: String, _ isTaken: (String) -> Bool
    ) {
        guard let value = variables[name], !value.isEmpty, !isTaken(value) else { return }
        let shown = TerminalPaymentSheet.printable(value)
        lines.append("\(name) is “\(shown)”, and takes \(taken); no store is used until it is corrected")
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let url = URL(string: text) else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased() ?? "") && url.host?.isEmpty == false
    }
}
