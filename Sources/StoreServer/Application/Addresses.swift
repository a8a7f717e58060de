import Foundation
import StoreWire

/// The addresses of a running server, as `addresses.json` in its data directory holds them: base URLs without a
/// trailing slash.
public struct Addresses: Codable, Sendable, Equatable {
    /// The control port.
    public var control: String
    /// The sandbox's protocol port.
    public var sandbox: String
    /// Production's protocol port.
    public var production: String
    /// The storefront: item pages, search and lookup.
    public var storefront: String
    /// The merchant server that runs beside the store; nil when none does.
    public var merchant: String?
    /// The console that runs beside the store; nil when none does.
    public var console: String?

    /// Creates addresses.
    public init(
        control: String, sandbox: String, production: String, storefront: String, merchant: String? = nil,
        console: String? = nil
    ) {
        self.control = control
        self.sandbox = sandbox
        self.production = production
        self.storefront = storefront
        self.merchant = merchant
        self.console = console
    }

    /// The protocol port of an environment's store.
    public func store(_ environment: StoreEnvironment) -> String {
        switch environment {
        case .sandbox: sandbox
        case .production: production
        }
    }

    /// The name of the file in a data directory.
    public static let fileName = "addresses.json"

    /// Reads the file from a data directory. Returns nil when no server has written one.
    public static func read(from dataDirectory: URL) -> Addresses? {
        guard let data = try? Data(contentsOf: dataDirectory.appendingPathComponent(fileName)) else { return nil }
        return try? JSONDecoder().decode(Addresses.self, from: data)
    }
}

/// The sandbox account that the first start creates. `cornerstore buy` reads it from `sandbox-tester.json` (mode 0600).
public struct SandboxTester: Codable, Sendable {
    /// The tester's e-mail address.
    public var email: String
    /// The tester's password.
    public var password: String

    /// The name of the file in a data directory.
    public static let fileName = "sandbox-tester.json"

    /// Reads the file from a data directory. Returns nil when the file does not exist or cannot be read.
    public static func read(from dataDirectory: URL) -> SandboxTester? {
        guard let data = try? Data(contentsOf: dataDirectory.appendingPathComponent(fileName)) else { return nil }
        return try? JSONDecoder().decode(SandboxTester.self, from: data)
    }
}
