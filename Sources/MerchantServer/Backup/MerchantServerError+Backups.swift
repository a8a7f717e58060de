import Backups
import Foundation

extension MerchantServerError {
    /// The same failure as an error of the merchant's server.
    init(_ error: BackupError) {
        let code: Code =
            switch error.code {
            case .invalidConfiguration: .invalidConfiguration
            case .exposedSecret: .exposedSecret
            case .storage: .storage
            case .inUse: .dataDirectoryInUse
            case .unusable: .dataDirectoryUnusable
            case .badBackup: .badBackup
            case .notEmpty: .notEmpty
            case .noTools: .noTools
            }
        self.init(code, error.detail)
    }

    /// Runs `body` and turns its ``BackupError`` into a ``MerchantServerError``.
    static func translating<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch let error as BackupError { throw MerchantServerError(error) }
    }

    /// Runs asynchronous work as ``translating(_:)`` does.
    static func awaiting<T>(_ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch let error as BackupError { throw MerchantServerError(error) }
    }
}

/// ``Backups/SecretFile`` with the errors of the merchant's server.
enum SecretFile {
    /// The largest file of keys, in bytes.
    static let maximumSize = Backups.SecretFile.maximumSize

    /// Reads a secret file.
    /// - Throws: ``MerchantServerError`` `storage`, or `exposedSecret` when users other than the owner may read the
    ///   file.
    static func read(_ url: URL) throws -> Data {
        try MerchantServerError.translating { try Backups.SecretFile.read(url) }
    }

    /// Reads a file that anyone may read.
    /// - Parameters:
    ///   - limit: the largest size, in bytes.
    ///   - kind: the kind of file, for the error.
    /// - Throws: ``MerchantServerError`` `storage`, or `invalidConfiguration` when the file is too large.
    static func readPublic(_ url: URL, limit: Int = maximumSize, _ kind: String = "file of keys") throws -> Data {
        try MerchantServerError.translating { try Backups.SecretFile.readPublic(url, limit: limit, kind) }
    }

    /// Creates a file, mode 0600 from the first byte on. Returns false, and changes nothing, when the file exists.
    /// - Throws: ``MerchantServerError`` `storage`.
    static func create(_ url: URL, _ data: Data) throws -> Bool {
        try MerchantServerError.translating { try Backups.SecretFile.create(url, data) }
    }
}

/// ``Backups/PostgreSQLTools`` for a merchant's one schema, with the errors of the merchant's server.
struct PostgreSQLTools: Sendable {
    let schema: String
    private let tools: Backups.PostgreSQLTools

    /// - Parameters:
    ///   - folders: the folders to search for the programs.
    ///   - environment: this process's environment.
    /// - Throws: ``MerchantServerError`` `noTools`, `invalidConfiguration`.
    init(
        url: String, schema: String, in folders: [String] = Backups.PostgreSQLTools.places,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        self.schema = schema
        tools = try MerchantServerError.translating {
            try Backups.PostgreSQLTools.check([schema])
            return try Backups.PostgreSQLTools(url: url, in: folders, environment: environment)
        }
    }

    /// The address without its password.
    var address: String { tools.address }

    /// Whether a text can be a schema's name in a statement.
    static func isName(_ name: String) -> Bool { Backups.PostgreSQLTools.isName(name) }

    /// Writes a consistent snapshot of the schema to a file.
    func dump(into file: URL) async throws {
        try await MerchantServerError.awaiting { try await tools.dump([schema], into: file) }
    }

    /// Creates a schema from a dump, beside the existing one.
    /// - Parameter origin: the name of the dump's original schema.
    /// - Returns: the new schema's name.
    func load(_ file: URL, madeOf origin: String) async throws -> String {
        let new = "\(schema.prefix(40))_restored_\(UInt32.random(in: 0..<(.max)))"
        try await MerchantServerError.awaiting {
            try await tools.load(file, [.init(of: schema, by: new, from: origin)], owner: schema)
        }
        return new
    }

    /// Replaces the existing schema by one that ``load(_:madeOf:)`` has created, in one transaction.
    func swap(in new: String) async throws {
        try await MerchantServerError.awaiting {
            try await tools.swap(in: [.init(of: schema, by: new, from: schema)], owner: schema)
        }
    }

    /// Removes the schemas that restores left behind.
    func removeLeftovers() async throws {
        try await MerchantServerError.awaiting { try await tools.removeLeftovers(of: schema) }
    }

    /// Whether the schema contains nothing.
    func isEmpty() async throws -> Bool {
        try await MerchantServerError.awaiting { try await tools.isEmpty(schema) }
    }

    /// Finds objects that the replacement would destroy and that are not the merchant's.
    /// - Parameter new: the restored schema's name.
    /// - Returns: the names of up to ten objects.
    func strangers(beside new: String) async throws -> [String] {
        try await MerchantServerError.awaiting {
            try await tools.strangers(in: .init(of: schema, by: new, from: schema))
        }
    }

    /// Requires that no server and no command is connected to the schema.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`.
    func checkNobodyIsThere() async throws {
        try await MerchantServerError.awaiting { try await tools.checkNobodyUses(schema) }
    }
}

/// ``Backups/StagingFolder`` with the errors of the merchant's server.
final class StagingFolder: Sendable {
    /// The name of the lock file in folders that other machines may share.
    static let lockName = Backups.StagingFolder.lockName

    private let folder: Backups.StagingFolder

    /// The location of the folder.
    var url: URL { folder.url }

    /// - Parameter parent: an existing folder that contains only staging folders.
    /// - Throws: ``MerchantServerError`` `dataDirectoryUnusable`.
    init(in parent: URL) throws {
        folder = try MerchantServerError.translating { try Backups.StagingFolder(in: parent) }
    }
}
