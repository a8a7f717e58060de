import Crypto
import CryptoExtras
import Foundation
import Testing
import X509

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct ReceiptVerifierTests {
    /// Each chain is wrong in one respect.
    static let chains: [(TestChain, ReceiptRejection.Code?)] = [
        (TestChain(), nil),
        (TestChain(leafMarker: false), .missingMarker),
        (TestChain(intermediateMarker: false), .missingMarker),
        (TestChain(leafUsage: KeyUsage(keyEncipherment: true)), .wrongChain),
        (TestChain(intermediateUsage: KeyUsage(digitalSignature: true)), .wrongChain),
        (TestChain(intermediateIsAuthority: false), .wrongChain),
        (TestChain(leafIsAuthority: true), .wrongChain),
        (TestChain(forgedLeaf: true), .wrongChain),
        // Apple issued certificates with SHA-1 until December 2022.
        (TestChain(leafValidity: .years(2023, 2030), leafAlgorithm: .sha1WithRSAEncryption), nil),
        (
            TestChain(
                leafValidity: .years(2023, 2030), intermediateValidity: .years(2022, 2030),
                leafAlgorithm: .sha1WithRSAEncryption, intermediateAlgorithm: .sha1WithRSAEncryption), nil
        ),
        (TestChain(leafMarker: false, leafAlgorithm: .sha1WithRSAEncryption), .missingMarker),
        (TestChain(leafCommonName: "Intermediate"), .wrongChain),
        (TestChain(leafValidity: .years(2026, 2030)), .expired),
        (TestChain(leafValidity: .years(2020, 2025)), .expired),
        (TestChain(intermediateValidity: .years(2020, 2025)), .expired),
        (TestChain(leafValidity: .years(2025, 2026)), nil),
        // Of several faults, the first in the order of the checks is named.
        (TestChain(leafMarker: false, leafValidity: .years(2020, 2025)), .expired),
    ]

    @Test(arguments: chains.indices)
    func judgesAChain(index: Int) async throws {
        let (shape, expected) = Self.chains[index]
        let chain = try shape.make()
        let receipt = try chain.signer().sign(.sample())
        let verifier = try ReceiptVerifier(roots: [chain.root])
        #expect(await verifier.verify(receipt.bytes, expecting: ReceiptExpectation()).refusal == expected)
        // Remembering a chain changes no answer.
        #expect(await verifier.verify(receipt.bytes, expecting: ReceiptExpectation()).refusal == expected)
    }

    @Test func aKnownChainIsCheckedAtEachReceiptsDate() async throws {
        let chain = try TestChain(leafValidity: .years(2025, 2026)).make()
        let verifier = try ReceiptVerifier(roots: [chain.root])
        let good = try chain.signer().sign(.sample())
        let late = try chain.signer().sign(.sample(creationDate: Date.sample.addingTimeInterval(86_400 * 30)))
        #expect(await verifier.verify(good.bytes, expecting: ReceiptExpectation()).refusal == nil)
        #expect(verifier.verifyIfChainIsKnown(good.bytes, expecting: ReceiptExpectation())?.receipt != nil)
        #expect(await verifier.verify(late.bytes, expecting: ReceiptExpectation()).refusal == .expired)
    }

    @Test func theIntermediateMayComeFromTheCaller() async throws {
        let chain = try TestChain().make()
        let receipt = try ReceiptSigner(key: chain.leafKey, certificates: [chain.leaf]).sign(.sample())
        let without = try ReceiptVerifier(roots: [chain.root])
        let with = try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate])
        #expect(await without.verify(receipt.bytes, expecting: ReceiptExpectation()).refusal == .unknownIssuer)
        #expect(await with.verify(receipt.bytes, expecting: ReceiptExpectation()).refusal == nil)
    }

    @Test func aCertificateOutsideTheChainIsRefused() async throws {
        let chain = try TestChain().make()
        let stray = try TestChain(rootMarker: "Stray").make().root
        let signer = try ReceiptSigner(
            key: chain.leafKey, certificates: [chain.leaf, chain.intermediate, chain.root, stray])
        let verifier = try ReceiptVerifier(roots: [chain.root])
        let bytes = try signer.sign(.sample()).bytes
        #expect(await verifier.verify(bytes, expecting: ReceiptExpectation()).refusal == .wrongChain)
    }

    @Test func aRootThatSignsAReceiptItselfIsRefused() async throws {
        let chain = try TestChain().make()
        let signer = try ReceiptSigner(key: TestChain.keys[0], certificates: [chain.root])
        let verifier = try ReceiptVerifier(roots: [chain.root])
        let bytes = try signer.sign(.sample()).bytes
        // Not Xcode's type: allowing Xcode does not let the root sign for the store.
        for expectation in [ReceiptExpectation(), ReceiptExpectation(allowsXcode: true)] {
            #expect(await verifier.verify(bytes, expecting: expectation).refusal == .unknownIssuer)
        }
    }

    @Test func mismatchesAreReported() async throws {
        let chain = try TestChain().make()
        let verifier = try ReceiptVerifier(roots: [chain.root])
        let bytes = try chain.signer().sign(.sample()).bytes
        let right = ReceiptExpectation(
            bundleID: "com.example.app", applicationVersion: "7", deviceIdentifier: Array(1...16)
        )
        let cases: [(ReceiptExpectation, ReceiptRejection.Code?)] = [
            (right, nil),
            (ReceiptExpectation(bundleID: "com.example.App"), .wrongBundleID),
            (ReceiptExpectation(applicationVersion: "7.0"), .wrongVersion),
            (ReceiptExpectation(deviceIdentifier: Array(2...17)), .wrongDeviceHash),
            (ReceiptExpectation(deviceIdentifier: []), .wrongDeviceHash),
            (ReceiptExpectation(bundleID: "", applicationVersion: "", deviceIdentifier: []), .wrongBundleID),
            (ReceiptExpectation(applicationVersion: "", deviceIdentifier: []), .wrongVersion),
        ]
        for (expectation, code) in cases {
            #expect(await verifier.verify(bytes, expecting: expectation).refusal == code)
        }
    }

    @Test func aTransactionSignatureOfVersion3Verifies() async throws {
        let chain = try TestChain().make()
        let signer = try chain.signer()
        let signed: [UInt8] = [3] + Array("{ purchase info }".utf8)
        let signature = try signer.signature(overSHA1Of: signed)
        let verifier = try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate])
        let rootless = try ReceiptVerifier(roots: [], intermediates: [])
        func code(
            _ verifier: ReceiptVerifier, _ signed: [UInt8], _ leaf: [UInt8], _ date: Date = .sample
        ) async -> ReceiptRejection.Code? {
            let answer = await verifier.verifyTransactionSignature(
                signed: signed, signature: signature, leaf: leaf, at: date)
            switch answer {
            case .success(let fingerprint):
                #expect(fingerprint == Array(SHA256.hash(data: chain.root)))
                return nil
            case .failure(let rejection): return rejection.code
            }
        }
        #expect(await code(verifier, signed, signer.leafCertificate) == nil)
        #expect(await code(verifier, signed, signer.leafCertificate) == nil)
        #expect(await code(verifier, signed + [0], signer.leafCertificate) == .badSignature)
        #expect(await code(verifier, signed, chain.intermediate) == .badSignature)
        #expect(await code(rootless, signed, signer.leafCertificate) == .unknownIssuer)
        #expect(await code(verifier, signed, signer.leafCertificate, Date(timeIntervalSince1970: 0)) == .expired)
        #expect(await code(verifier, signed, signer.leafCertificate + [0]) == .trailingData)
        #expect(await code(verifier, signed, []) == .truncated)
    }

    @Test func theIntermediateValidAtTheTimeIsUsed() async throws {
        let (early, late) = (
            try TestChain(intermediateValidity: .years(2016, 2020)).make(),
            try TestChain(intermediateValidity: .years(2018, 2030)).make()
        )
        let signer = try early.signer()
        let signature = try signer.signature(overSHA1Of: [3])
        // The root, too, has one name and key, and another number.
        for intermediates in [[early.intermediate, late.intermediate], [late.intermediate, early.intermediate]] {
            for (year, isValid) in [(2017, true), (2019, true), (2025, true), (2035, false)] {
                let verifier = try ReceiptVerifier(roots: [early.root], intermediates: intermediates)
                let answer = await verifier.verifyTransactionSignature(
                    signed: [3], signature: signature, leaf: early.leaf,
                    at: ClosedRange<Date>.years(year, year + 1).lowerBound)
                #expect(((try? answer.get()) != nil) == isValid, "\(year)")
            }
        }
    }

    @Test func aTransactionLeafNeedsAMarker() async throws {
        let chain = try TestChain(leafMarker: false).make()
        let signer = try chain.signer()
        let verifier = try ReceiptVerifier(roots: [chain.root], intermediates: [chain.intermediate])
        let answer = await verifier.verifyTransactionSignature(
            signed: [3], signature: try signer.signature(overSHA1Of: [3]), leaf: chain.leaf, at: .sample
        )
        #expect(throws: ReceiptRejection.self) { try answer.get() }
    }
}

extension ClosedRange<Date> {
    /// From the first day of one year to the first of another.
    static func years(_ from: Int, _ to: Int) -> ClosedRange<Date> {
        func start(_ year: Int) -> Date { ISO8601DateFormatter().date(from: "\(year)-01-01T00:00:00Z") ?? .distantPast }
        return start(from)...start(to)
    }
}
