import ArgumentParser
import Foundation
import Merchant
import MerchantServer
import MerchantWire
import StoreWire

extension MerchantCommand {
    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a user's token, for trying out.",
            discussion: """
                The developer's own login server makes them in use, with a key of --token-keys.

                  cornerstore merchant token --user ann
                  curl -H "Authorization: Bearer $(cornerstore merchant token --user ann)" http://127.0.0.1:8410/v1/balances
                """)

        @Option(help: ArgumentHelp("Who the user is.", valueName: "name"))
        var user: String
        @Option(
            help: ArgumentHelp("The keys of users' tokens, as the server has them.", valueName: "file"),
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
                        "note: keys were made in \(place.folder.path); a server elsewhere does not know them"))
            }
            Console.current.print(try await UserTokens(keys).makeToken(for: UserID(user), at: Date()))
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make and revoke the API keys of the merchant's backend.",
            discussion: """
                  cornerstore merchant key make backend --scope users --scope ledger
                  cornerstore merchant key list
                  cornerstore merchant key revoke backend
                """,
            subcommands: [Make.self, List.self, Revoke.self])

        struct Make: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Make a key and show it, this once.",
                discussion: "  cornerstore merchant key make backend --scope users --scope ledger")

            @Argument(help: "What the key is called.")
            var name: String
            @Option(
                help: ArgumentHelp(
                    "What it may do: \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).", valueName: "scope")
            )
            var scope: [String]
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let scopes = try scope.map { text in
                    guard let scope = APIScope(rawValue: text) else {
                        throw CommandError(
                            .usage, "--scope is one of \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).")
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

            func run() async throws {
                for key in try await place.withMerchant({ try await $0.apiKeys.apiKeys() }) {
                    let state = key.revokedAt == nil ? "good" : "revoked"
                    Console.current.print("\(key.name)  \(state)  \(key.scopes.joined(separator: " "))")
                }
            }
        }

        struct Revoke: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Make a key good no longer; running servers follow within seconds.",
                discussion: "  cornerstore merchant key revoke backend")

            @Argument(help: "What the key is called.")
            var name: String
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let isRevoked = try await place.withMerchant {
                    try await APIKeys($0.apiKeys).revoke(name: name, at: Date())
                }
                guard isRevoked else { throw CommandError(.refused, "There is no key of that name that is good.") }
            }
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prove that the books balance.",
            discussion: """
                Account by account, also while the merchant works. It ends with 1 when something does not fit.

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
