import Foundation
import Store

extension StoreKey {
    /// The environment variable that holds a store key itself, in Base64.
    static let variable = "CORNERSTORE_STORE_KEY"

    /// Reads the store key from the file of `--store-key`, or from the environment; nil when neither names one.
    /// - Throws: ``CommandError`` when both name different keys; ``StoreSecretsError`` for a file or text that is no
    ///   key.
    init?(option file: String?, environment: [String: String]) throws {
        let text = environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
        let given = try text.map { try StoreKey(base64: $0) }
        let read = try file.map { try StoreKey.read(file: URL(fileURLWithPath: $0)) }
        if let given, let read, given != read {
            throw CommandError(.usage, "--store-key and \(Self.variable) name different keys. Give one of them.")
        }
        guard let key = read ?? given else { return nil }
        self = key
    }
}
