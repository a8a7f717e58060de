import Console
import Foundation
import HTTPSupport
import MerchantServer
import StoreReceipts
import StoreServer
import StoreWire

/// The settings of the console that `serve` and `merchant serve` run beside their servers.
struct ConsoleSettings: Equatable {
    /// The port beside a store.
    static let usualPort = ConsoleConfiguration.usualPort
    /// The port beside a merchant alone, so that both consoles can run on one machine.
    static let merchantPort = usualPort + 1

    /// The port; 0 selects a free port.
    var port: Int
    /// The name by which other machines reach the console; nil for this machine's.
    var host: String?
    /// The folder of templates, style sheet and script to read anew; nil for the embedded ones.
    var files: URL?

    /// Returns the configuration of the console beside an open store.
    func configuration(beside store: StoreServerConfiguration) -> ConsoleConfiguration {
        configuration(
            at: store.host, store.limits, adminToken: store.adminToken, isBehindProxy: store.isBehindProxy,
            variable: Self.variable("CORNERSTORE_DATA", store.dataDirectory, usual: DataOptions.defaultPath))
    }

    /// Returns the configuration of the console beside a merchant alone.
    func configuration(beside merchant: MerchantServerConfiguration, adminToken: String?) -> ConsoleConfiguration {
        configuration(
            at: merchant.host, merchant.limits, adminToken: adminToken, isBehindProxy: merchant.isBehindProxy,
            variable: Self.variable(
                "CORNERSTORE_MERCHANT_DATA", merchant.dataDirectory, usual: DataOptions.defaultPath + "/merchant"))
    }

    private func configuration(
        at address: String, _ limits: ServerLimits, adminToken: String?, isBehindProxy: Bool,
        variable: (name: String, value: String)?
    ) -> ConsoleConfiguration {
        var configuration = ConsoleConfiguration(host: address, port: port, limits: limits)
        configuration.publicHost = host
        configuration.adminToken = adminToken
        configuration.files = files
        configuration.isBehindProxy = isBehindProxy
        configuration.commandVariable = variable
        return configuration
    }

    /// The variable that names a server's data directory to commands; nil for the usual directory.
    private static func variable(_ name: String, _ folder: URL, usual: String) -> (name: String, value: String)? {
        let usual = URL(fileURLWithPath: usual, isDirectory: true).standardizedFileURL
        return folder.standardizedFileURL.path == usual.path ? nil : (name, folder.path)
    }
}

extension LayeredSettings where Name: ServerSettingName {
    /// Returns the settings of the console; nil for none.
    /// - Parameters:
    ///   - usualPort: the port without the option.
    ///   - hasToken: whether people sign in to the console with an admin token.
    /// - Throws: ``CommandError`` that names the wrong option.
    func console(usualPort: Int, hasToken: Bool) throws -> ConsoleSettings? {
        let port = try number(.consolePort, 0...65535, otherwise: usualPort)
        if let host = text(.consoleHost), host.wholeMatch(of: /[A-Za-z0-9.\-]{1,253}/) == nil {
            throw CommandError(
                .usage, "console-host must be a host name such as console.example.com, not “\(Style.printable(host))”.")
        }
        guard try !isSet(.noConsole) else { return nil }
        if !hasToken, let host = text(.consoleHost) {
            throw CommandError(
                .usage,
                "console-host: the console answers to \(host) only with an admin token. Set one in CORNERSTORE_ADMIN_TOKEN, or omit console-host."
            )
        }
        return ConsoleSettings(
            port: port, host: text(.consoleHost),
            files: text(.consoleFiles).map { URL(fileURLWithPath: $0, isDirectory: true) })
    }
}

extension StoreAndMerchant {
    /// The routes of the store's and the merchant's ports, which the console calls within the process.
    var consoleBackends: ConsoleBackends {
        let data = store.configuration.dataDirectory
        var certificates = ConsoleCertificates(roots: [store.authority.receiptRoot, store.authority.jwsRoot])
        // A transaction receipt contains only the leaf certificate. Both environments have the same intermediate.
        certificates.intermediates = Array(
            store.authority.receiptSigner(for: .production).certificates.dropFirst().prefix(1))
        return ConsoleBackends(
            control: store.inProcessControl,
            devices: Dictionary(
                uniqueKeysWithValues: StoreEnvironment.allCases.map { ($0, store.inProcessDevice($0)) }),
            merchant: merchant?.inProcess,
            tester: {
                SandboxTester.read(from: data).map { ConsoleTester(email: $0.email, password: $0.password) }
            }, certificates: certificates, inspectedFile: data.appendingPathComponent("receipt-inspected"))
    }
}
