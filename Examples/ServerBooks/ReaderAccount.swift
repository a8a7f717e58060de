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
            throw Missing(
                text: "no server is known: set CORNERSTORE_MERCHANT or CORNERSTORE_DATA, or use --merchant URL")
        }
        self.merchant = merchant
        tokenFile = environment["CORNERSTORE_USER_TOKEN_FILE"].map { URL(fileURLWithPath: $0) }
    }

    /// Returns the URL of the merchant that runs beside the store, from `addresses.json` in the store's data folder.
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

    /// Why nobody can buy; nil when there is a token.
    var problem: String? {
        tokenFile == nil ? Self.nobody : nil
    }

    private static let nobody =
        "nobody is signed in: set CORNERSTORE_USER_TOKEN_FILE to a file that “cornerstore merchant token --user NAME > FILE” "
        + "made"

    /// Reads the user's token. The client calls it again after the merchant has refused a token, which may have been
    /// replaced in the file since.
    func token() throws -> String {
        guard let tokenFile else { throw Missing(text: Self.nobody) }
        let text = try String(contentsOf: tokenFile, encoding: .utf8)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
