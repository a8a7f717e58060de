import Crypto
import Foundation
import StoreWire
import SwiftASN1
import Testing
import X509

@testable import StoreReceipts

/// The JWS chain: leaf, intermediate and root.
private func chain(
    _ authority: CertificateAuthority, _ environment: StoreEnvironment = .production
) throws -> [Certificate] {
    try authority.jwsIdentity(for: environment).certificates.map { try Certificate(derEncoded: $0) }
}

@Suite(.timeLimit(.minutes(1)))
struct OCSPCertificateTests {
    private static let url = "http://127.0.0.1:8402/ocsp"

    @Test func certificatesNameTheResponderAndKeepTheirKeys() async throws {
        let directory = try TemporaryDirectory()
        let old = try await CertificateAuthority.open(directory: directory.url, at: .sample)
        let new = try await old.reissuing(forOCSP: Self.url)
        for environment in StoreEnvironment.allCases {
            let (before, after) = (try chain(old, environment), try chain(new, environment))
            #expect(before.map(\.ocspURL) == [nil, nil, nil])
            #expect(after.map(\.ocspURL) == [Self.url, Self.url, nil])
            for (one, other) in zip(before, after) {
                #expect(one.publicKey == other.publicKey && one.subject == other.subject)
            }
            #expect(zip(before, after).map { $0.serialNumber == $1.serialNumber } == [false, false, true])
            let policy = try #require(after[0].extensions[oid: [2, 5, 29, 32]])
            #expect(!policy.critical && Array(policy.value).hex == "300e300c060a2a864886f76364050601")
            #expect(after[1].extensions[oid: [2, 5, 29, 32]] == nil)
            #expect(
                old.receiptSigner(for: environment).certificates == new.receiptSigner(for: environment).certificates)
        }
        #expect(old.jwsRoot == new.jwsRoot)

        // The directory has the same certificates, and the same address needs no new ones.
        let reopened = try await CertificateAuthority.open(directory: directory.url, at: .sample)
        #expect(try chain(reopened) == chain(new))
        let same = try await reopened.reissuing(forOCSP: Self.url)
        #expect(try chain(same) == chain(new))
        let moved = try await reopened.reissuing(forOCSP: "https://store.example/ocsp")
        #expect(try chain(moved).map(\.ocspURL) == ["https://store.example/ocsp", "https://store.example/ocsp", nil])
        // New leaves name the responder, too.
        let rotated = try await moved.rotatingLeaves(at: .sample)
        #expect(try chain(rotated).map(\.ocspURL) == chain(moved).map(\.ocspURL))

        let verifier = try ReceiptVerifier(roots: [old.jwsRoot])
        let payload = Array(#"{"bundleId":"com.example.app","environment":"Sandbox","signedDate":1766774387123}"#.utf8)
        for authority in [old, new, moved, rotated] {
            let text = Array(try authority.jwsIdentity(for: .sandbox).sign(payload).utf8)
            guard case .success = await verifier.verifySignedPayload(text, expecting: ReceiptExpectation()) else {
                Issue.record("refused")
                return
            }
        }
        for wrong in ["", "ftp://a", "http://é", "http://a b", "http://" + String(repeating: "a", count: 200)] {
            let error = await #expect(throws: ReceiptAuthorityError.self) {
                _ = try await old.reissuing(forOCSP: wrong)
            }
            #expect(error?.code == .signing)
        }
    }

    /// A crash between two files leaves some certificates old and some new.
    @Test func everyMixtureOfFilesOpens() async throws {
        let directory = try TemporaryDirectory()
        let (old, new) = (directory.url.appendingPathComponent("old"), directory.url.appendingPathComponent("new"))
        let first = try await CertificateAuthority.open(directory: old, at: .sample)
        try FileManager.default.copyItem(at: old, to: new)
        _ = try await CertificateAuthority.open(directory: new, at: .sample).reissuing(forOCSP: Self.url)
        let names = AuthorityMember.checkedOnline.map(\.fileName)
        for mixture in 0..<(1 << names.count) {
            let place = directory.url.appendingPathComponent("\(mixture)")
            try FileManager.default.copyItem(at: old, to: place)
            for (index, name) in names.enumerated() where mixture >> index & 1 == 1 {
                try FileManager.default.removeItem(at: place.appendingPathComponent(name))
                try FileManager.default.copyItem(
                    at: new.appendingPathComponent(name), to: place.appendingPathComponent(name))
            }
            let opened = try await CertificateAuthority.open(directory: place, at: .sample)
            #expect(opened.jwsRoot == first.jwsRoot)
            let renewed = try await opened.reissuing(forOCSP: Self.url)
            #expect(try chain(renewed).map(\.ocspURL) == [Self.url, Self.url, nil])
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct OCSPResponderTests {
    /// An authority whose certificates name a responder. Making one takes long.
    private static let made = Task {
        let directory = try TemporaryDirectory()
        return try await CertificateAuthority.open(directory: directory.url, at: .sample)
            .reissuing(forOCSP: "http://127.0.0.1:8402/ocsp")
    }

    private let authority: CertificateAuthority
    private let responder: OCSPResponder
    private let leaf: Certificate
    private let intermediate: Certificate
    private let root: Certificate
    /// The identifier of the leaf.
    private let leafID: [UInt8]
    private let now = Date(timeIntervalSince1970: 1_800_000_000.25)

    init() async throws {
        authority = try await Self.made.value
        responder = try OCSPResponder(authority)
        let certificates = try chain(authority)
        (leaf, intermediate, root) = (certificates[0], certificates[1], certificates[2])
        leafID = try Asked(leaf, issuer: intermediate).der
    }

    // MARK: Statuses

    @Test(arguments: [true, false], [true, false])
    func issuedCertificatesAreGood(isSHA256: Bool, hasNull: Bool) throws {
        for (certificate, issuer) in [(leaf, intermediate), (intermediate, root)] {
            let id = try Asked(certificate, issuer: issuer, isSHA256: isSHA256, hasNull: hasNull).der
            let answer = try Answer(responder.answer(OCSPText.request([id]), at: now), issuer: issuer)
            #expect(answer.status == 0 && answer.isSigned && answer.nonce == nil)
            #expect(answer.singles == [Answer.Single(id: id, status: 0x80)])
            #expect(answer.producedAt == "20270115080000Z")
            #expect(answer.validity == ["20270115070000Z", "20270116080000Z"])
        }
    }

    @Test func replacedCertificatesStayGoodAndOthersAreUnknown() async throws {
        let directory = try TemporaryDirectory()
        let first = try await CertificateAuthority.open(directory: directory.url, at: .sample)
        let moved = try await first.reissuing(forOCSP: "http://a.example/ocsp")
            .reissuing(forOCSP: "http://b.example/ocsp")
        let certificates = try chain(first)
        let (leaf, intermediate) = (certificates[0], certificates[1])
        let old = try Asked(leaf, issuer: intermediate).der
        let new = try Asked(try chain(moved)[0], issuer: intermediate).der
        let other = try Asked(leaf, issuer: intermediate, serialNumber: [0x7f, 1, 2]).der
        var similar = Array(leaf.serialNumber.bytes)
        similar[19] ^= 1
        let forged = try Asked(leaf, issuer: intermediate, serialNumber: similar).der
        let request = OCSPText.request([old, other, forged, new])
        let answer = try Answer(try OCSPResponder(moved).answer(request, at: now), issuer: intermediate)
        #expect(answer.isSigned)
        #expect(answer.singles.map(\.id) == [old, other, forged, new])
        #expect(answer.singles.map(\.status) == [0x80, 0x82, 0x82, 0x80])
    }

    @Test func nonceIsRepeated() throws {
        for count in [1, 16, 32] {
            let nonce = (0..<count).map { UInt8($0) }
            let request = OCSPText.request([leafID], extensions: [OCSPText.nonce(nonce)])
            let answers = [responder.answer(request, at: now), responder.answer(request, at: now)]
            #expect(answers[0] != answers[1])
            for bytes in answers {
                let answer = try Answer(bytes, issuer: intermediate)
                #expect(answer.nonce == nonce && answer.isSigned)
            }
        }
    }

    @Test func anAnswerIsGivenAgainForHalfADay() throws {
        let request = OCSPText.request([leafID])
        let first = responder.answer(request, at: now)
        #expect(responder.answer(request, at: now + 43_199) == first)
        let extended = OCSPText.request([leafID], extensions: [OCSPText.extra()])
        #expect(responder.answer(extended, at: now + 1) == first)
        let sha1 = try Asked(leaf, issuer: intermediate, isSHA256: false).der
        #expect(responder.answer(OCSPText.request([sha1]), at: now) != first)
        let second = responder.answer(request, at: now + 43_200)
        #expect(second != first)
        let later = try Answer(second, issuer: intermediate)
        #expect(later.producedAt == "20270115200000Z")
        // A clock that was set back gets an answer of its own time.
        let earlier = try Answer(responder.answer(request, at: now), issuer: intermediate)
        #expect(earlier.producedAt == "20270115080000Z")
        let unknown = OCSPText.request([try Asked(leaf, issuer: intermediate, serialNumber: [9]).der])
        #expect(responder.answer(unknown, at: now) != responder.answer(unknown, at: now))
    }

    // MARK: Apple's policy

    private struct LocalRequester: OCSPRequester {
        let responder: OCSPResponder

        func query(request: [UInt8], uri: String) async -> OCSPRequesterQueryResult {
            .response(responder.answer(request, at: Date()))
        }
    }

    /// Apple's library for Swift checks with this policy.
    @Test func applesPolicyAcceptsTheAnswers() async throws {
        let directory = try TemporaryDirectory()
        let other = try OCSPResponder(try await CertificateAuthority.open(directory: directory.url, at: .sample))
        for (responder, isGood) in [(responder, true), (other, false)] {
            var verifier = Verifier(rootCertificates: CertificateStore([root])) {
                RFC5280Policy()
                OCSPVerifierPolicy(failureMode: .hard, requester: LocalRequester(responder: responder))
            }
            let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore([intermediate]))
            switch result {
            case .validCertificate: #expect(isGood)
            case .couldNotValidate(let failures): #expect(!isGood, "\(failures)")
            }
        }
    }

    // MARK: Errors

    /// The status of the answer: 0 for success, 1 for a malformed request, 3 for try later, 6 for unauthorized.
    private func status(_ request: [UInt8]) -> UInt8 {
        let answer = responder.answer(request, at: now)
        return answer.count == 5 ? answer[4] : 0
    }

    @Test func strangersAreUnauthorized() throws {
        // The right key under another name, and the right name with another key.
        let strangers = [
            try Asked(leaf, issuer: leaf).der, try Asked(leaf, issuer: leaf, keyOf: intermediate).der,
            try Asked(leaf, issuer: intermediate, keyOf: leaf).der,
        ]
        for id in strangers { #expect(status(OCSPText.request([id])) == 6) }
        let ofRoot = try Asked(intermediate, issuer: root).der
        #expect(status(OCSPText.request([ofRoot])) == 0)
        #expect(status(OCSPText.request([leafID, ofRoot])) == 6)
        let hash: [UInt8] = Array(repeating: 1, count: 48)
        let sha384: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]
        let id = OCSPText.id(algorithm: sha384, hasNull: false, hash, hash, [1])
        #expect(status(OCSPText.request([id])) == 6)
    }

    @Test func requestsOverALimitAreMalformed() throws {
        #expect(status(OCSPText.request(Array(repeating: leafID, count: 8))) == 0)
        #expect(status(OCSPText.request(Array(repeating: leafID, count: 9))) == 1)
        #expect(status(OCSPText.request([])) == 1)
        #expect(status(OCSPText.request([leafID], extensions: [OCSPText.extra(count: 7_900)])) == 0)
        #expect(status(OCSPText.request([leafID], extensions: [OCSPText.extra(count: 8_192)])) == 1)
        let tooLong: [UInt8] = Array(repeating: 1, count: 33)
        for nonces in [[[]], [tooLong], [[1], [1]]] as [[[UInt8]]] {
            #expect(status(OCSPText.request([leafID], extensions: nonces.map(OCSPText.nonce))) == 1)
        }
        #expect(status(OCSPText.request([leafID], extensions: [OCSPText.extra(isCritical: true)])) == 1)
        for count in [0, 22] {
            let number: [UInt8] = Array(repeating: 1, count: count)
            let id = try Asked(leaf, issuer: intermediate, serialNumber: number).der
            #expect(status(OCSPText.request([id])) == 1)
        }
        let hash: [UInt8] = Array(repeating: 1, count: 20)
        let short = OCSPText.id(algorithm: ObjectIdentifier.sha256, hasNull: true, hash, hash, [1])
        #expect(status(OCSPText.request([short])) == 1)
    }

    @Test func onlyVersion1IsAnsweredAndSignaturesAreIgnored() {
        func sequence(_ content: [UInt8]) -> [UInt8] { DERWriter.element(BERTag.sequence, content) }
        let list = sequence(sequence(leafID))
        for (version, expected) in [(0, 0), (1, 1)] as [(UInt8, UInt8)] {
            let number = DERWriter.element(BERTag.context0, [BERTag.integer, 1, version])
            #expect(status(sequence(sequence(number + list))) == expected)
        }
        let body = sequence(DERWriter.element(BERTag.context1, [0x82, 1, UInt8(ascii: "a")]) + list)
        let signature = DERWriter.element(BERTag.context0, sequence([]))
        #expect(status(sequence(body + signature)) == 0)
        #expect(status(sequence(body + signature + signature)) == 1)
        #expect(status(sequence(body) + [0]) == 1)
    }

    @Test func damagedRequestsAreMalformedAtEveryByte() throws {
        let sha1 = try Asked(leaf, issuer: intermediate, isSHA256: false).der
        let nonce: [UInt8] = Array(repeating: 7, count: 32)
        let request = OCSPText.request([leafID, sha1], extensions: [OCSPText.nonce(nonce), OCSPText.extra()])
        #expect(status(request) == 0)
        for count in request.indices { #expect(status(Array(request[..<count])) == 1, "\(count) bytes") }
        // A request with any byte changed is answered in some way.
        let statuses: [UInt8] = [0, 1, 6]
        for position in request.indices {
            for change in [0x01, 0x80, 0xff] as [UInt8] {
                var changed = request
                changed[position] ^= change
                #expect(statuses.contains(status(changed)), "byte \(position)")
            }
        }
    }

    @Test func hugeLengthsAndDeepNestingAreMalformed() {
        let heads: [[UInt8]] = [
            [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 0x88], [0x30, 0xff], [0x30, 0x80], [0x3f, 0xff, 0x7f],
        ]
        for head in heads {
            #expect(status(head) == 1)
            #expect(status(head + Array(repeating: 0, count: 64)) == 1)
            #expect(status(head + Array(repeating: 0x30, count: 8_000)) == 1)
        }
        let nested: [[UInt8]] = Array(repeating: [0x30, 0x80], count: 4_000)
        #expect(status(Array(nested.joined())) == 1)
        #expect(status(Array(repeating: 0x30, count: 1 << 20)) == 1)
    }

    @Test func aDateThatCannotBeWrittenMeansTryLater() {
        for seconds in [1e13, -1e13, .infinity, .nan] {
            let answer = responder.answer(OCSPText.request([leafID]), at: Date(timeIntervalSince1970: seconds))
            #expect(answer == [BERTag.sequence, 3, BERTag.enumerated, 1, 3])
        }
    }
}

/// A certificate as a client asks about it.
private struct Asked {
    let der: [UInt8]

    init(
        _ certificate: Certificate, issuer: Certificate, keyOf other: Certificate? = nil, isSHA256: Bool = true,
        hasNull: Bool = true, serialNumber: [UInt8]? = nil
    ) throws {
        var serializer = DER.Serializer()
        try serializer.serialize(issuer.subject)
        let name = serializer.serializedBytes
        let key = Array((other ?? issuer).publicKey.subjectPublicKeyInfoBytes)
        func hash(_ bytes: [UInt8]) -> [UInt8] {
            isSHA256 ? Array(SHA256.hash(data: bytes)) : Array(Insecure.SHA1.hash(data: bytes))
        }
        der = OCSPText.id(
            algorithm: isSHA256 ? ObjectIdentifier.sha256 : ObjectIdentifier.sha1, hasNull: hasNull, hash(name),
            hash(key), serialNumber ?? Array(certificate.serialNumber.bytes))
    }
}

/// Writes the parts of requests.
private enum OCSPText {
    static func id(
        algorithm: [UInt8], hasNull: Bool, _ name: [UInt8], _ key: [UInt8], _ serialNumber: [UInt8]
    ) -> [UInt8] {
        let null: [UInt8] = hasNull ? [BERTag.null, 0] : []
        let parts = [
            DERWriter.element(BERTag.sequence, DERWriter.element(BERTag.objectIdentifier, algorithm) + null),
            DERWriter.element(BERTag.octetString, name), DERWriter.element(BERTag.octetString, key),
            DERWriter.element(BERTag.integer, serialNumber),
        ]
        return DERWriter.element(BERTag.sequence, Array(parts.joined()))
    }

    static func request(_ ids: [[UInt8]], extensions: [[UInt8]] = []) -> [UInt8] {
        let singles = ids.map { DERWriter.element(BERTag.sequence, $0) }
        var body = DERWriter.element(BERTag.sequence, Array(singles.joined()))
        if !extensions.isEmpty {
            let list = DERWriter.element(BERTag.sequence, Array(extensions.joined()))
            body += DERWriter.element(BERTag.context2, list)
        }
        return DERWriter.element(BERTag.sequence, DERWriter.element(BERTag.sequence, body))
    }

    static func nonce(_ nonce: [UInt8]) -> [UInt8] {
        let value = DERWriter.element(BERTag.octetString, DERWriter.element(BERTag.octetString, nonce))
        let identifier = DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.ocspNonce)
        return DERWriter.element(BERTag.sequence, identifier + value)
    }

    /// An extension that the responder does not know.
    static func extra(count: Int = 3, isCritical: Bool = false) -> [UInt8] {
        let flag: [UInt8] = isCritical ? [BERTag.boolean, 1, 0xff] : []
        let value = DERWriter.element(BERTag.octetString, Array(repeating: 5, count: count))
        return DERWriter.element(BERTag.sequence, [BERTag.objectIdentifier, 2, 0x2a, 0x03] + flag + value)
    }
}

/// The parts of a response.
private struct Answer {
    struct Single: Equatable {
        var id: [UInt8]
        /// The tag of the status: 0x80 for good, 0x82 for unknown.
        var status: UInt8
    }

    let status: UInt8
    private(set) var singles: [Single] = []
    private(set) var producedAt = ""
    /// `thisUpdate` and `nextUpdate` of the first certificate.
    private(set) var validity: [String] = []
    private(set) var nonce: [UInt8]?
    /// Whether a key that the issuer authorized signed the answer.
    private(set) var isSigned = false

    init(_ bytes: [UInt8], issuer: Certificate) throws {
        var reader = Reader(bytes)
        var response = Reader(try reader.next(BERTag.sequence))
        status = try response.next(BERTag.enumerated)[0]
        guard status == 0 else { return }
        var explicit = Reader(try response.next(BERTag.context0))
        var typed = Reader(try explicit.next(BERTag.sequence))
        let type = try typed.next(BERTag.objectIdentifier)
        var octets = Reader(try typed.next(BERTag.octetString))
        var basic = Reader(try octets.next(BERTag.sequence))
        let data = try basic.next(BERTag.sequence)
        let algorithm = try basic.next(BERTag.sequence)
        let signature = try basic.next(BERTag.bitString)
        var certificates = Reader(try basic.next(BERTag.context0))
        let signer = try Certificate(derEncoded: try certificates.next(BERTag.sequence))
        #expect(type == ObjectIdentifier.basicOCSPResponse && algorithm.hex == "06082a8648ce3d040302")
        #expect(reader.isAtEnd && response.isAtEnd && typed.isAtEnd && basic.isAtEnd)

        var parts = Reader(data)
        var responderID = Reader(try parts.next(BERTag.context2))
        let keyHash = try responderID.next(BERTag.octetString)
        producedAt = String(decoding: try parts.next(BERTag.generalizedTime), as: UTF8.self)
        var list = Reader(try parts.next(BERTag.sequence))
        while !list.isAtEnd {
            var single = Reader(try list.next(BERTag.sequence))
            let id = DERWriter.element(BERTag.sequence, try single.next(BERTag.sequence))
            singles.append(Single(id: id, status: try single.nextTag()))
            let thisUpdate = try single.next(BERTag.generalizedTime)
            var later = Reader(try single.next(BERTag.context0))
            let nextUpdate = try later.next(BERTag.generalizedTime)
            if validity.isEmpty { validity = [thisUpdate, nextUpdate].map { String(decoding: $0, as: UTF8.self) } }
            #expect(single.isAtEnd && later.isAtEnd)
        }
        if !parts.isAtEnd {
            var tagged = Reader(try parts.next(BERTag.context1))
            var extensions = Reader(try tagged.next(BERTag.sequence))
            var one = Reader(try extensions.next(BERTag.sequence))
            let identifier = try one.next(BERTag.objectIdentifier)
            #expect(identifier == ObjectIdentifier.ocspNonce)
            var value = Reader(try one.next(BERTag.octetString))
            nonce = try value.next(BERTag.octetString)
            #expect(one.isAtEnd && value.isAtEnd && extensions.isAtEnd && parts.isAtEnd)
        }

        let key = try #require(P256.Signing.PublicKey(signer.publicKey))
        let isKey = Array(Insecure.SHA1.hash(data: signer.publicKey.subjectPublicKeyInfoBytes)) == keyHash
        let usages = try signer.extensions.extendedKeyUsage
        let ecdsa = try P256.Signing.ECDSASignature(derRepresentation: signature.dropFirst())
        isSigned =
            isKey && usages?.contains(.ocspSigning) == true && signer.issuer == issuer.subject
            && issuer.publicKey.isValidSignature(signer.signature, for: signer)
            && key.isValidSignature(ecdsa, for: DERWriter.element(BERTag.sequence, data))
    }
}

/// Reads elements one after the other.
private struct Reader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// The content of the next element, which must have this tag.
    mutating func next(_ tag: UInt8) throws -> [UInt8] {
        let bytes = Array(rest)
        let (content, end) = try bytes.withUnsafeBytes { (raw) throws -> ([UInt8], Int) in
            var cursor = BERCursor(raw)
            let element = try cursor.next(tag, "an element of the test")
            return (Array(raw[element.content]), element.end)
        }
        rest = rest.dropFirst(end)
        return content
    }

    /// The tag of the next element, which is passed over.
    mutating func nextTag() throws -> UInt8 {
        let tag = try #require(rest.first)
        _ = try next(tag)
        return tag
    }
}
