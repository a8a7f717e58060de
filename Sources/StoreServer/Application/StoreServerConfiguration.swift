import BlobStorage
import Foundation
import HTTPSupport
import Store

/// How a store server is started.
public struct StoreServerConfiguration: Sendable {
    /// Everything that the server keeps, mode 0700.
    public var dataDirectory: URL
    public var catalogFiles: [CatalogFile]
    /// Where to listen; loopback unless told otherwise.
    public var host: String
    /// 0 takes any free port.
    public var controlPort: Int
    public var sandboxPort: Int
    public var productionPort: Int
    /// `postgres://…`, or nil for SQLite in the data directory.
    public var databaseURL: String?
    /// What the names of the schemas in PostgreSQL begin with; stores that share a server each need one of their own.
    public var schemaPrefix: String
    /// Required of every request to the control port when it is not on loopback.
    public var adminToken: String?
    /// This process's number in transaction ids, 0 to 63.
    public var node: Int
    /// The bucket for hosted content, or nil for a folder in the data directory.
    public var bucket: S3Location?
    /// How often clients may try to sign in; nil for no bound.
    public var signInRates: SignInLimits.Rates? = .standard
    /// What hashing a new password costs. Tests that open many stores lower it.
    public var passwordCost = PasswordCost.standard
    /// Whether a proxy stands before the server that adds the client's address to `X-Forwarded-For`.
    public var isBehindProxy = false
    /// The bounds on connections and bodies, which the servers of a process share.
    public var limits = ServerLimits()
    /// How slowly a client may send or take hosted content.
    package var stallPatience = StallWatch.Rule.usual

    public init(
        dataDirectory: URL, catalogFiles: [CatalogFile], host: String = "127.0.0.1", controlPort: Int = 8400,
        sandboxPort: Int = 8401,
        productionPort: Int = 8402, databaseURL: String? = nil,
        schemaPrefix: String = StoreDatabases.Location.schemaPrefix, adminToken: String? = nil, node: Int = 0,
        bucket: S3Location? = nil
    ) {
        self.dataDirectory = dataDirectory
        self.catalogFiles = catalogFiles
        self.host = host
        self.controlPort = controlPort
        self.sandboxPort = sandboxPort
        self.productionPort = productionPort
        self.databaseURL = databaseURL
        self.schemaPrefix = schemaPrefix
        self.adminToken = adminToken
        self.node = node
        self.bucket = bucket
    }

    /// Whether ``host`` is this machine only.
    public var isLoopback: Bool { host == "localhost" || host == "::1" || isLoopbackIPv4 }

    /// Four numbers beginning with 127; a name that begins so may lead anywhere.
    private var isLoopbackIPv4: Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }
}

/// Why the server did not start, or had to stop.
public struct StoreServerError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        case dataDirectoryInUse
        case databaseInUse
        case dataDirectoryUnusable
        case portUnavailable
        case unsafeControlPort
    }

    public var code: Code
    public var detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    public var description: String { detail }
}
