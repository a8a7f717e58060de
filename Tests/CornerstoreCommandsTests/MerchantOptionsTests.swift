import Foundation
import Logging
import Merchant
import MerchantServer
import StoreReceipts
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct MerchantOptionsTests {
    private static let secrets = [
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush",
        "CORNERSTORE_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ]

    /// Takes Apple's purchases, of which nothing has to be there.
    private func options(
        _ flags: [MerchantOption: String] = [:], lists: [MerchantOption.List: [String]] = [.store: ["apple"]],
        environment: [String: String] = [:], file: String? = nil
    ) throws -> MerchantOptions {
        MerchantOptions(
            flags: flags, lists: lists, file: try file.map { try ConfigurationFile(text: $0, path: "merchant.yaml") },
            environment: environment.merging(Self.secrets) { one, _ in one })
    }

    private func described(_ options: MerchantOptions) throws -> String {
        let configuration = try options.configuration()
        let console = try options.console(beside: configuration)
        return
            "\(configuration) \(String(describing: console)) \(try options.logLevel()) \(try options.logFormat())"
    }

    @Test func usualValues() throws {
        let configuration = try options().configuration()
        #expect(configuration.host == "127.0.0.1" && configuration.port == 8410)
        #expect(configuration.dataDirectory.path.hasSuffix("/.cornerstore/merchant"))
        #expect(configuration.databaseURL == nil && configuration.schema == "cornerstore_merchant")
        #expect(configuration.policy.environments == [.production] && !configuration.policy.sendsWebhooks)
        #expect(configuration.rates != nil && configuration.remote == nil && configuration.webhooks == nil)
        #expect(configuration.tokenKeys == nil && configuration.bucket == nil && !configuration.isBehindProxy)
        #expect(try options().logLevel() == .notice)
    }

    @Test(arguments: [(.consumption, "grant"), (.accountTokens, "true")] as [(MerchantOption, String)])
    func `requests to the store without keys are noticed at the start`(_ option: MerchantOption, _ value: String) throws
    {
        #expect(try options([option: value]).configuration().lacksStoreKeys)
        #expect(try !options().configuration().lacksStoreKeys)
    }

    @Test func theCommandLineOverridesTheEnvironmentAndTheFile() throws {
        let file = "port: 3\nhost: file\nschema: file\n"
        let environment = ["CORNERSTORE_MERCHANT_HOST": "environment", "CORNERSTORE_MERCHANT_SCHEMA": "environment"]
        let configuration = try options([.schema: "line"], environment: environment, file: file).configuration()
        #expect(configuration.port == 3 && configuration.host == "environment" && configuration.schema == "line")
    }

    @Test func theConsoleListensOnlyWhereItIsSafe() throws {
        func console(_ flags: [MerchantOption: String], _ token: String? = nil) throws -> ConsoleSettings? {
            let options = try options(flags, environment: token.map { ["CORNERSTORE_ADMIN_TOKEN": $0] } ?? [:])
            return try options.console(beside: try options.configuration())
        }
        #expect(try console([:]) == ConsoleSettings(port: 8421))
        #expect(try console([.noConsole: "true"]) == nil)
        #expect(try console([.host: "0.0.0.0"]) == nil)
        #expect(try console([.host: "0.0.0.0"], "hush") == ConsoleSettings(port: 8421))
        // Nobody starts without the console that an option asks for.
        let asked: [(MerchantOption, String, String)] = [
            (.consolePort, "0", "console-port"), (.consoleFiles, "/srv/console", "console-files"),
            (.consoleHost, "console.example.com", "console-host"), (.noConsole, "false", "console"),
        ]
        for (option, value, name) in asked {
            let flags: [MerchantOption: String] = [.host: "0.0.0.0", option: value]
            let error = #expect(throws: CommandError.self) { try console(flags) }
            #expect(error?.code == .usage && error?.detail.hasPrefix("\(name): ") == true, "\(name)")
            #expect(try console(flags, "hush") != nil, "\(name)")
        }
        #expect(try console([.host: "0.0.0.0", .consoleFiles: "/srv/console", .noConsole: "true"]) == nil)
        // On this machine alone, the console answers to another name only with a token.
        #expect(throws: CommandError.self) { try console([.consoleHost: "console.example.com"]) }
        #expect(try console([.consoleFiles: "/srv/console", .noConsole: "false"])?.port == 8421)
        #expect(throws: CommandError.self) { try console([.consolePort: "65536"]) }
        #expect(throws: CommandError.self) { try console([.consoleHost: "a b"], "hush") }
        let configuration = try options().configuration()
        let settings = ConsoleSettings(port: 0, host: "console.example.com")
        let made = settings.configuration(beside: configuration, adminToken: "hush")
        #expect(made.host == "127.0.0.1" && made.adminToken == "hush" && made.publicHost == "console.example.com")
        #expect(made.commandVariable == nil)
        let elsewhere = settings.configuration(
            beside: try options([.data: "/srv/books"]).configuration(), adminToken: "hush")
        #expect(elsewhere.commandVariable?.name == "CORNERSTORE_MERCHANT_DATA")
        #expect(elsewhere.commandVariable?.value == "/srv/books")
    }

    @Test(arguments: MerchantOption.allCases)
    func everyOptionComesFromEveryLayer(_ option: MerchantOption) throws {
        let value =
            switch option {
            case .data: "/var/merchant"
            case .database: "postgres://localhost/x"
            case .schema: "another"
            case .blobs: "s3://content?region=eu-west-3"
            case .storeData: "/nonexistent/store"
            case .allowSandbox, .remote, .behindProxy, .noRateLimits, .trialCredits, .sharedCredits, .noConsole: "true"
            case .consolePort: "7"
            case .consoleHost: "console.example.com"
            case .consoleFiles: "/nonexistent/files"
            case .sandboxStore: "http://127.0.0.1:7"
            case .conflict: "transfer"
            case .refunds: "flag"
            case .evidenceDownloads: "3"
            case .joinEnvironments: "true"
            case .defaultEnvironment: "sandbox"
            case .superseded: "keep"
            case .tokenKeys: "/etc/keys.yaml"
            case .storeKeys: "/etc/store-keys.yaml"
            case .consumption: "prorate"
            case .samples, .accountTokens: "true"
            case .webhook: "https://backend.example.com/hook"
            case .host: "127.0.0.2"
            case .port: "7"
            case .addressRate, .userRate, .keyRate, .addressGuessRate, .userGuessRate: "3:70"
            case .maxConnections, .maxConnectionsPerAddress, .maxBodyMemory: "77"
            case .logLevel: "debug"
            case .logFormat: "json"
            }
        let name = "CORNERSTORE_MERCHANT_" + option.rawValue.uppercased().replacing("-", with: "_")
        // The console's host needs an admin token, which comes from the environment only.
        let token: [String: String] = option == .consoleHost ? ["CORNERSTORE_ADMIN_TOKEN": "hush"] : [:]
        let layers = [
            try options([option: value], environment: token),
            try options(environment: token.merging([name: value]) { $1 }),
            try options(environment: token, file: "\(option.rawValue): \(value)\n"),
            try options(environment: token, file: "{\"\(option.rawValue)\": \"\(value)\"}"),
        ]
        #expect(layers.allSatisfy { $0.layers.text(option) == value })
        // These two matter to a Cornerstore alone.
        guard option != .storeData, option != .sandboxStore else { return }
        if option == .storeKeys {
            // The file does not exist, and each layer leads to it.
            for layer in layers { #expect(throws: MerchantServerError.self) { try described(layer) } }
            return
        }
        if option == .samples {
            // They matter to a merchant that answers consumption requests.
            let alone = try options([.consumption: "grant"])
            #expect(try described(options([.samples: value, .consumption: "grant"])) != described(alone))
            for layer in layers {
                let error = #expect(throws: CommandError.self) { try described(layer) }
                #expect(error?.code == .usage && error?.detail.contains("consumption") == true)
            }
            return
        }
        let usual = try described(options())
        #expect(try layers.allSatisfy { try described($0) != usual })
    }

    @Test func aCornerstoreHasTwoHosts() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let roots = directory.url.appendingPathComponent("roots")
            try FileManager.default.createDirectory(at: roots, withIntermediateDirectories: true)
            let keys = directory.url.appendingPathComponent("authority")
            try await SharedAuthority.copy(to: keys)
            let authority = try await CertificateAuthority.open(directory: keys, at: Date())
            try Data(authority.receiptRoot).write(to: roots.appendingPathComponent("receipt-root.der"))
            try Data(authority.jwsRoot).write(to: roots.appendingPathComponent("jws-root.der"))
            let flags: [MerchantOption: String] = [
                .remote: "true", .storeData: directory.url.path, .sandboxStore: "http://127.0.0.1:8401",
            ]
            let given = try options(
                flags, lists: [.store: ["http://127.0.0.1:8402"]],
                environment: ["CORNERSTORE_SHARED_SECRET": "hush-hush"])
            let remote = try #require(try given.configuration().remote)
            #expect(
                try remote.hosts
                    == .cornerstore(production: "http://127.0.0.1:8402", sandbox: "http://127.0.0.1:8401"))
            #expect(remote.sharedSecret == "hush-hush")
        }
    }

    @Test func optionsWithSeveralValuesAreReadFromEveryLayer() throws {
        func apps(_ options: MerchantOptions) throws -> [String] {
            try options.configuration().bundleIDs.map(\.rawValue).sorted()
        }
        let environment = [
            "CORNERSTORE_MERCHANT_BUNDLE_ID": "com.a com.b",
            "CORNERSTORE_MERCHANT_STORE": "apple http://127.0.0.1:8402",
            "CORNERSTORE_MERCHANT_PRODUCTS": "/a.yaml:/b.yaml",
        ]
        let given = try options(lists: [:], environment: environment)
        #expect(given.layers.list(.store) == ["apple", "http://127.0.0.1:8402"])
        #expect(given.layers.list(.products) == ["/a.yaml", "/b.yaml"])
        let file = "bundle-id: [com.c, com.d]\nproducts: c.yaml\n"
        #expect(try apps(options(environment: environment)) == ["com.a", "com.b"])
        #expect(try apps(options(file: file)) == ["com.c", "com.d"])
        #expect(try options(file: file).layers.list(.products) == ["c.yaml"])
        #expect(
            try apps(options(lists: [.store: ["apple"], .bundleID: ["com.e"]], environment: environment, file: file))
                == ["com.e"])
    }

    @Test func anAppCanHaveItsNumber() throws {
        let numbered = try options(lists: [.store: ["apple"], .bundleID: ["com.a=7", "com.b"]]).configuration()
        #expect(numbered.bundleIDs == ["com.a", "com.b"] && numbered.appIDs == ["com.a": 7])
        for bad in ["com.a=x", "com.a=", "com.a=0", "com.a=-7", "com.a=7=8"] {
            #expect(throws: CommandError.self, "\(bad)") {
                try options(lists: [.store: ["apple"], .bundleID: [bad]]).configuration()
            }
        }
    }

    /// Where the store is says where the merchant is, unless something says it of the merchant.
    @Test func theDataDirectoryIsBesideTheStores() throws {
        let store = ["CORNERSTORE_DATA": "/srv/store"]
        #expect(try options(environment: store).folder.path == "/srv/store/merchant")
        #expect(try options(environment: store, file: "data: /srv/books").folder.path == "/srv/books")
    }

    @Test(arguments: [
        ("port", "many"), ("port", "65536"), ("allow-sandbox", "yes"), ("conflict", "never"), ("refunds", "never"),
        ("evidence-downloads", "-1"), ("default-environment", "mars"),
        ("superseded", "never"), ("trial-credits", "yes"), ("consumption", "never"), ("account-tokens", "yes"),
        ("database", "mysql://ann:hush@host/x"), ("schema", "A-B"), ("log-level", "loud"), ("blobs", "/var/content"),
        ("store", "Apples"), ("store", "ftp://store.example.com"),
    ])
    func badValuesAreRefusedWithTheirName(_ name: String, _ value: String) throws {
        let store = name == "store" ? "" : "store: apple\n"
        let bad = try options(lists: [:], file: store + "\(name): \"\(value)\"")
        let error = #expect(throws: CommandError.self) { try described(bad) }
        #expect(
            error?.code == .usage && error?.detail.contains(name) == true && error?.detail.contains("hush") == false)
    }

    @Test(arguments: ["webhook-secret: whsec_x", "shared-secret: x", "prot: 1", "port: [1]", "- a", "x: y: z"])
    func badFilesAreRefusedWithTheirName(_ text: String) {
        let error = #expect(throws: CommandError.self) { try options(file: text) }
        #expect(error?.code == .usage && error?.detail.contains("merchant.yaml") == true)
        #expect(error?.detail.contains("whsec_x") == false)
    }

    @Test func secretsComeFromTheEnvironmentOnly() throws {
        let hook: [MerchantOption: String] = [.webhook: "https://backend.example.com/hook"]
        #expect(try options(hook).configuration().webhooks != nil)
        let error = #expect(throws: CommandError.self) {
            try MerchantOptions(flags: hook, lists: [.store: ["apple"]], environment: [:]).configuration()
        }
        #expect(error?.code == .usage && error?.detail.contains("CORNERSTORE_WEBHOOK_SECRET") == true)
        let remote = try options([.remote: "true"], environment: ["CORNERSTORE_SHARED_SECRET": "quiet"])
        #expect(try remote.configuration().remote?.sharedSecret == "quiet")
    }

    /// The other commands of the merchant find it by the same file.
    @Test func oneFileConfiguresAllCommands() async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.path("merchant.yaml")
            let folder = directory.path("books")
            try Data("data: \(folder)\nbundle-id: com.a\nport: 0\n".utf8).write(to: URL(fileURLWithPath: file))
            let put = await Capture.run(
                [
                    "merchant", "products", "put", "coins", "--app", "com.a", "--kind", "consumable", "--credits",
                    "1:gold",
                ]
                    + ["--config", file])
            #expect(put.status == 0, "\(put.errors)")
            #expect(MerchantPlace.hasDatabase(URL(fileURLWithPath: folder)))
            #expect(await Capture.run(["merchant", "check", "--config", file]).status == 0)
        }
    }
}
