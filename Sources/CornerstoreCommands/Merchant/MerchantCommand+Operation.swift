import ArgumentParser
import Foundation
import Merchant
import MerchantServer
import MerchantWire
import StoreWire

extension MerchantCommand {
    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a user's token for testing.",
            discussion: """
                In production, your login server creates the tokens, with a key of --token-keys.

                  cornerstore merchant token --user ann
                  curl -H "Authorization: Bearer $(cornerstore merchant token --user ann)" http://127.0.0.1:8410/v1/balances
                """)

        @Option(help: ArgumentHelp("The user's name.", valueName: "name"))
        var user: String
        @Option(
            help: ArgumentHelp("The file with the keys of users' tokens, as for the server.", valueName: "file"),
            completion: .file())
        var tokenKeys: String?
        @OptionGroup var place: PlaceOptions

        func run() async throws {
            let options = try place.options([.tokenKeys: tokenKeys])
            let place = try MerchantPlace(folder: options.folder, databaseURL: nil, schema: "unused")
            let tokenKeys = options.tokenKeys
            let isNew =
                tokenKeys == nil
                && !FileManager.default.fileExists(
                    atPath: place.folder.appendingPathComponent(TokenKeySet.fileName).path)
            let keys: TokenKeySet =
                if let tokenKeys { try await .read(tokenKeys) } else {
                    try await .open(directory: place.folder)
                }
            if isNew {
                let console = Console.current
                console.remark(
                    console.style.dim(
                        "note: created keys in \(place.folder.path); a server with another data directory does not accept this token"
                    ))
            }
            Console.current.print(try await UserTokens(keys).makeToken(for: UserID(user), at: Date()))
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create, list and revoke the API keys of the merchant's backend.",
            discussion: """
                  cornerstore merchant key make backend --scope users --scope ledger
                  cornerstore merchant key list
                  cornerstore merchant key revoke backend
                """,
            subcommands: [Make.self, List.self, Revoke.self])

        struct Make: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Create a key and print it. It cannot be shown again.",
                discussion: "  cornerstore merchant key make backend --scope users --scope ledger")

            @Argument(help: "The key's name.")
            var name: String
            @Option(
                help: ArgumentHelp(
                    "A scope of the key: \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")). Repeat the option for several scopes.",
                    valueName: "scope")
            )
            var scope: [String]
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let scopes = try scope.map { text in
                    guard let scope = APIScope(rawValue: text) else {
                        throw CommandError(
                            .usage,
                            "--scope must be one of \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).")
                    }
                    return scope
                }
                let key = try await place.withMerchant(orNew: true) {
                    try await APIKeys($0.apiKeys).make(name: name, scopes: Set(scopes), at: Date())
                }
                Console.current.print(key.text)
            }
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "List the keys, without their secrets.", discussion: "  cornerstore merchant key list")

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let keys = try await place.withMerchant { try await $0.apiKeys.apiKeys() }
                let list = APIKeyList(keys: keys.map(APIKeyDescription.init))
                guard !output.json else { return try Console.current.report(list, json: true) { _ in "" } }
                for key in list.keys {
                    let state = key.revokedAt == nil ? "active" : "revoked"
                    Console.current.print("\(key.name)  \(state)  \(key.scopes.joined(separator: " "))")
                }
            }
        }

        struct Revoke: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Revoke a key. Running servers apply the change within seconds.",
                discussion: "  cornerstore merchant key revoke backend")

            @Argument(help: "The key's name.")
            var name: String
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let isRevoked = try await place.withMerchant {
                    try await APIKeys($0.apiKeys).revoke(name: name, at: Date())
                }
                guard isRevoked else {
                    throw CommandError(.refused, "There is no active key named \(Style.printable(name)).")
                }
                Console.current.print("The key \(Style.printable(name)) is revoked.")
            }
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that the ledger balances.",
            discussion: """
                The command checks every account. The server may run. The exit code is 1 when the check finds an error.

                  cornerstore merchant check
                  cornerstore merchant check --database postgres://merchant@localhost/books --json
                """)

        @OptionGroup var place: PlaceOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let report = try await place.withMerchant { try await $0.checkBooks() }
            try Console.current.report(report, json: output.json) { _ in
                let held = report.outstanding.map {
                    "\($0.amount) \(UserText.name(of: $0.currency, in: $0.environment))"
                }
                .joined(separator: ", ")
                return
                    "\(Self.count(report.accounts, "account", "accounts")), \(Self.count(report.entries, "entry", "entries")); "
                    + "users have \(held.isEmpty ? "no credits" : held).\n"
                    + (report.balances
                        ? "The books balance." : report.findings.map(Style.printable).joined(separator: "\n"))
            }
            if !report.balances { throw ExitCode(1) }
        }

        private static func count(_ number: some BinaryInteger, _ one: String, _ several: String) -> String {
            "\(number) \(number == 1 ? one : several)"
        }
    }
}
