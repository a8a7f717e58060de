import Foundation
import StoreWire

/// Where a running server answers, as `addresses.json` in its data directory says. Base URLs without a slash at the end.
public struct Addresses: Codable, Sendable, Equatable {
    public var control: String
    public var sandbox: String
    public var production: String
    /// The merchant that runs beside the store, when one does.
    public var merchant: String?

    public init(control: String, sandbox: String, production: String, merchant: String? = nil) {
        self.control = control
        self.sandbox = sandbox
        self.production = production
        self.merchant = merchant
    }

    /// The protocol port of a store.
    public func store(_ environment: StoreEnvironment) -> String {
        switch environment {
        case .sandbox: sandbox
        case .production: production
        }
    }

    /// The name of the file in a data directory.
    public static let fileName = "addresses.json"

    /// Reads the file of a data directory; nil when no server has written one.
    public static func read(from dataDirectory: URL) -> Addresses? {
        guard let data = try? Data(contentsOf: dataDirectory.appendingPathComponent(fileName)) else { return nil }
        return try? JSONDecoder().decode(Addresses.self, from: data)
    }
}

/// The tester that the first start makes, as `sandbox-tester.json` (mode 0600) holds it for `cornerstore buy`.
public struct SandboxTester: Codable, Sendable {
    public var email: String
    public var password: String

    /// The name of the file in a data directory.
    public static let fileName = "sandbox-tester.json"

    /// Reads the file of a data directory; nil when there is none.
    public static func read(from dataDirectory: URL) -> SandboxTester? {
        guard let data = try? Data(contentsOf: dataDirectory.appendingPathComponent(fileName)) else { return nil }
        return try? JSONDecoder().decode(SandboxTester.self, from: data)
    }
}
