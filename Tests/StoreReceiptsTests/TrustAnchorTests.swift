import Crypto
import Foundation
import Testing
import X509

@testable import StoreReceipts

/// A root is trusted by its name and key, whichever certificate a payload brings along for it.
@Suite(.timeLimit(.minutes(1))) struct TrustAnchorTests {
    private let anything = ReceiptExpectation()

    /// Signs a receipt with a chain's leaf that carries another root.
    private func receipt(_ chain: TestChain.Made, carrying root: [UInt8]) throws -> [UInt8] {
        try ReceiptSigner(key: chain.leafKey, certificates: [chain.leaf, chain.intermediate, root])
            .sign(.sample()).bytes
    }

    @Test func aCertificateWithTheRootsNameAndKeyIsAcceptedAsTheRoot() async throws {
        let (chain, renewed) = (try TestChain().make(), try TestChain().make())
        #expect(chain.root != renewed.root)
        let verifier = try ReceiptVerifier(roots: [renewed.root])
        let bytes = try chain.signer().sign(.sample()).bytes
        for _ in 0..<2 {
            guard case .verified(let verified) = await verifier.verify(bytes, expecting: anything) else {
                Issue.record("refused: \(await verifier.verify(bytes, expecting: anything))")
                return
            }
            // The store is known by the root that the caller trusts.
            #expect(verified.rootFingerprint == Array(SHA256.hash(data: renewed.root)))
        }
        #expect(verifier.verifyIfChainIsKnown(bytes, expecting: anything)?.receipt != nil)
        let both = try ReceiptVerifier(roots: [renewed.root, chain.root])
        #expect(await both.verify(bytes, expecting: anything).refusal == nil)
        let stranger = try ReceiptVerifier(roots: [try TestChain(rootMarker: "Other Root").make().root])
        #expect(await stranger.verify(bytes, expecting: anything).refusal == .unknownIssuer)
        let nobody = try ReceiptVerifier(roots: [])
        #expect(await nobody.verify(bytes, expecting: anything).refusal == .unknownIssuer)
    }

    @Test func noOtherCertificateIsAcceptedAsTheRoot() async throws {
        let chain = try TestChain().make()
        let verifier = try ReceiptVerifier(roots: [try TestChain().make().root])
        let impostors: [(String, TestChain)] = [
            ("another key", TestChain(rootKey: 3)),
            ("another name", TestChain(rootMarker: "Other Root")),
            ("signed by another key", TestChain(rootIssuer: (3, "Root"))),
            ("issued by another authority", TestChain(rootIssuer: (3, "Other Root"))),
            ("issued in another name", TestChain(rootIssuer: (0, "Other Root"))),
        ]
        for (fault, shape) in impostors {
            let bytes = try receipt(chain, carrying: try shape.make().root)
            #expect(await verifier.verify(bytes, expecting: anything).refusal == .wrongChain, "\(fault)")
        }
        // A whole chain of somebody else who took the root's name.
        let forged = try TestChain(rootKey: 3).make().signer().sign(.sample()).bytes
        #expect(await verifier.verify(forged, expecting: anything).refusal == .unknownIssuer)
    }

    /// The sample was made in 2025.
    @Test(
        arguments: [
            ((2020, 2030), (2020, 2030), nil), ((2020, 2030), (2010, 2020), nil), ((2010, 2020), (2020, 2030), nil),
            ((2010, 2020), (2010, 2020), .expired), ((2030, 2040), (2010, 2020), .expired),
        ] as [((Int, Int), (Int, Int), ReceiptRejection.Code?)])
    func oneOfTheRootsCertificatesMustHaveBeenValid(
        given: (Int, Int), carried: (Int, Int), expected: ReceiptRejection.Code?
    ) async throws {
        let root = try TestChain(rootValidity: .years(given.0, given.1)).make().root
        let chain = try TestChain(rootValidity: .years(carried.0, carried.1)).make()
        let verifier = try ReceiptVerifier(roots: [root])
        let bytes = try chain.signer().sign(.sample()).bytes
        for _ in 0..<2 { #expect(await verifier.verify(bytes, expecting: anything).refusal == expected) }
        // Both may be given, in any order.
        for roots in [[root, chain.root], [chain.root, root]] {
            let both = try ReceiptVerifier(roots: roots)
            #expect(await both.verify(bytes, expecting: anything).refusal == expected)
        }
    }

    @Test func signedPayloadsFollowTheSameRules() async throws {
        let rootKey = try AuthorityKey.generate(.p384)
        let profile = CertificateProfile(commonName: "Root", role: .root)
        let (root, renewed) = (
            try profile.issue(key: rootKey, issuer: nil), try profile.issue(key: rootKey, issuer: nil)
        )
        let impostor = try profile.issue(key: .generate(.p384), issuer: nil)
        let intermediate = try CertificateProfile(commonName: "Intermediate", role: .intermediate)
            .issue(key: .generate(.p384), issuer: root)
        let key = P256.Signing.PrivateKey()
        let leaf = try CertificateProfile(commonName: "Leaf", role: .leaf).issue(key: .p256(key), issuer: intermediate)
        func refusal(carrying root: AuthorityIdentity, under given: AuthorityIdentity) async throws
            -> ReceiptRejection.Code?
        {
            let identity = JWSIdentity(privateKey: key, certificates: [leaf.der, intermediate.der, root.der])
            let payload = #"{"bundleId":"com.example.app","environment":"Sandbox","signedDate":1766774387123}"#
            let text = Array(try identity.sign(Array(payload.utf8)).utf8)
            let verifier = try ReceiptVerifier(roots: [given.der])
            switch await verifier.verifySignedPayload(text, expecting: anything) {
            case .success(let verified):
                #expect(verified.rootFingerprint == Array(SHA256.hash(data: given.der)))
                #expect(verifier.verifySignedPayloadIfSignerIsKnown(text, expecting: anything) != nil)
                return nil
            case .failure(let rejection): return rejection.code
            }
        }
        #expect(root.der != renewed.der)
        #expect(try await refusal(carrying: root, under: root) == nil)
        #expect(try await refusal(carrying: root, under: renewed) == nil)
        #expect(try await refusal(carrying: impostor, under: root) == .wrongChain)
        #expect(try await refusal(carrying: impostor, under: impostor) == .wrongChain)
    }

    @Test func aSelfSignedRootIsComparedExactly() async throws {
        // Another certificate of the root's name and key does not sign for Xcode in its place.
        let (chain, renewed) = (try TestChain().make(), try TestChain().make())
        let signer = try ReceiptSigner(key: TestChain.keys[0], certificates: [chain.root])
        var receipt = AppReceipt.sample()
        receipt.receiptType = "Xcode"
        let bytes = try signer.sign(receipt).bytes
        let allowing = ReceiptExpectation(allowsXcode: true)
        #expect(
            await (try ReceiptVerifier(roots: [chain.root])).verify(bytes, expecting: allowing).refusal == nil)
        #expect(
            await (try ReceiptVerifier(roots: [renewed.root])).verify(bytes, expecting: allowing).refusal
                == .unknownIssuer)
    }
}

/// Apple signed certificates for receipts with SHA-1 until December 2022, and never those of signed payloads.
@Suite(.timeLimit(.minutes(1))) struct SHA1CertificateTests {
    @Test func certificatesOfSignedPayloadsMustNotUseSHA1() async throws {
        let chains: [(TestChain, isSHA1: Bool)] = [
            (TestChain(), false), (TestChain(leafAlgorithm: .sha1WithRSAEncryption), true),
            (TestChain(intermediateAlgorithm: .sha1WithRSAEncryption), true),
        ]
        for (shape, isSHA1) in chains {
            let chain = try shape.make()
            let certificates = CertificateChains(anchors: try TrustAnchors(roots: [chain.root], intermediates: []))
            func refusal(_ purpose: CertificateChains.Purpose) async -> ReceiptRejection.Code? {
                do throws(ReceiptRejection) {
                    _ = try await certificates.verify(
                        leaf: chain.leaf, embedded: [chain.intermediate, chain.root], purpose: purpose, at: .sample)
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await refusal(.appReceipt) == nil)
            #expect(await refusal(.transactionReceipt) == nil)
            #expect(await refusal(.signedPayload) == (isSHA1 ? .wrongChain : nil))
        }
    }

    /// WWDR G7 was signed with SHA-1 on 2022-11-17. Its own leaf is not at hand, so one of another issuer stands below.
    @Test(.enabled(if: Fixtures.arePresent, "no fixtures: set CORNERSTORE_FIXTURES"))
    func applesIntermediateOf2022IsAccepted() throws {
        let authority = try Certificate(
            derEncoded: try Fixtures.certificate("Apple_Worldwide_Developer_Relations_Certification_Authority__G7"))
        let root = try Certificate(derEncoded: try Fixtures.appleRoot())
        #expect(authority.signatureAlgorithm == .sha1WithRSAEncryption)
        #expect(root.publicKey.isValidSignature(authority.signature, for: authority))
        #expect(authority.hasMarker(CertificateMarker.developerRelations))
        let leaf = try Certificate(derEncoded: try TestChain(leafAlgorithm: .sha1WithRSAEncryption).make().leaf)
        #expect(ChainPolicy(allowsSHA1: true).violation(of: [leaf, authority, root]) == nil)
        #expect(ChainPolicy(allowsSHA1: false).violation(of: [leaf, authority, root]) != nil)
    }
}
