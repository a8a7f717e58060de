import Foundation
import Store
import StoreServer
import TestSupport
import Testing

@testable import CornerstoreCommands

/// `cornerstore serve` where it must not join the other processes of a store.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct ServeRefusalTests {
    private static let storefront = "http://store.example"

    /// A folder with a catalog and a store key, and schemas of a server.
    private struct Place {
        let directory: TemporaryDirectory
        let url: String
        let prefix: String
        let key: String

        static func with(_ body: (Place) async throws -> Void) async throws {
            try await TemporaryDirectory.with { directory in
                try await Backend.postgresql.withServerDatabase { url, prefix in
                    try Data(RunningStore.catalog.utf8).write(to: directory.url.appendingPathComponent("App.storekit"))
                    let place = Place(
                        directory: directory, url: try #require(url), prefix: prefix,
                        key: Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString())
                    try await body(place)
                }
            }
        }

        /// Starts a process that is refused.
        /// - Parameters:
        ///   - url: the database's address, if it is another one.
        ///   - key: the store key, if it is another one.
        func serve(
            url: String? = nil, key: String? = nil, storefront: String = ServeRefusalTests.storefront
        ) async -> (status: Int32, output: String, errors: String) {
            await Capture.run(
                [
                    "serve", directory.path("App.storekit"), "--bundle-id", "com.example.app", "--data",
                    directory.path("refused"), "--database", url ?? self.url, "--schema-prefix", prefix,
                    "--storefront-url", storefront, "--blobs-shared", directory.path("content"), "--connections", "2",
                    "--no-merchant", "--no-console", "--control-port", "0", "--sandbox-port", "0", "--production-port",
                    "0", "--storefront-port", "0",
                ], environment: ["CORNERSTORE_STORE_KEY": key ?? self.key])
        }

        /// Opens a process of the store, which stays among the others until it is closed.
        func open() async throws -> StoreApplication {
            var configuration = StoreServerConfiguration(
                dataDirectory: directory.url.appendingPathComponent("data"),
                catalogFiles: [CatalogFile(path: directory.path("App.storekit"), bundleID: "com.example.app")],
                databaseURL: url, schemaPrefix: prefix)
            configuration.storeKey = try StoreKey(base64: key)
            configuration.storefrontURL = ServeRefusalTests.storefront
            configuration.sharedBlobs =
                URL(
                    fileURLWithPath: directory.path("content"), isDirectory: true
                ).standardizedFileURL
            configuration.connections = 2
            configuration.passwordCost = PasswordCost(rounds: 16)
            return try await StoreApplication.open(
                configuration, now: { Date() }, logger: ServeAction.logger(.critical))
        }
    }

    @Test func aMachineWhoseClockDiffersDoesNotServe() async throws {
        try await Place.with { place in
            var parts = try #require(URLComponents(string: place.url))
            let relay = try Relay(to: UInt16(parts.port ?? 5432))
            defer { relay.close() }
            parts.port = Int(relay.port)
            // For this process, PostgreSQL's clock shows 1970.
            relay.replace("clock_timestamp()", with: "to_timestamp(0)")
            let result = await place.serve(url: parts.string ?? "")
            #expect(result.status == 1 && result.output.isEmpty)
            #expect(result.errors.contains("cornerstore: PostgreSQL's clock shows 1970-01-01T00:00:00Z and this"))
            #expect(result.errors.contains("more than two seconds apart; set the clocks, for example with NTP."))
        }
    }

    @Test func aProcessThatDoesNotFitTheOthersSaysWhatToDo() async throws {
        try await Place.with { place in
            let application = try await place.open()
            let differing = await place.serve(storefront: "http://other.example")
            #expect(differing.status == 1 && differing.output.isEmpty)
            #expect(differing.errors.contains("cornerstore: This process cannot use the database together with"))
            #expect(differing.errors.contains("--storefront-url") && !differing.errors.contains("Database error"))
            let wrong = Data(repeating: 7, count: 32).base64EncodedString()
            let wrongKey = await place.serve(key: wrong)
            #expect(wrongKey.status == 1 && wrongKey.errors.contains("--store-key"), "\(wrongKey.errors)")
            #expect(!wrongKey.errors.contains(wrong) && !wrongKey.errors.contains(place.key))
            await application.close()
        }
    }
}
