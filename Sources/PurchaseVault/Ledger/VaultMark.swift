import Foundation

/// The mark of a vault. It is stored apart from the vault's file, so that the vault detects an older copy of the file.
struct VaultMark: Codable, Sendable, Equatable {
    /// The generation of the last file written; 0 before the first.
    var generation = 0
    /// The SHA-256 of that file; empty before the first.
    var digest = Data()
    /// All transactions ever credited.
    var counted: [String] = []
    /// The balances in that file.
    var balances: [String: Int] = [:]

    var isWithinLimits: Bool {
        generation >= 0 && counted.count <= VaultLimits.counted + VaultLimits.entries
            && balances.values.allSatisfy { $0 >= 0 }
    }
}
