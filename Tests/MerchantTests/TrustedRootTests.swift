import Crypto
import Foundation
import StoreWire
import Testing

@testable import Merchant
@testable import StoreReceipts

/// A store whose roots are configured by their names and keys, as Apple's are.
@Suite(.timeLimit(.minutes(1))) struct TrustedRootTests {
    private let rootKey: AuthorityKey
    private let root: AuthorityIdentity
    private let leafKey = P256.Signing.PrivateKey()
    private let chain: [[UInt8]]
    private static let profile = CertificateProfile(commonName: "Root", role: .root)

    init() throws {
        rootKey = try .generate(.p384)
        root = try Self.profile.issue(key: rootKey, issuer: nil)
        let intermediate = try CertificateProfile(commonName: "Intermediate", role: .intermediate)
            .issue(key: .generate(.p384), issuer: root)
        let leaf = try CertificateProfile(commonName: "Leaf", role: .leaf)
            .issue(key: .p256(leafKey), issuer: intermediate)
        chain = [leaf.der, intermediate.der]
    }

    /// A signed transaction that carries a certificate as its root.
    private func transaction(carrying root: [UInt8]) throws -> Evidence {
        let fields = """
            {"transactionId":"1","originalTransactionId":"1","bundleId":"com.example.app","productId":"coins",\
            "purchaseDate":1766774387123,"signedDate":1766774387123,"environment":"Production"}
            """
        let identity = JWSIdentity(privateKey: leafKey, certificates: chain + [root])
        return .signedTransaction(Array(try identity.sign(Array(fields.utf8)).utf8))
    }

    private func verifier() throws -> PurchaseVerifier {
        let store = TrustedStore(
            anchor: "known", roots: [], rootIdentities: [try #require(RootIdentity(der: root.der))])
        return try PurchaseVerifier(stores: [store], bundleIDs: ["com.example.app"], environments: [.production])
    }

    @Test func aRenewedCertificateOfTheRootIsAccepted() async throws {
        let renewed = try Self.profile.issue(key: rootKey, issuer: nil)
        #expect(renewed.der != root.der)
        for first in [root, renewed] {
            let verifier = try verifier()
            for carried in [first, root, renewed, first] {
                let verified = try await verifier.verify(try transaction(carrying: carried.der))
                #expect(verified.purchases.map(\.anchor) == ["known"])
            }
        }
    }

    @Test func noOtherCertificateIsTakenForTheRoot() async throws {
        let other = try CertificateProfile(commonName: "Other Root", role: .root)
            .issue(key: .generate(.p384), issuer: nil)
        var damaged = try Self.profile.issue(key: rootKey, issuer: nil).der
        damaged[damaged.count - 1] ^= 1
        let impostors: [(String, [UInt8])] = [
            ("another key", try Self.profile.issue(key: .generate(.p384), issuer: nil).der),
            (
                "another name",
                try CertificateProfile(commonName: "Root 2", role: .root).issue(key: rootKey, issuer: nil).der
            ),
            ("another issuer", try Self.profile.issue(key: rootKey, issuer: other).der),
            ("a damaged signature", damaged),
        ]
        let verifier = try verifier()
        for (fault, certificate) in impostors {
            let evidence = try transaction(carrying: certificate)
            let error = await #expect(throws: MerchantError.self, "\(fault)") { try await verifier.verify(evidence) }
            #expect(error?.code == .notGenuine, "\(fault)")
        }
        _ = try await verifier.verify(try transaction(carrying: root.der))
    }
}
