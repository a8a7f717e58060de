import Console
import Foundation
import StoreReceipts
import StoreServer
import StoreWire

/// The settings of the console that `serve` runs beside the store.
struct ConsoleSettings: Equatable {
    static let usualPort = ConsoleConfiguration.usualPort

    /// The port; 0 selects a free port.
    var port: Int
    /// The name by which other machines reach the console; nil for this machine's.
    var host: String?
    /// The folder of templates, style sheet and script to read anew; nil for the embedded ones.
    var files: URL?

    /// Returns the configuration of the console beside an open store.
    func configuration(beside store: StoreServerConfiguration) -> ConsoleConfiguration {
        var configuration = ConsoleConfiguration(host: store.host, port: port, limits: store.limits)
        configuration.publicHost = host
        configuration.adminToken = store.adminToken
        configuration.files = files
        configuration.isBehindProxy = store.isBehindProxy
        return configuration
    }
}

extension StoreAndMerchant {
    /// What the console asks: the routes of the store's and the merchant's ports, within the process.
    var consoleBackends: ConsoleBackends {
        let data = store.configuration.dataDirectory
        var certificates = ConsoleCertificates(roots: [store.authority.receiptRoot, store.authority.jwsRoot])
        let intermediate = data.appendingPathComponent("authority/receipt-intermediate.pem").path
        // A transaction receipt contains only the leaf certificate.
        if let bytes = try? CertificateInput.read(intermediate) { certificates.intermediates = [bytes] }
        return ConsoleBackends(
            control: store.inProcessControl,
            devices: Dictionary(
                uniqueKeysWithValues: StoreEnvironment.allCases.map { ($0, store.inProcessDevice($0)) }),
            merchant: merchant?.inProcess,
            tester: {
                SandboxTester.read(from: data).map { ConsoleTester(email: $0.email, password: $0.password) }
            }, certificates: certificates)
    }
}
