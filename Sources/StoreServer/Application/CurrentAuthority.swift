import Foundation
import Store
import StoreReceipts
import StoreWire
import Synchronization

/// The certificate authority in use, and its OCSP responder. The JWS certificates are issued again when the responder's
/// address is known, which is after the ports are open; leaves are replaced when the operator or another process says
/// so.
final class CurrentAuthority: Sendable {
    /// The path of the responder on the protocol ports.
    static let ocspPath = "/ocsp"

    private let current: Mutex<CertificateAuthority>
    /// Answers about the JWS certificates, past ones included. It outlasts new certificates, because the issuers keep
    /// their names and keys.
    let responder: OCSPResponder

    /// Creates the responder of an authority.
    /// - Throws: `signing` if the responder's certificates cannot be made.
    init(_ authority: CertificateAuthority) throws(ReceiptAuthorityError) {
        responder = try OCSPResponder(authority)
        current = Mutex(authority)
    }

    /// Opens the authority of a store, or makes one: in the database of a store with a key, else in a folder. The first
    /// start with a key takes over the authority in the folder.
    /// - Parameters:
    ///   - folder: the authority's folder in the data directory.
    ///   - mayMake: whether an authority may be made in the database; false for a store that has sold before.
    /// - Throws: ``ReceiptAuthorityError``, `missing` if there is none and none may be made, `differs` if the folder
    ///   holds another authority than the database; ``StoreSecretsError``; ``DatabaseError``.
    static func open(
        _ secrets: StoreSecrets, folder: URL, mayMake: Bool = true, at date: Date
    ) async throws -> CurrentAuthority {
        let files = AuthorityFiles(directory: folder)
        guard secrets.isSealing else {
            return try CurrentAuthority(try await CertificateAuthority.open(files, at: date))
        }
        return try CurrentAuthority(
            try await CertificateAuthority.open(secrets.authority, importing: files, mayMake: mayMake, at: date))
    }

    /// The authority now.
    var value: CertificateAuthority { current.withLock { $0 } }

    /// The signer of an environment's receipts, with its certificates now. Read it for each receipt.
    func receiptSigner(for environment: StoreEnvironment) -> ReceiptSigner { value.receiptSigner(for: environment) }

    /// The signer of an environment's JWS, with its certificates now. Read it for each answer.
    func jwsIdentity(for environment: StoreEnvironment) -> JWSIdentity { value.jwsIdentity(for: environment) }

    /// Issues the JWS certificates again if they do not name this address of the responder.
    /// - Throws: ``ReceiptAuthorityError``: `storage` if the certificates cannot be written, `signing` if they cannot
    ///   be made; ``StoreSecretsError``; ``DatabaseError``. The old ones then stay in use.
    func useOCSP(at url: String) async throws { use(try await value.reissuing(forOCSP: url)) }

    /// Replaces all leaves. Returns when every process signs with the new ones. Signatures of the old leaves stay
    /// valid.
    /// - Throws: ``ReceiptAuthorityError``; ``StoreSecretsError``; ``DatabaseError``. The old ones then stay in use.
    func rotateLeaves(at date: Date) async throws { use(try await value.rotatingLeaves(at: date)) }

    /// Reads the authority again, with the changes of other processes.
    /// - Throws: ``ReceiptAuthorityError``; ``StoreSecretsError``; ``DatabaseError``. The authority stays as it is.
    func reload() async throws { use(try await value.reloaded()) }

    /// Uses an authority, unless a newer state is in use already.
    private func use(_ authority: CertificateAuthority) {
        current.withLock { current in
            if authority.revision >= current.revision { current = authority }
        }
    }
}
