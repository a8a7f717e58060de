import Foundation
import StoreReceipts

extension Section {
    /// Verifying and making app receipts of ten purchases, on one core and without a server.
    static let receipts = Section(name: "receipts") { setting in
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let authority = try await CertificateAuthority.open(directory: folder, at: SampleReceipts.date)
        let signer = authority.receiptSigner(for: .sandbox)
        let receipt = SampleReceipts.tenPurchases()
        let bytes = try signer.sign(receipt).bytes
        let verifier = try ReceiptVerifier(roots: [authority.receiptRoot])
        // The first one builds the chain.
        switch await verifier.verify(bytes, expecting: ReceiptExpectation()) {
        case .rejected(let rejection): throw BenchmarkError("the receipt was refused: \(rejection)")
        case .verified(let verified):
            guard verified.receipt.inApp.count == receipt.inApp.count else {
                throw BenchmarkError("purchases were lost")
            }
        }
        let baseline = try RSABaseline()
        let seconds = setting.seconds / 3
        let verifying = try Rate.compared(seconds: seconds, rounds: setting.rounds, baseline.verify) {
            guard case .verified = verifier.verifyIfChainIsKnown(bytes, expecting: ReceiptExpectation()) else {
                throw BenchmarkError("the receipt did not verify with its chain known")
            }
        }
        let making = try Rate.compared(seconds: seconds, rounds: setting.rounds, baseline.sign) {
            _ = try signer.sign(receipt)
        }
        print("  a receipt of ten purchases has \(bytes.count) bytes")
        print(String(format: "  raw check %.0f /s, verified %.0f /s", verifying.first, verifying.second))
        print(String(format: "  raw signature %.0f /s, made %.0f /s", making.first, making.second))
        let path = RequestToAnswer(
            body: VerifyReceiptRequest(receiptData: bytes, password: nil, excludeOldTransactions: false).body,
            verifier: verifier, requestDate: ReceiptDate(SampleReceipts.date))
        print("  " + (try path.measured(seconds: seconds, rounds: setting.rounds)))
        return [
            .verifyOverRSA(verifying.first / verifying.second), .makeReceiptOverSign(making.second / making.first),
        ]
    }
}
