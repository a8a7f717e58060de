import Crypto
import CryptoExtras
import Foundation

extension SignedData {
    /// Runs `body` over the payload's octets.
    func withPayload<Result>(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(ReceiptRejection) -> Result
    ) throws(ReceiptRejection) -> Result {
        switch content {
        case .contiguous(let range):
            return try body(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .assembled(let octets):
            return try octets.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> Result in
                try body(UnsafeRawBufferPointer(buffer))
            }
        }
    }

    /// Whether `key` made the signature over the payload. If there are signed attributes, the signature covers them,
    /// and they must contain the payload's digest.
    func isSigned(by key: _RSA.Signing.PublicKey, _ bytes: UnsafeRawBufferPointer) throws(ReceiptRejection) -> Bool {
        let value = _RSA.Signing.RSASignature(rawRepresentation: UnsafeRawBufferPointer(rebasing: bytes[signature]))
        guard let signedAttributes else {
            return try withPayload(bytes) { (payload) throws(ReceiptRejection) -> Bool in
                switch digest {
                case .sha1:
                    key.isValidSignature(value, for: Insecure.SHA1.hash(data: payload), padding: .insecurePKCS1v1_5)
                case .sha256: key.isValidSignature(value, for: Self.sha256(payload), padding: .insecurePKCS1v1_5)
                }
            }
        }
        let payloadDigest = try withPayload(bytes) { (payload) throws(ReceiptRejection) -> [UInt8] in
            switch digest {
            case .sha1: Array(Insecure.SHA1.hash(data: payload))
            case .sha256: Array(SHA256.hash(data: payload))
            }
        }
        guard try attributesName(payloadDigest, bytes, signedAttributes) else { return false }
        // The signature covers the SET OF itself, which the message carries under an implicit [0] (RFC 5652 §5.4).
        var set = Array(bytes[signedAttributes])
        set[0] = BERTag.set
        return switch digest {
        case .sha1: key.isValidSignature(value, for: Insecure.SHA1.hash(data: set), padding: .insecurePKCS1v1_5)
        case .sha256: key.isValidSignature(value, for: SHA256.hash(data: set), padding: .insecurePKCS1v1_5)
        }
    }

    /// The digest, computed without dynamic casts of the buffer.
    private static func sha256(_ payload: UnsafeRawBufferPointer) -> SHA256.Digest {
        var hash = SHA256()
        hash.update(bufferPointer: payload)
        return hash.finalize()
    }

    /// Whether the signed attributes contain the content type "data" and this digest, each exactly once.
    private func attributesName(
        _ payloadDigest: [UInt8], _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(ReceiptRejection) -> Bool {
        var top = BERCursor(bytes: bytes, range: range, depth: 4)
        var attributes = try top.inside(try top.next(BERTag.context0, "the signed attributes"))
        var contentTypes = 0
        var digests = 0
        while !attributes.isAtEnd {
            var attribute = try attributes.inside(try attributes.next(BERTag.sequence, "a signed attribute"))
            let type = try attribute.next(BERTag.objectIdentifier, "a signed attribute's type").content
            var values = try attribute.inside(try attribute.next(BERTag.set, "a signed attribute's values"))
            try attribute.expectEnd("a signed attribute")
            if attribute.matches(type, ObjectIdentifier.contentType) {
                contentTypes += 1
                let value = try values.next(BERTag.objectIdentifier, "a content type")
                guard values.isAtEnd, values.matches(value.content, ObjectIdentifier.data) else { return false }
            } else if attribute.matches(type, ObjectIdentifier.messageDigest) {
                digests += 1
                let value = try values.next(BERTag.octetString, "a message digest")
                guard values.isAtEnd, values.matches(value.content, payloadDigest) else { return false }
            }
        }
        return contentTypes == 1 && digests == 1
    }
}
