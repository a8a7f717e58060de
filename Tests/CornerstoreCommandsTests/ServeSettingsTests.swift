import Foundation
import Logging
import MerchantServer
import Store
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct ServeSettingsTests {
    private func settings(
        flags: [ServeSetting: String] = [:], files: [String] = ["a.storekit"], environment: [String: String] = [:],
        file: String? = nil
    ) throws -> ServeSettings {
        try ServeSettings(
            flags: flags, files: files, productsFiles: [],
            environment: environment.merging([
                "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush",
                "CORNERSTORE_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            ]) { $1 },
            file: try file.map { try ConfigurationFile(text: $0, path: "c.yaml") })
    }

    @Test func usualValues() throws {
        let configuration = try settings().configuration()
        #expect(configuration.host == "127.0.0.1")
        #expect(
            (configuration.controlPort, configuration.sandboxPort, configuration.productionPort) == (8400, 8401, 8402))
        #expect(configuration.dataDirectory.lastPathComponent == ".cornerstore")
        #expect(configuration.databaseURL == nil && configuration.adminToken == nil && configuration.node == nil)
        #expect(configuration.storeKey == nil && configuration.connections == 16 && !configuration.requiresStandby)
        #expect(configuration.drainDelay == .zero)
        #expect(try settings().logLevel() == .notice)
    }

    @Test func theCommandLineOverridesTheEnvironmentAndTheFile() throws {
        let file = "sandbox-port: 3\nproduction-port: 3\ncontrol-port: 3\n"
        let environment = ["CORNERSTORE_SANDBOX_PORT": "2", "CORNERSTORE_CONTROL_PORT": "2"]
        let configuration = try settings(flags: [.controlPort: "1"], environment: environment, file: file)
            .configuration()
        #expect((configuration.controlPort, configuration.sandboxPort, configuration.productionPort) == (1, 2, 3))
    }

    @Test func ratesAndLimitsReachTheStoreAndTheMerchant() throws {
        let file = """
            sign-in-rate: "0.5:7"
            account-rate: "2"
            address-rate: "900:1800"
            user-rate: "30"
            key-rate: "0.1"
            address-guess-rate: "0.5:9"
            user-guess-rate: "0.002"
            password-cost: 32768
            max-connections: 50
            max-connections-per-address: 5
            max-body-memory: 64
            """
        let settings = try settings(file: file)
        let configuration = try settings.configuration()
        #expect(
            configuration.signInRates
                == .init(
                    address: .init(burst: 7, perSecond: 0.5), account: .init(burst: 4, perSecond: 2)))
        #expect(configuration.passwordCost == PasswordCost(rounds: 32_768))
        #expect(
            try settings.merchant()?.rates
                == .init(
                    address: .init(burst: 1800, perSecond: 900), user: .init(burst: 60, perSecond: 30),
                    key: .init(burst: 1, perSecond: 0.1), addressGuesses: .init(burst: 9, perSecond: 0.5),
                    userGuesses: .init(burst: 1, perSecond: 0.002)))
        #expect(
            configuration.limits.values
                == .init(connections: 50, connectionsPerAddress: 5, bodyBytes: 64 << 20))
        // Behind a proxy all connections are the proxy's.
        let behindProxy = try self.settings(flags: [.behindProxy: "true"], file: file).configuration()
        #expect(behindProxy.limits.values.connectionsPerAddress == nil && behindProxy.isBehindProxy)
        let none = try self.settings(flags: [.noRateLimits: "true"], file: file)
        #expect(try none.configuration().signInRates == nil && none.merchant()?.rates == nil)
    }

    @Test func onlyOpenPortsShareTheLimitOfOpenFiles() throws {
        let cases: [([ServeSetting: String], Int)] = [
            ([:], 6), ([.noMerchant: "true"], 5), ([.noConsole: "true"], 5),
            ([.noMerchant: "true", .noConsole: "true"], 4), ([.noConsole: "false"], 6),
        ]
        for (flags, ports) in cases { #expect(try settings(flags: flags).portCount() == ports, "\(flags)") }
    }

    @Test(arguments: ["", "x", "0", "-1", "1:0", "1:2:3", "1:", ":1", "nan", "inf", "1e9"])
    func aRateThatIsNoneIsRefused(_ text: String) throws {
        #expect(throws: CommandError.self) { try settings(flags: [.signInRate: text]).configuration() }
    }

    @Test(arguments: ServeSetting.allCases)
    func everySettingComesFromEveryLayer(_ setting: ServeSetting) throws {
        let value =
            switch setting {
            case .bundleID: "com.example.a"
            case .data: "/var/store"
            case .database: "postgres://localhost/x"
            case .schemaPrefix: "another"
            case .host: "127.0.0.2"
            case .controlPort, .sandboxPort, .productionPort, .storefrontPort, .merchantPort, .consolePort, .node,
                .connections, .drainDelay:
                "7"
            case .storefrontURL, .ocspURL: "https://store.example"
            case .consoleHost: "console.example"
            case .webhook: "https://backend.example/hook"
            case .consoleFiles: "/srv/console"
            case .noMerchant, .noConsole, .feed: "true"
            case .feedLayouts: "flat"
            case .feedCountries: "deu"
            case .logLevel: "debug"
            case .logFormat: "json"
            case .adminToken: "token"
            case .blobs: "s3://packages?region=eu-west-3"
            case .behindProxy, .noRateLimits, .samples, .accountTokens, .requireStandby: "true"
            case .blobsShared: "/srv/content"
            case .storeKey: "/nonexistent/store.key"
            case .consumption: "prorate"
            case .signInRate, .accountRate, .addressRate, .userRate, .keyRate, .addressGuessRate, .userGuessRate,
                .searchRate:
                "3:70"
            case .maxConnections, .maxConnectionsPerAddress, .maxBodyMemory: "77"
            case .passwordCost: "1024"
            case .productionRenewalLead, .sandboxRenewalLead: "90m"
            case .productionRetryDays, .sandboxRetryDays: "2,5"
            }
        let name = "CORNERSTORE_" + setting.rawValue.uppercased().replacing("-", with: "_")
        if setting == .storeKey {
            // The variable has the key itself, not the name of a file; see theStoreKeyComesFromAFileOrTheEnvironment.
            return
        }
        if setting == .samples {
            // They matter to a merchant that answers consumption requests.
            let answers = try settings(flags: [.samples: value, .consumption: "grant"]).merchant()
            #expect(answers?.consumption?.hasSamples == true)
            return
        }
        // The console's host needs an admin token.
        let token: [String: String] = setting == .consoleHost ? ["CORNERSTORE_ADMIN_TOKEN": "hush"] : [:]
        let usual = try described(settings(environment: token))
        let changed = try [
            described(settings(flags: [setting: value], environment: token)),
            described(settings(environment: token.merging([name: value]) { $1 })),
            described(settings(environment: token, file: "\(setting.rawValue): \(value)\n")),
            described(settings(environment: token, file: "{\"\(setting.rawValue)\": \"\(value)\"}")),
        ]
        #expect(changed.allSatisfy { $0 != usual && $0 == changed[0] })
    }

    @Test func eachEnvironmentRenewsInItsOwnWay() throws {
        let usual = try settings().configuration()
        #expect(usual.productionRenewals == .usual(.production) && usual.productionRenewals.lead == 86_400_000)
        #expect(usual.sandboxRenewals == .usual(.sandbox) && usual.sandboxRenewals.lead == 0)
        let chosen = try settings(
            flags: [.productionRenewalLead: "0s"],
            environment: [
                "CORNERSTORE_PRODUCTION_RENEWAL_LEAD": "1h", "CORNERSTORE_SANDBOX_RENEWAL_LEAD": "1h30m",
                "CORNERSTORE_PRODUCTION_RETRY_DAYS": "1, 59",
            ], file: "sandbox-renewal-lead: 2h\nsandbox-retry-days: 7\n"
        ).configuration()
        #expect(chosen.productionRenewals == RenewalPolicy(lead: 0, retryDays: [1, 59]))
        #expect(
            chosen.sandboxRenewals
                == RenewalPolicy(lead: 5_400_000, retryDays: [7], longestGap: 600_000, mostRenewals: 12))
    }

    @Test(arguments: ["", "1", "-1s", "24h1ms", "1mo", "2d", "soon", "9223372036854775807w"])
    func aLeadThatIsNoneIsRefused(_ text: String) throws {
        for setting in [ServeSetting.productionRenewalLead, .sandboxRenewalLead] {
            let error = #expect(throws: CommandError.self) { try settings(flags: [setting: text]).configuration() }
            #expect(error?.code == .usage && error?.detail.contains(setting.rawValue) == true)
        }
    }

    @Test(arguments: ["", "0", "-1", "60", "1,1", "2,1", "1,,2", "1,", "1;2", "1.5", "9223372036854775808"])
    func retryDaysThatAreNoneAreRefused(_ text: String) throws {
        for setting in [ServeSetting.productionRetryDays, .sandboxRetryDays] {
            let error = #expect(throws: CommandError.self) { try settings(flags: [setting: text]).configuration() }
            #expect(error?.code == .usage && error?.detail.contains(setting.rawValue) == true)
        }
    }

    private static let key = Data(repeating: 7, count: 32).base64EncodedString()
    private static let otherKey = Data(repeating: 8, count: 32).base64EncodedString()

    @Test func theStoreKeyComesFromAFileOrTheEnvironment() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let file = directory.url.appendingPathComponent("store.key").path
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            #expect(FileManager.default.createFile(atPath: file, contents: Data(Self.key.utf8), attributes: mode))
            let known = try StoreKey(base64: Self.key)
            let variable = ["CORNERSTORE_STORE_KEY": Self.key]
            for settings in try [
                settings(flags: [.storeKey: file]), settings(environment: variable),
                settings(file: "store-key: \(file)"),
                settings(flags: [.storeKey: file], environment: variable),
            ] {
                let configuration = try settings.configuration()
                #expect(configuration.storeKey == known && !configuration.isShared)
                #expect(configuration.drainDelay == .zero)
                #expect(!"\(configuration)".contains(Self.key))
            }
            let shared = try settings(flags: [.database: "postgres://localhost/x"], environment: variable)
            #expect(try shared.configuration().isShared)
            #expect(try shared.configuration().drainDelay == .seconds(2))
            let differing = try settings(
                flags: [.storeKey: file], environment: ["CORNERSTORE_STORE_KEY": Self.otherKey])
            let error = #expect(throws: CommandError.self) { try differing.configuration() }
            #expect(error?.code == .usage)
        }
    }

    @Test(arguments: [ServeSettingsTests.key, "/nonexistent/store.key", "AAAA"])
    func noErrorContainsTheStoreKey(_ text: String) throws {
        // A key where the name of its file belongs, a file that is missing, and a text that is no key.
        let bad = try settings(
            flags: text == "AAAA" ? [:] : [.storeKey: text],
            environment: text == "AAAA" ? ["CORNERSTORE_STORE_KEY": text] : [:])
        let error = #expect(throws: CommandError.self) { try bad.configuration() }
        #expect(error?.code == .usage && error?.detail.contains("store-key") == true)
        #expect(error?.detail.contains(Self.key) == false)
    }

    @Test func aBucketAndASharedFolderExcludeEachOther() throws {
        let both = try settings(flags: [.blobs: "s3://packages?region=eu-west-3", .blobsShared: "/srv/content"])
        let error = #expect(throws: CommandError.self) { try both.configuration() }
        #expect(error?.code == .usage && error?.detail.contains("blobs-shared") == true)
    }

    private func described(_ settings: ServeSettings) throws -> String {
        "\(try settings.configuration()) \(String(describing: try settings.merchant())) "
            + "\(String(describing: try settings.console())) \(try settings.logLevel()) \(try settings.logFormat())"
    }

    @Test func theMerchantRunsUnlessTurnedOff() throws {
        #expect(try settings().merchant() == MerchantSettings(port: 8410))
        #expect(try settings(file: "no-merchant: true").merchant() == nil)
        #expect(try settings(flags: [.noMerchant: "false"], file: "no-merchant: true").merchant()?.port == 8410)
        let error = #expect(throws: CommandError.self) { try settings(file: "no-merchant: maybe").merchant() }
        #expect(error?.code == .usage && error?.detail.contains("no-merchant") == true)
        #expect(throws: CommandError.self) { try settings(flags: [.merchantPort: "65536"]).merchant() }
    }

    @Test func aStoreWithoutAMerchantRefusesItsOptions() throws {
        let alone: [ServeSetting: String] = [.noMerchant: "true"]
        #expect(try settings(flags: alone, file: "samples: false").merchant() == nil)
        let given: [(ServeSetting, String)] = [
            (.webhook, "not a URL"), (.consumption, "grant"), (.samples, "true"), (.accountTokens, "true"),
        ]
        for (setting, value) in given {
            let both = try settings(flags: alone.merging([setting: value]) { $1 })
            let error = #expect(throws: CommandError.self) { try both.merchant() }
            #expect(error?.code == .usage && error?.detail.hasPrefix("\(setting.rawValue) is for") == true)
        }
        let products = try settings(flags: alone, file: "merchant-products: [a.yaml]")
        #expect(throws: CommandError.self) { try products.merchant() }
    }

    @Test func theMerchantAnswersTheStoreByPolicy() throws {
        let silent = try #require(try settings().merchant())
        #expect(silent.consumption == nil && !silent.setsAccountTokens)
        let given = try settings(flags: [.consumption: "decline", .samples: "true", .accountTokens: "true"])
        let merchant = try #require(try given.merchant())
        let answers = try #require(merchant.consumption)
        #expect(answers.preference == .decline && answers.hasSamples && merchant.setsAccountTokens)
        let error = #expect(throws: CommandError.self) { try settings(flags: [.consumption: "maybe"]).merchant() }
        #expect(error?.code == .usage && error?.detail.contains("consumption") == true)
        let alone = #expect(throws: CommandError.self) { try settings(flags: [.samples: "true"]).merchant() }
        #expect(alone?.code == .usage && alone?.detail.contains("consumption") == true)
        #expect(try settings(flags: [.samples: "false"]).merchant()?.consumption == nil)
    }

    @Test func webhooksNeedASecretOfTheEnvironment() throws {
        let flags: [ServeSetting: String] = [.webhook: "http://127.0.0.1:9/hook"]
        #expect(try settings(flags: flags).merchant()?.webhooks != nil)
        let without = try ServeSettings(flags: flags, files: [], productsFiles: [], environment: [:], file: nil)
        let error = #expect(throws: CommandError.self) { try without.merchant() }
        #expect(error?.code == .usage && error?.detail.contains("CORNERSTORE_WEBHOOK_SECRET") == true)
        #expect(throws: MerchantServerError.self) {
            try settings(flags: [.webhook: "http://backend.example/hook"]).merchant()
        }
    }

    @Test func theConsoleRunsUnlessTurnedOff() throws {
        #expect(try settings().console() == ConsoleSettings(port: 8420))
        #expect(try settings(file: "no-console: true").console() == nil)
        #expect(try settings(flags: [.noConsole: "false"], file: "no-console: true").console()?.port == 8420)
        for wrong in [[ServeSetting.consolePort: "65536"], [.consoleHost: "a b"], [.consoleHost: "http://a"]] {
            let error = #expect(throws: CommandError.self) {
                try settings(flags: wrong.merging([.adminToken: "hush"]) { $1 }).console()
            }
            #expect(error?.code == .usage && error?.detail.contains("console-") == true)
        }
    }

    @Test func theConsolesHostNeedsAnAdminToken() throws {
        let host: [ServeSetting: String] = [.consoleHost: "console.example"]
        let error = #expect(throws: CommandError.self) { try settings(flags: host).console() }
        #expect(error?.code == .usage && error?.detail.contains("CORNERSTORE_ADMIN_TOKEN") == true)
        #expect(try settings(flags: host, file: "admin-token: hush").console()?.host == "console.example")
        #expect(try settings(flags: host, file: "no-console: true").console() == nil)
    }

    @Test func theMerchantsProductsAreReadFromEveryLayer() throws {
        func files(_ settings: ServeSettings) throws -> [String] {
            try #require(try settings.merchant()).productsFiles.map(\.path)
        }
        let environment = ["CORNERSTORE_MERCHANT_PRODUCTS": "/b.yaml:/c.yaml"]
        let given = try ServeSettings(
            flags: [:], files: ["a.storekit"], productsFiles: ["/a.yaml"], environment: environment, file: nil)
        #expect(try files(given) == ["/a.yaml"])
        #expect(
            try files(settings(environment: environment, file: "merchant-products: /d.yaml")) == ["/b.yaml", "/c.yaml"])
        #expect(try files(settings(file: "merchant-products: [/d.yaml, /e.yaml]")) == ["/d.yaml", "/e.yaml"])
        #expect(try files(settings(file: "merchant-products: /d.yaml")) == ["/d.yaml"])
        #expect(throws: CommandError.self) { try settings(file: "merchant-products: {a: b}") }
    }

    @Test func aBucketsKeysComeFromTheEnvironmentOnly() throws {
        let bucket = try settings(flags: [.blobs: "s3://packages/a?endpoint=http://127.0.0.1:9"]).configuration().bucket
        #expect(bucket?.bucket == "packages" && bucket?.accessKeyID == "key" && bucket?.secretAccessKey == "hush")
        #expect(!"\(String(describing: bucket))".contains("hush"))
        let without = try ServeSettings(
            flags: [.blobs: "s3://packages"], files: ["a.storekit"], productsFiles: [], environment: [:], file: nil)
        for wrong in [without, try settings(flags: [.blobs: "/var/packages"])] {
            let error = #expect(throws: CommandError.self) { try wrong.configuration() }
            #expect(error?.code == .usage)
        }
    }

    @Test(arguments: ["Store", "1st", "a-b", "a\"; DROP", String(repeating: "a", count: 51)])
    func schemaPrefixIsAName(_ prefix: String) throws {
        #expect(throws: CommandError.self) { try settings(flags: [.schemaPrefix: prefix]).configuration() }
        let longest = String(repeating: "a", count: 50)
        #expect(try settings(flags: [.schemaPrefix: longest]).configuration().schemaPrefix == longest)
    }

    @Test func catalogFilesComeFromEverywhere() throws {
        func paths(_ settings: ServeSettings) throws -> [String] {
            try settings.configuration().catalogFiles.map { "\($0.path)|\($0.bundleID?.rawValue ?? "")" }
        }
        #expect(try paths(settings(files: ["a=com.b", "c"])) == ["a|com.b", "c|"])
        #expect(try paths(settings(files: [], environment: ["CORNERSTORE_FILES": "a:b=com.c"])) == ["a|", "b|com.c"])
        #expect(try paths(settings(files: [], file: "files: [a, b=com.c]")) == ["a|", "b|com.c"])
        #expect(try paths(settings(files: ["x"], file: "files: [a]")) == ["x|"])
        #expect(try paths(settings(flags: [.bundleID: "com.d"], files: ["x"])) == ["x|com.d"])
    }

    @Test(arguments: [
        "sandbox-prot: 1", "- a", "sandbox-port: [1]", "files: {a: b}", "files: [a, b: c]", "a: b: c", "\"",
        "host: *nobody", "x",
    ])
    func badFilesAreRefusedWithTheirName(_ text: String) {
        let error = #expect(throws: CommandError.self) {
            try ConfigurationFile<ServeSetting>(text: text, path: "c.yaml")
        }
        #expect(error?.code == .usage)
        #expect(error?.detail.contains("c.yaml") == true)
    }

    @Test(arguments: [(ServeSetting.sandboxPort, "x"), (.controlPort, "-1"), (.node, "64"), (.database, "mysql://x")])
    func badValuesAreRefusedWithTheirName(_ setting: ServeSetting, _ value: String) throws {
        let bad = try settings(file: "\(setting.rawValue): \"\(value)\"")
        let error = #expect(throws: CommandError.self) { try bad.configuration() }
        #expect(error?.code == .usage)
        #expect(error?.detail.contains(setting.rawValue) == true)
    }

    @Test(arguments: [ServeSetting.storefrontURL, .ocspURL])
    func urlsAreHTTPAndASCII(_ setting: ServeSetting) throws {
        for wrong in ["store.example", "ftp://store.example", "http://store.example/?a=b", "http://é.example"] {
            let error = #expect(throws: CommandError.self) { try settings(flags: [setting: wrong]).configuration() }
            #expect(error?.code == .usage && error?.detail.contains(setting.rawValue) == true)
        }
        let configuration = try settings(flags: [.ocspURL: "http://store.example/ocsp/"]).configuration()
        #expect(configuration.ocspURL == "http://store.example/ocsp")
    }

    @Test func noErrorContainsADatabasesPassword() throws {
        let bad = try settings(flags: [.database: "mysql://user:geheim@host/x"])
        let error = #expect(throws: CommandError.self) { try bad.configuration() }
        #expect(error?.detail.contains("geheim") == false)
    }
}
