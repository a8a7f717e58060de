import Foundation
import Synchronization

/// Answers whether the certificates of the JWS chain are good, for clients that check them online (RFC 6960).
///
/// The certificates name the responder's address after ``CertificateAuthority/reissuing(forOCSP:)``. Every certificate
/// that the authority has issued for the chain is good, also after it was replaced; any other serial number is unknown.
/// Certificates that an authority made before it had a responder name none, and are unknown once they are replaced.
public struct OCSPResponder: Sendable {
    /// The largest request, in bytes.
    public static let largestRequest = OCSPRequest.largest

    private let signers: [OCSPSigner]
    private let kept = KeptOCSPAnswers()

    /// Creates the responder of an authority. It makes keys of its own for the answers, and certificates for them with
    /// the keys of the root and the intermediate.
    /// - Throws: ``ReceiptAuthorityError``: `signing` if their certificates cannot be made.
    public init(_ authority: CertificateAuthority) throws(ReceiptAuthorityError) {
        var signers: [OCSPSigner] = []
        for issuer in authority.jwsIssuers { signers.append(try OCSPSigner(issuer: issuer)) }
        self.signers = signers
    }

    /// Answers an OCSPRequest with an OCSPResponse, both in DER.
    ///
    /// The request may have 8 KiB, eight certificates of one issuer, identified by SHA-1 or SHA-256, and a nonce of 32
    /// octets. Other requests are answered `malformedRequest`, or `unauthorized` if the responder does not answer for
    /// the issuer, or the certificates have different issuers. Answers are good for a day, and begin an hour before
    /// `date`. An answer to a request about one certificate without a nonce is given again for half a day.
    ///
    /// - Parameter date: the machine's time, not the store's, because clients compare answers with their own clocks.
    public func answer(_ request: [UInt8], at date: Date) -> [UInt8] {
        let parsed: OCSPRequest
        do throws(ReceiptRejection) { parsed = try OCSPRequest(request) } catch {
            return OCSPResponse.failed(error.code == .unsupportedAlgorithm ? .unauthorized : .malformedRequest)
        }
        guard let signer = signers.first(where: { parsed.certificates.allSatisfy($0.isIssuer) }) else {
            return OCSPResponse.failed(.unauthorized)
        }
        guard parsed.nonce == nil, parsed.certificates.count == 1, signer.hasIssued(parsed.certificates[0]) else {
            return signer.response(to: parsed, at: date) ?? OCSPResponse.failed(.tryLater)
        }
        if let answer = kept.answer(about: parsed.certificates[0], at: date) { return answer }
        guard let answer = signer.response(to: parsed, at: date) else { return OCSPResponse.failed(.tryLater) }
        kept.insert(answer, about: parsed.certificates[0], at: date)
        return answer
    }
}

/// The answers that are given again. They are only about certificates that exist, so that a stranger cannot fill the
/// list with others.
private final class KeptOCSPAnswers: Sendable {
    private struct Kept {
        var answer: [UInt8]
        var date: Date
    }

    private static let capacity = 64
    /// How long an answer is given again, in seconds.
    private static let duration = OCSPSigner.validity / 2

    private let answers = Mutex<[OCSPCertificateID: Kept]>([:])

    func answer(about certificate: OCSPCertificateID, at date: Date) -> [UInt8]? {
        guard let kept = answers.withLock({ $0[certificate] }), kept.date <= date,
            date < kept.date + Self.duration
        else { return nil }
        return kept.answer
    }

    func insert(_ answer: [UInt8], about certificate: OCSPCertificateID, at date: Date) {
        answers.withLock { answers in
            if answers.count >= Self.capacity { answers.removeAll(keepingCapacity: true) }
            answers[certificate] = Kept(answer: answer, date: date)
        }
    }
}
