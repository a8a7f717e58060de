import BlobStorage
import Crypto
import Testing

@Suite(.timeLimit(.minutes(1))) struct BlobDigestTests {
    @Test func onlyLowerCaseHexadecimalOfTheRightLengthIsADigest() {
        let digits = String(repeating: "0f", count: 32)
        #expect(BlobDigest(digits)?.hexadecimal == digits)
        for wrong in [
            "", String(digits.dropLast()), digits + "0", digits.uppercased(), "../" + digits.dropFirst(3),
            String(repeating: "g", count: 64),
        ] {
            #expect(BlobDigest(wrong) == nil, "\(wrong)")
        }
    }

    @Test func theDigestOfNothingInBothForms() {
        let digest = BlobDigest(SHA256.hash(data: [UInt8]()))
        #expect(digest.hexadecimal == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(digest.base64 == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    }
}
