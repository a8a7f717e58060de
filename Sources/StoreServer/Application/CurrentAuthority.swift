import StoreReceipts
import StoreWire
import Synchronization

/// The certificate authority in use, and its OCSP responder. The JWS certificates are issued again when the responder's
/// address is known, which is after the ports are open.
final class CurrentAuthority: Sendable {
    /// The path of the responder on the protocol ports.
    static let ocspPath = "/ocsp"

    private let current: Mutex<CertificateAuthority>
    /// Answers about the JWS certificates, past ones included. It outlasts a new address, because the issuers keep
    /// their names and keys.
    let responder: OCSPResponder

    /// Creates the responder of an authority.
    /// - Throws: `signing` if the responder's certificates cannot be made.
    init(_ authority: CertificateAuthority) throws(ReceiptAuthorityError) {
        responder = try OCSPResponder(authority)
        current = Mutex(authority)
    }

    /// The authority now.
    var value: CertificateAuthority { current.withLock { $0 } }

    /// The signer of an environment's JWS, with its certificates now. Read it for each answer.
    func jwsIdentity(for environment: StoreEnvironment) -> JWSIdentity { value.jwsIdentity(for: environment) }

    /// Issues the JWS certificates again if they do not name this address of the responder.
    /// - Throws: `storage` if the certificates cannot be written, `signing` if they cannot be made. The old ones then
    ///   stay in use.
    func useOCSP(at url: String) throws(ReceiptAuthorityError) {
        let renewed = try value.reissued(forOCSP: url)
        current.withLock { $0 = renewed }
    }
}
