public import Foundation
public import HTTPSupport
public import StoreWire
import Synchronization

/// The configuration of a console.
public struct ConsoleConfiguration: Sendable {
    /// The address to listen on.
    public var host: String
    /// The port's number; 0 takes any free port.
    public var port: Int
    /// The name that other machines' browsers may use, with an admin token only.
    public var publicHost: String?
    /// The token that people sign in with; nil on a machine of one's own.
    public var adminToken: String?
    /// The folder to read templates, style sheet and script from at each request; nil for the embedded ones.
    public var files: URL?
    /// Whether a proxy in front speaks HTTPS and adds the client's address to `X-Forwarded-For`.
    public var isBehindProxy = false
    /// The environment variable by which commands find this server; nil when they find it without one.
    public var commandVariable: (name: String, value: String)?
    /// The limits on connections and bodies, which the servers of a process share.
    public var limits: ServerLimits

    /// The usual port.
    public static let usualPort = 8420

    /// Creates a configuration.
    public init(host: String = "127.0.0.1", port: Int = usualPort, limits: ServerLimits) {
        (self.host, self.port, self.limits) = (host, port, limits)
    }
}

/// The APIs and the data that the console uses.
public struct ConsoleBackends: Sendable {
    /// The control port's API; nil for a merchant without a store beside it.
    public var control: (any APICalls)?
    /// The protocol ports, for buying as a customer.
    public var devices: [StoreEnvironment: any APICalls]
    /// The merchant's API; nil without a merchant.
    public var merchant: (any APICalls)?
    /// The sandbox tester that the store created, with the password; nil when there is none.
    public var tester: @Sendable () -> ConsoleTester?
    /// The certificates that signed this store's receipts.
    public var certificates: ConsoleCertificates
    /// The file that says, over restarts, that somebody inspected a receipt after the first purchase; nil to forget it
    /// with the process.
    public var inspectedFile: URL?
    /// The addresses of the running ports.
    public let addresses = ConsoleAddresses()

    /// Creates backends.
    public init(
        control: (any APICalls)?, devices: [StoreEnvironment: any APICalls] = [:], merchant: (any APICalls)? = nil,
        tester: @escaping @Sendable () -> ConsoleTester? = { nil },
        certificates: ConsoleCertificates = ConsoleCertificates(), inspectedFile: URL? = nil
    ) {
        self.control = control
        self.devices = devices
        self.merchant = merchant
        self.tester = tester
        self.certificates = certificates
        self.inspectedFile = inspectedFile
    }
}

/// A customer whose password this machine knows.
public struct ConsoleTester: Sendable {
    /// The e-mail address.
    public var email: String
    /// The password.
    public var password: String

    /// Creates a tester.
    public init(email: String, password: String) { (self.email, self.password) = (email, password) }
}

/// The certificates that receipts are checked with, in DER.
public struct ConsoleCertificates: Sendable {
    /// The roots to trust.
    public var roots: [[UInt8]]
    /// Intermediates that transaction receipts leave out.
    public var intermediates: [[UInt8]]

    /// Creates a set of certificates.
    public init(roots: [[UInt8]] = [], intermediates: [[UInt8]] = []) {
        (self.roots, self.intermediates) = (roots, intermediates)
    }
}

/// The addresses of the ports, which are known once they are open.
public final class ConsoleAddresses: Sendable {
    private let values = Mutex<[String: String]>([:])

    /// Takes the addresses: base URLs by the port's name, such as `control`.
    public func take(_ addresses: [String: String]) { values.withLock { $0 = addresses } }

    /// A port's base URL; the usual one while it is not known.
    func base(_ port: String) -> String {
        values.withLock { $0[port] }
            ?? "http://127.0.0.1:\(["control": 8400, "sandbox": 8401, "production": 8402, "storefront": 8403, "merchant": 8410][port] ?? 8400)"
    }

    /// All known addresses by the port's name.
    var all: [String: String] { values.withLock { $0 } }
}
