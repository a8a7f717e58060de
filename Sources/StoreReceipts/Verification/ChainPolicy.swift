import Foundation
import SwiftASN1
@_spi(DisableValidityCheck) import X509

/// The rules of a chain besides its signatures: the basic rules of RFC 5280, and rules that swift-certificates omits.
/// Dates and Apple's markers are checked afterwards, so that each has an error of its own.
struct ChainPolicy: VerifierPolicy, Sendable {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier]
    private let basics = RFC5280Policy.withValidityCheckDisabled()
    private let allowsSHA1: Bool
    private let shortKeyLeaf: Certificate?

    /// - Parameters:
    ///   - allowsSHA1: whether certificates may be signed with SHA-1. Apple's certificates for receipts were until
    ///     December 2022 (WWDR G7 and the signer under it); those for signed payloads never were.
    ///   - shortKeyLeaf: a leaf below the verified chain, whose place ``ShortKeyLeaf`` takes.
    init(allowsSHA1: Bool, shortKeyLeaf: Certificate? = nil) {
        self.allowsSHA1 = allowsSHA1
        self.shortKeyLeaf = shortKeyLeaf
        verifyingCriticalExtensions = basics.verifyingCriticalExtensions
    }

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        if case .failsToMeetPolicy(let reason) = basics.chainMeetsPolicyRequirements(chain: chain) {
            return .failsToMeetPolicy(reason: reason)
        }
        if let shortKeyLeaf, let violation = violation(of: shortKeyLeaf, under: Array(chain)) {
            return .failsToMeetPolicy(reason: violation)
        }
        if let violation = violation(of: (shortKeyLeaf.map { [$0] } ?? []) + Array(chain)) {
            return .failsToMeetPolicy(reason: violation)
        }
        return .meetsPolicy
    }

    /// The rule that the whole chain, leaf first, violates; nil if it follows all rules.
    func violation(of chain: [Certificate]) -> String? {
        guard chain.count >= 2, let leaf = chain.first else { return "a root is not a signer" }
        if let usage = try? leaf.extensions.keyUsage, !usage.digitalSignature { return "the leaf may not sign" }
        if case .isCertificateAuthority = (try? leaf.extensions.basicConstraints) ?? .notCertificateAuthority {
            return "the leaf is a certificate authority"
        }
        for issuer in chain.dropFirst() {
            if let usage = try? issuer.extensions.keyUsage, !usage.keyCertSign {
                return "an issuer may not sign certificates"
            }
        }
        // The root is trusted by itself, not by its own signature.
        if !allowsSHA1, chain.dropLast().contains(where: { $0.signatureAlgorithm == .sha1WithRSAEncryption }) {
            return "a certificate was signed with SHA-1"
        }
        return nil
    }

    /// The basic rule that the leaf violates under its issuers. The basic rules were checked only for the issuers.
    private func violation(of leaf: Certificate, under issuers: [Certificate]) -> String? {
        guard leaf.version == .v3 else { return "the leaf is not of version 3" }
        guard leaf.extensions.allSatisfy({ !$0.critical || verifyingCriticalExtensions.contains($0.oid) }) else {
            return "the leaf has a critical extension that is not understood"
        }
        var authoritiesBelow = 0
        for issuer in issuers {
            let constraints = (try? issuer.extensions.basicConstraints) ?? .notCertificateAuthority
            guard case .isCertificateAuthority(let maximum) = constraints, maximum ?? .max >= authoritiesBelow
            else { return "an issuer is not a certificate authority, or not for a chain of this length" }
            guard issuer.extensions[oid: .X509ExtensionID.nameConstraints] == nil else {
                return "an issuer restricts names"
            }
            if issuer.issuer != issuer.subject { authoritiesBelow += 1 }
        }
        return nil
    }
}
