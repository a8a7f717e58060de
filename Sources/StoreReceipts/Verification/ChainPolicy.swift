import Foundation
import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// What a chain must be beside signed: RFC 5280's basics and the two rules that swift-certificates leaves out. Dates
/// and Apple's markers are checked afterwards, so that each has a reason of its own.
struct ChainPolicy: VerifierPolicy, Sendable {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier]
    private let basics = RFC5280Policy.withValidityCheckDisabled()

    /// Nobody may have issued a certificate with SHA-1 after this; Apple's last ones for receipts are of November 2015.
    private static let endOfSHA1 = Date(timeIntervalSince1970: 1_483_228_800)

    init() {
        verifyingCriticalExtensions = basics.verifyingCriticalExtensions
    }

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        if case .failsToMeetPolicy(let reason) = basics.chainMeetsPolicyRequirements(chain: chain) {
            return .failsToMeetPolicy(reason: reason)
        }
        guard chain.count >= 2 else { return .failsToMeetPolicy(reason: "a root is no signer") }
        let leaf = chain.leaf
        if let usage = try? leaf.extensions.keyUsage, !usage.digitalSignature {
            return .failsToMeetPolicy(reason: "the leaf may not sign")
        }
        if case .isCertificateAuthority = (try? leaf.extensions.basicConstraints) ?? .notCertificateAuthority {
            return .failsToMeetPolicy(reason: "the leaf is a certificate authority")
        }
        for index in 1..<chain.count {
            if let usage = try? chain[index].extensions.keyUsage, !usage.keyCertSign {
                return .failsToMeetPolicy(reason: "an issuer may not sign certificates")
            }
        }
        // The root is trusted for itself, not for its own signature.
        for index in 0..<chain.count - 1
        where chain[index].signatureAlgorithm == .sha1WithRSAEncryption && chain[index].notValidBefore >= Self.endOfSHA1
        {
            return .failsToMeetPolicy(reason: "a certificate signed with SHA-1 after 2016")
        }
        return .meetsPolicy
    }
}
