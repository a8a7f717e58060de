import Foundation
import MerchantClient
import StoreKit

/// The address of the app's server and the user's token. A real app gets the token from its own sign-in. This app reads
/// it from a file, which `cornerstore merchant token --user NAME > FILE` creates.
struct ReaderAccount: Sendable {
    struct Missing: Error {
        var text: String
    }

    let merchant: URL
    private let tokenFile: URL?

    /// Reads the environment. An empty variable counts as not set.
    init(_ options: ServerBooksOptions, environment: [String: String]) throws {
        let environment = environment.filter { !$0.value.isEmpty }
        let named = options.merchant ?? environment["CORNERSTORE_MERCHANT"].flatMap { URL(string: $0) }
        guard let merchant = named ?? Self.running(environment) else {
            throw Missing(text: "no server is known: set CORNERSTORE_MERCHANT, or use --merchant URL")
        }
        self.merchant = merchant
        tokenFile = environment["CORNERSTORE_USER_TOKEN_FILE"].map { URL(fileURLWithPath: $0) }
    }

    /// Returns the merchant that runs beside the store, from the store's `addresses.json`.
    private static func running(_ environment: [String: String]) -> URL? {
        struct Addresses: Decodable {
            var merchant: String?
        }
        guard let data = environment["CORNERSTORE_DATA"],
            let bytes = try? Data(
                contentsOf: URL(fileURLWithPath: data, isDirectory: true).appendingPathComponent("addresses.json")),
            let addresses = try? JSONDecoder().decode(Addresses.self, from: bytes)
        else { return nil }
        return addresses.merchant.flatMap { URL(string: $0) }
    }

    /// Returns the user's token. It reads the file each time, because an expired token may have been replaced.
    func token() throws -> String {
        guard let tokenFile else { throw Missing(text: "nobody is signed in: set CORNERSTORE_USER_TOKEN_FILE") }
        let text = try String(contentsOf: tokenFile, encoding: .utf8)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
