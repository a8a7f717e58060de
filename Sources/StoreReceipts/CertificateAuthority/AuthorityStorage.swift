/// The place where a certificate authority is kept: a folder, or a row of a database that several processes share.
///
/// The authority consists of several texts in PEM, each a private key with its certificate. They have names such as
/// `receipt-root.pem`.
public protocol AuthorityStorage: Sendable {
    /// Reads the whole authority.
    /// - Returns: the texts by their names, and the number of their state, which grows with each replacement; nil when
    ///   no authority is kept here.
    /// - Throws: ``ReceiptAuthorityError``, or the storage's own error.
    func load() async throws -> (files: [String: String], revision: Int64)?

    /// Keeps a new authority.
    /// - Returns: whether it is kept; false when an authority is here already.
    /// - Throws: ``ReceiptAuthorityError`` `storage`, or the storage's own error.
    func create(_ files: [String: String]) async throws -> Bool

    /// Replaces some texts, if the authority is still in the state that was read.
    /// - Parameters:
    ///   - changed: the new texts by their names.
    ///   - revision: the number of the state from which they were made.
    /// - Returns: whether they are replaced; false when the authority has changed.
    /// - Throws: ``ReceiptAuthorityError`` `storage`, or the storage's own error.
    func replace(_ changed: [String: String], ifRevision revision: Int64) async throws -> Bool
}
