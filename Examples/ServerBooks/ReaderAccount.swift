import Foundation
import MerchantClient
import StoreKit

/// Where the app's server is, and who its user is. A real app has a sign-in of its own, which gives a token; here somebody
/// puts one into a file: `cornerstore merchant token --user NAME > FILE`.
struct ReaderAccount: Sendable {
    struct Missing: Error {
        var text: String
    }

    let merchant: URL
    private let tokenFile: URL?

    init(_ options: ServerBooksOptions, environment: [String: String]) throws {
        let named = options.merchant ?? environment["CORNERSTORE_MERCHANT"].flatMap { URL(string: $0) }
        guard let merchant = named ?? Self.running(environment) else {
            throw Missing(text: "no server is known: set CORNERSTORE_MERCHANT, or use --merchant URL")
        }
        self.merchant = merchant
        tokenFile = environment["CORNERSTORE_USER_TOKEN_FILE"].map { URL(fileURLWithPath: $0) }
    }

    /// The merchant that runs beside the store, as it writes its address down.
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

    /// Read anew each time: a token that the merchant does not take any longer may have been replaced.
    func token() throws -> String {
        guard let tokenFile else { throw Missing(text: "nobody is signed in: set CORNERSTORE_USER_TOKEN_FILE") }
        let text = try String(contentsOf: tokenFile, encoding: .utf8)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
