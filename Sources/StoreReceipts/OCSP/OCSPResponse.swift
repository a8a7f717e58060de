/// Writes OCSPResponse (RFC 6960, section 4.2.1).
enum OCSPResponse {
    /// The reasons for answering without a status.
    enum Failure: UInt8, Sendable {
        /// The request is not one, or exceeds a limit.
        case malformedRequest = 1
        /// The responder cannot sign at the moment.
        case tryLater = 3
        /// The responder does not answer for the issuer, or not for all issuers of the request.
        case unauthorized = 6
    }

    /// An answer without a status.
    static func failed(_ failure: Failure) -> [UInt8] {
        DERWriter.element(BERTag.sequence, [BERTag.enumerated, 1, failure.rawValue])
    }

    /// An answer with a BasicOCSPResponse.
    static func successful(_ basic: [UInt8]) -> [UInt8] {
        let bytes =
            DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.basicOCSPResponse)
            + DERWriter.element(BERTag.octetString, basic)
        let explicit = DERWriter.element(BERTag.context0, DERWriter.element(BERTag.sequence, bytes))
        return DERWriter.element(BERTag.sequence, [BERTag.enumerated, 1, 0] + explicit)
    }
}
