import Foundation
import StoreReceipts

/// The steps from the body of a `verifyReceipt` request to the body of its answer, without a server and with a known
/// certificate chain.
struct RequestToAnswer {
    let body: [UInt8]
    let verifier: ReceiptVerifier
    let requestDate: ReceiptDate

    func request() throws -> VerifyReceiptRequest { try VerifyReceiptRequest(body: body) }

    func receipt(_ request: VerifyReceiptRequest) throws -> AppReceipt {
        let verification = verifier.verifyIfChainIsKnown(request.receiptData, expecting: ReceiptExpectation())
        guard case .verified(let verified) = verification else {
            throw BenchmarkError("the receipt did not verify with its chain known")
        }
        return verified.receipt
    }

    func answer(_ receipt: AppReceipt) -> VerifyReceiptResponse {
        let information = ReceiptInformation(receipt, requestDate: requestDate)
        return .appReceipt(AppReceiptResponse(environment: .sandbox, receipt: information, latest: nil))
    }

    /// The microseconds of the whole and of its steps, in a printed line.
    func measured(seconds: Double, rounds: Int) throws -> String {
        let request = try request()
        let receipt = try receipt(request)
        let answer = answer(receipt)
        func microseconds(_ work: () throws -> Int) throws -> Double {
            var sum = 0
            let rate = try Rate.perSecond(seconds: seconds, rounds: rounds) { sum &+= try work() }
            guard sum != 0 else { throw BenchmarkError("the answers are empty") }
            return 1_000_000 / rate
        }
        let whole = try microseconds { self.answer(try self.receipt(try self.request())).json.count }
        let reading = try microseconds { try self.request().receiptData.count }
        let verifying = try microseconds { try self.receipt(request).inApp.count }
        let converting = try microseconds {
            if case .appReceipt(let response) = self.answer(receipt) { response.receipt.inApp.count } else { 0 }
        }
        let writing = try microseconds { answer.json.count }
        return String(
            format: "request to answer %.1f µs: request %.1f, verified %.1f, information %.1f, JSON %.1f", whole,
            reading,
            verifying, converting, writing)
    }
}
