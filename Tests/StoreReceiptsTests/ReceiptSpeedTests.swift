import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import StoreReceipts

/// Times, printed: only for who asks for them, in a release build (`swift test -c release`), since a debug build says
/// nothing.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["CORNERSTORE_TIMES"] != nil), .serialized)
struct ReceiptSpeedTests {
    private func best(_ count: Int, _ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<7 {
            let clock = ContinuousClock()
            let taken = try clock.measure { for _ in 0..<count { try body() } }
            best = min(
                best,
                Double(taken.components.attoseconds) / 1e12 / Double(count) + Double(taken.components.seconds) * 1e6
                    / Double(count))
        }
        return best
    }

    @Test func verifyingAndSigning() async throws {
        let chain = try TestChain().make()
        let signer = try chain.signer()
        let receipt = AppReceipt.sample(purchases: 10)
        let bytes = try signer.sign(receipt).bytes
        let verifier = try ReceiptVerifier(roots: [chain.root])
        #expect(await verifier.verify(bytes, expecting: ReceiptExpectation()).refusal == nil)
        let container = try ReceiptContainer.parse(bytes)
        let digest = SHA256.hash(data: container.payload)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: container.signature)
        let key = chain.leafKey.publicKey
        let raw = best(1_000) { _ = key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5) }
        let parsing = try best(1_000) { _ = try ReceiptContainer.parse(bytes) }
        let hashing = best(1_000) { _ = SHA256.hash(data: container.payload) }
        let verifying = best(1_000) { _ = verifier.verifyIfChainIsKnown(bytes, expecting: ReceiptExpectation()) }
        let rawSigning = try best(60) { _ = try chain.leafKey.signature(for: digest, padding: .insecurePKCS1v1_5) }
        let encoding = try best(300) { _ = try receipt.encodedPayload() }
        let signing = try best(60) { _ = try signer.sign(receipt) }
        print(
            "TIMES \(container.payload.count) B; rsa \(raw) sha \(hashing) parse \(parsing) all \(verifying) = \(verifying / raw)x"
        )
        print("TIMES rsa sign \(rawSigning) encode \(encoding) sign \(signing) = \(signing / rawSigning)x µs")

        let directory = try TemporaryDirectory()
        let clock = ContinuousClock()
        let place = directory.url.appendingPathComponent("authority")
        let started = clock.now
        _ = try await CertificateAuthority.open(directory: place, at: .sample)
        let made = clock.now
        _ = try await CertificateAuthority.open(directory: place, at: .sample)
        print("TIMES authority made \(made - started) opened \(clock.now - made)")
    }
}
