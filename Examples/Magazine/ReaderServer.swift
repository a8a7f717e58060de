import MerchantClient
import StoreKit

/// The address of the app's server and the user's token, if the app has a server. A real app gets the token from its
/// own sign-in. This app reads it from a file, which `cornerstore merchant token --user NAME > FILE` creates.
enum ReaderServer {
    private struct NobodySignedIn: Error {}

    /// Returns the client's configuration; nil without a server or without a user's token. An empty variable counts as
    /// not set.
    static func client(
        _ environment: [String: String], _ storeKit: StoreKitConfiguration
    ) throws -> MerchantClientConfiguration? {
        let environment = environment.filter { !$0.value.isEmpty }
        let named = environment["CORNERSTORE_MERCHANT"].flatMap { URL(string: $0) }
        guard let merchant = named ?? running(environment),
            let token = environment["CORNERSTORE_USER_TOKEN_FILE"].map({ URL(fileURLWithPath: $0) })
        else { return nil }
        return try MerchantClientConfiguration(merchant: merchant, storeKit: storeKit) { _ in
            // The client asks again after the merchant has refused a token, which may have been replaced since.
            guard let text = try? String(contentsOf: token, encoding: .utf8) else { throw NobodySignedIn() }
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
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
}
