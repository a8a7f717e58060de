import CornerstoreEncoding
import Crypto
import Foundation

/// Signatures of requests by "AWS Signature Version 4" (docs.aws.amazon.com, "Authenticating Requests"), in a header
/// and in the query.
struct S3Signature: Sendable {
    /// The value in place of a hash when the body is not part of the signature.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// The signed parts of a request.
    struct Request {
        var method: String
        /// The path, percent-encoded, beginning with `/`.
        var path: String
        /// The query, not encoded.
        var query: [(name: String, value: String)] = []
        /// The headers to sign, `host` among them, with names in any case.
        var headers: [(name: String, value: String)]
        /// The body's SHA-256 in hexadecimal, or ``S3Signature/unsignedPayload``.
        var payloadHash: String
    }

    var accessKeyID: String
    var secretAccessKey: String
    var region: String
    var service = "s3"

    /// The value of the header `Authorization`. The headers must contain `x-amz-date` or `date` with the same time.
    func authorization(_ request: Request, at date: Date) -> String {
        let time = Self.time(date)
        let signature = signature(request, time)
        return
            "\(Self.algorithm) Credential=\(accessKeyID)/\(scope(time)), SignedHeaders=\(Self.signedHeaders(request)), "
            + "Signature=\(signature)"
    }

    /// The encoded query with which anyone can make the request for so many seconds.
    func presignedQuery(_ request: Request, at date: Date, seconds: Int, sessionToken: String?) -> String {
        let time = Self.time(date)
        var request = request
        request.query += [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(accessKeyID)/\(scope(time))"),
            ("X-Amz-Date", time), ("X-Amz-Expires", String(seconds)),
            ("X-Amz-SignedHeaders", Self.signedHeaders(request)),
        ]
        if let sessionToken { request.query.append(("X-Amz-Security-Token", sessionToken)) }
        return Self.canonicalQuery(request.query) + "&X-Amz-Signature=" + signature(request, time)
    }

    // MARK: The steps of the specification

    static func canonicalRequest(_ request: Request) -> String {
        let headers = canonicalHeaders(request).map { "\($0.name):\($0.value)\n" }.joined()
        return [
            request.method, request.path, canonicalQuery(request.query), headers, signedHeaders(request),
            request.payloadHash,
        ].joined(separator: "\n")
    }

    private func signature(_ request: Request, _ time: String) -> String {
        let digest = SHA256.hash(data: Array(Self.canonicalRequest(request).utf8))
        let text = [Self.algorithm, time, scope(time), Hexadecimal.encoded(digest)].joined(separator: "\n")
        var key = SymmetricKey(data: Array(("AWS4" + secretAccessKey).utf8))
        for part in [String(time.prefix(8)), region, service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        return Hexadecimal.encoded(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
    }

    private func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

    private static func canonicalHeaders(_ request: Request) -> [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for (name, value) in request.headers {
            let words = value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
            values[name.lowercased(), default: []].append(words)
        }
        return values.map { ($0.key, $0.value.joined(separator: ",")) }.sorted { $0.0 < $1.0 }
    }

    private static func signedHeaders(_ request: Request) -> String {
        canonicalHeaders(request).map(\.name).joined(separator: ";")
    }

    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { ($0.name.percentEncoded, $0.value.percentEncoded) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// `20150830T123600Z`.
    static func time(_ date: Date) -> String {
        let text = date.formatted(.iso8601)
        return text.filter { $0 != "-" && $0 != ":" }
    }
}
