import ControlWire
import CornerstoreEncoding
import Crypto
import Foundation
import HTTPSupport
import Hummingbird
import StoreReceipts

/// Serves the operator of the certificate authority: shows its certificates, and replaces the leaves.
struct AuthorityController: Sendable {
    let authority: CurrentAuthority
    let now: @Sendable () -> Date

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.authority) { _, _ in try .json(ControlAPI.Authority(authority.value)) }
        router.on(.rotateAuthority) { _, context in
            try await authority.rotateLeaves(at: now())
            context.note?.say(subject: "certificate authority", after: "new leaf certificates")
            return try .json(ControlAPI.Authority(authority.value))
        }
    }
}

extension ControlAPI.Authority {
    init(_ authority: CertificateAuthority) {
        self.init(
            certificates: authority.certificates.map { certificate in
                ControlAPI.AuthorityCertificate(
                    name: certificate.name, sha256: Hexadecimal.encoded(SHA256.hash(data: certificate.der)))
            },
            ocspUrl: authority.ocspURL)
    }
}
