import ArgumentParser
import ControlWire
import Foundation

/// `cornerstore key`: the keys of the App Store Server API.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Make, list and revoke the keys of the App Store Server API, and sign offers with them.",
        discussion: """
              cornerstore key make --app com.example.club
              cornerstore key list
              cornerstore key revoke 4J8Q2M9XKT
              cornerstore key sign-offer com.example.club.monthly --offer come-back --key 4J8Q2M9XKT --key-file club.p8
            """,
        subcommands: [List.self, Make.self, Revoke.self, SignOffer.self], defaultSubcommand: List.self)

    private static func rows(_ keys: [ControlAPI.APIKey], _ style: Style) -> String {
        Table(
            heading: ["key", "app", "created", "revoked"],
            rows: keys.map {
                [$0.keyId, $0.bundleId, String($0.createdDate.prefix(19)), String(($0.revokedDate ?? "").prefix(19))]
            }
        ).text(style)
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys, oldest first.",
            discussion: """
                  cornerstore key list
                """)
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let keys: [ControlAPI.APIKey] = try await control.client().send(.apiKeys)
            try Console.current.report(keys, json: output.json) { style in
                keys.isEmpty ? "No keys." : KeyCommand.rows(keys, style)
            }
        }
    }

    struct Make: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key, and save its private half as a .p8 file. The store does not keep the private half.",
            discussion: """
                  cornerstore key make --app com.example.club
                  cornerstore key make --app com.example.club --out club.p8
                """)
        @Option(help: ArgumentHelp("The app's bundle identifier.", valueName: "bundle"))
        var app: String
        @Option(
            help: ArgumentHelp(
                "A new file. The default is SubscriptionKey_ID.p8 in the current directory, App Store Connect's name.",
                valueName: "file"), completion: .file(extensions: ["p8"]))
        var out: String?
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// The output of `--json`.
        struct Report: Encodable {
            var keyFile: String
            var keyId: String
            var issuerId: String
            var bundleId: String
        }

        func run() async throws {
            let client = try control.client()
            // Most of what can prevent the file is found before there is a key to lose.
            if let out, FileManager.default.fileExists(atPath: out) {
                throw CommandError(.failed, "\(out) exists already. Choose another file, so that no key is lost.")
            }
            try OutputFile.check(URL(fileURLWithPath: out ?? "SubscriptionKey.p8"))
            let made: ControlAPI.CreatedAPIKey = try await client.send(
                .makeAPIKey, ControlAPI.NewAPIKey(bundleId: app))
            let name = made.key.keyId.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
            let path = out ?? "SubscriptionKey_\(name).p8"
            do {
                try Self.write(made.privateKey, to: path)
            } catch let error as CommandError {
                let outcome = await Self.revoke(made.key, client)
                throw CommandError(.failed, error.detail + " " + outcome)
            }
            let report = Report(
                keyFile: path, keyId: made.key.keyId, issuerId: made.key.issuerId, bundleId: made.key.bundleId)
            try Console.current.report(report, json: output.json) { style in
                Table.fields(
                    [
                        ("key file", path), ("key id", report.keyId), ("issuer id", report.issuerId),
                        ("app", report.bundleId),
                    ], style)
            }
        }

        /// Writes a private key to a new file that only the user can read.
        /// - Throws: ``CommandError`` when the file exists or cannot be written. Nothing is left of it then.
        private static func write(_ key: String, to path: String) throws {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw CommandError(.failed, "Cannot create \(path): \(String(cString: strerror(errno))).")
            }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            do {
                try file.write(contentsOf: Data(key.utf8))
                try file.synchronize()
            } catch {
                unlink(path)
                throw CommandError(.failed, "Cannot write \(path): \(error.localizedDescription)")
            }
        }

        /// Revokes a key whose private half is lost.
        /// - Returns: the sentence about it.
        private static func revoke(_ key: ControlAPI.APIKey, _ client: ControlClient) async -> String {
            do {
                try await client.perform(.revokeAPIKey(name: key.keyId))
                return "The new key was revoked again."
            } catch {
                return "The key \(key.keyId) exists, and its private half is lost. Revoke it: cornerstore key revoke "
                    + key.keyId
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key. Its tokens are refused from now on.",
            discussion: """
                  cornerstore key revoke 4J8Q2M9XKT
                """)
        @Argument(help: "The key's identifier.")
        var key: String
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let revoked: ControlAPI.APIKey = try await control.client().send(.revokeAPIKey(name: key))
            try Console.current.report(revoked, json: output.json) { _ in
                "The key \(Style.printable(revoked.keyId)) is revoked."
            }
        }
    }
}
