import Foundation

/// The player's credits, in a file.
///
/// A purchased transaction comes again until it is finished: after a crash, and whenever the store did not hear of
/// the finishing. So the ids already granted stand in the same file as the balance, and both change together.
public final class CreditBalance {
    private struct Contents: Codable {
        var credits = 0
        var grantedTransactions: Set<String> = []
    }

    private let file: URL
    private var contents: Contents

    /// Opens the balance in `folder`, which is made when it is not there. A file that cannot be read is an error, not
    /// an empty balance.
    public init(folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        file = folder.appendingPathComponent("balance.json")
        if FileManager.default.fileExists(atPath: file.path) {
            contents = try JSONDecoder().decode(Contents.self, from: Data(contentsOf: file))
        } else {
            contents = Contents()
        }
    }

    public var credits: Int { contents.credits }

    /// Adds the credits of a transaction, once. When it returns, they are on the disk, and the transaction may be
    /// finished.
    ///
    /// - Returns: false when they were granted before.
    public func grant(_ credits: Int, for transactionIdentifier: String) throws -> Bool {
        guard !contents.grantedTransactions.contains(transactionIdentifier) else { return false }
        var new = contents
        new.credits += credits
        new.grantedTransactions.insert(transactionIdentifier)
        try save(new)
        return true
    }

    /// A transaction that has left the queue never comes again, and its id need not be kept.
    public func forget(_ transactionIdentifier: String) throws {
        guard contents.grantedTransactions.contains(transactionIdentifier) else { return }
        var new = contents
        new.grantedTransactions.remove(transactionIdentifier)
        try save(new)
    }

    /// Writes beside the file, waits for the disk, and only then takes the old file's place.
    private func save(_ new: Contents) throws {
        let temporary = file.appendingPathExtension("new")
        try JSONEncoder().encode(new).write(to: temporary)
        let handle = try FileHandle(forUpdating: temporary)
        try handle.synchronize()
        try handle.close()
        guard rename(temporary.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        contents = new
    }
}
