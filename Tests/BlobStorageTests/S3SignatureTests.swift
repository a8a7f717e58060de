import Foundation
import Testing

@testable import BlobStorage

/// The examples of Amazon's documentation ("Signature Calculations for the Authorization Header", "… Query Parameters")
/// and of its "AWS Signature Version 4 Test Suite", whose keys are public and open nothing.
@Suite(.timeLimit(.minutes(1))) struct S3SignatureTests {
    private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let s3 = S3Signature(
        accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1")
    private static let suite = S3Signature(
        accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
        service: "service")
    /// 2013-05-24T00:00:00Z and 2015-08-30T12:36:00Z.
    private static let dates = (
        s3: Date(timeIntervalSince1970: 1_369_353_600), suite: Date(timeIntervalSince1970: 1_440_938_160)
    )

    private func request(
        _ method: String, _ path: String, _ headers: [(String, String)], query: [(String, String)] = [],
        hash: String = emptyHash
    ) -> S3Signature.Request {
        S3Signature.Request(
            method: method, path: path,
            query: query.map { ($0.0, $0.1) },
            headers: ([("Host", "examplebucket.s3.amazonaws.com")] + headers).map { ($0.0, $0.1) }, payloadHash: hash)
    }

    private func signature(_ request: S3Signature.Request) -> String? {
        let value = Self.s3.authorization(request, at: Self.dates.s3)
        #expect(
            value.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
        return value.components(separatedBy: "Signature=").last
    }

    @Test func signingARangeOfAnObject() {
        let signed = request(
            "GET", "/test.txt",
            [
                ("Range", "bytes=0-9"), ("x-amz-content-sha256", Self.emptyHash), ("x-amz-date", "20130524T000000Z"),
            ])
        #expect(signature(signed) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func signingAnUpload() {
        let hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
        let signed = request(
            "PUT", "/test%24file.text",
            [
                ("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-content-sha256", hash),
                ("x-amz-date", "20130524T000000Z"), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ], hash: hash)
        #expect(signature(signed) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func signingQueriesWithAndWithoutValues() {
        let headers = [("x-amz-content-sha256", Self.emptyHash), ("x-amz-date", "20130524T000000Z")]
        #expect(
            signature(request("GET", "/", headers, query: [("lifecycle", "")]))
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            signature(request("GET", "/", headers, query: [("prefix", "J"), ("max-keys", "2")]))
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func signingAPresignedAddress() {
        let signed = S3Signature.Request(
            method: "GET", path: "/test.txt", headers: [("host", "examplebucket.s3.amazonaws.com")],
            payloadHash: S3Signature.unsignedPayload)
        #expect(
            Self.s3.presignedQuery(signed, at: Self.dates.s3, seconds: 86400, sessionToken: nil)
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    /// get-vanilla, get-vanilla-query-order-key-case, post-vanilla and get-header-value-trim.
    @Test(
        arguments: [
            ("GET", [], [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "GET", [("Param2", "value2"), ("Param1", "value1")], [],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            ("POST", [], [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "GET", [], [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
            ),
        ] as [(String, [(String, String)], [(String, String)], String)])
    func theTestSuitesRequests(
        _ method: String, _ query: [(String, String)], _ headers: [(String, String)], _ signature: String
    ) {
        let signed = S3Signature.Request(
            method: method, path: "/", query: query.map { ($0.0, $0.1) },
            headers: ([("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z")] + headers).map {
                ($0.0, $0.1)
            }, payloadHash: Self.emptyHash)
        let value = Self.suite.authorization(signed, at: Self.dates.suite)
        #expect(value.hasSuffix("Signature=" + signature), "\(value)")
    }

    @Test func bucketAddressesAreParsedOrRefused() throws {
        func read(_ text: String, _ secret: String = "s") throws -> S3Location {
            try S3Location(text, accessKeyID: "k", secretAccessKey: secret, sessionToken: nil)
        }
        let plain = try read("s3://packages")
        #expect(plain.bucket == "packages" && plain.prefix == "" && plain.region == "us-east-1")
        #expect(plain.endpoint == "https://s3.us-east-1.amazonaws.com" && plain.host == "s3.us-east-1.amazonaws.com")
        let own = try read("s3://my.packages/a//b/?endpoint=http://127.0.0.1:9000/&region=eu-west-3")
        #expect(own.prefix == "a/b/" && own.endpoint == "http://127.0.0.1:9000" && own.host == "127.0.0.1:9000")
        // The scheme's own port is not in the header that is signed.
        #expect(try read("s3://packages?endpoint=https://a.example:443/").endpoint == "https://a.example")
        #expect(try read("s3://packages?endpoint=http://a.example:80").host == "a.example")
        #expect(try read("s3://packages?endpoint=http://a.example:443").host == "a.example:443")
        for wrong in [
            "", "packages", "http://packages", "s3://", "s3://P", "s3://pack_ages", "s3://packages?endpoint=ftp://a",
            "s3://packages?endpoint=http://u@a", "s3://packages?endpoint=http://a/b", "s3://packages?region=a/b",
            "s3://packages?key=5", "s3://key@packages",
        ] {
            #expect(throws: BlobError.self, "\(wrong)") { _ = try read(wrong) }
        }
        #expect(throws: BlobError.self) { _ = try read("s3://packages", "") }
    }
}
