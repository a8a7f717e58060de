import Foundation
import StoreReceipts

/// The result of one request to a store.
enum StoreAnswer: Sendable, Equatable {
    /// A final status, with the whole body.
    case settled([UInt8], Verdict)
    /// 21007: the receipt belongs to the sandbox.
    case isOfSandbox([UInt8])
    /// A temporary failure: the reason, and the store's `Retry-After` in seconds.
    case passing(String, retryAfter: Int?)
    /// The answer is not a store's, and a retry will not help.
    case malformed(String)

    /// The meaning of a final status.
    enum Verdict: Sendable, Equatable {
        /// The receipt is valid, or belongs to the other environment.
        case answered
        /// The store refused the receipt for good.
        case rejected(VerifyReceiptStatus)
        /// The merchant is at fault: its shared secret, or a proxy between it and the store.
        case misconfigured(VerifyReceiptStatus)
        /// The cause is unknown: Apple has not documented the status, or it does not say whether to retry.
        case unexplained(VerifyReceiptStatus)

        /// - Parameter isRetryable: the answer's `is-retryable` flag; nil when it has none.
        init(_ status: VerifyReceiptStatus, isRetryable: Bool?) {
            self =
                switch status {
                case .ok, .subscriptionExpired, .sandboxReceipt, .productionReceipt: .answered
                case .malformedReceipt, .notAuthenticated, .accountNotFound: .rejected(status)
                case .secretMismatch, .unreadableRequest, .noLongerSent: .misconfigured(status)
                // Apple: “An unresolvable issue; do not retry validation for this receipt.”
                case _ where status.isRetryable && isRetryable == false: .rejected(status)
                default: .unexplained(status)
                }
        }
    }

    /// Judges a complete HTTP answer.
    init(_ answer: OutgoingHTTP.Answer) {
        switch answer.status {
        case 200: self.init(body: answer.body)
        // verifyReceipt itself always answers 200. Any other status came from something else.
        case 408, 429, 500...599: self = .passing("HTTP \(answer.status)", retryAfter: answer.retryAfter)
        default: self = .malformed("HTTP \(answer.status)")
        }
    }

    private init(body: [UInt8]) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(body)) else {
            self = .malformed("the answer is not a JSON object with a status")
            return
        }
        let verdict = Verdict(VerifyReceiptStatus(rawValue: members.status), isRetryable: members.isRetryable)
        switch members.status {
        case VerifyReceiptStatus.sandboxReceipt.rawValue: self = .isOfSandbox(body)
        // Apple: 21005 is temporary, 21009 is to be retried, and the flag decides for 21100 to 21199.
        case 21_005, 21_009:
            self = members.isRetryable == false ? .settled(body, verdict) : Self.later(members.status)
        case 21_100...21_199:
            self = members.isRetryable == true ? Self.later(members.status) : .settled(body, verdict)
        default: self = .settled(body, verdict)
        }
    }

    private static func later(_ status: Int) -> StoreAnswer { .passing("status \(status)", retryAfter: nil) }

    /// The members that decide. The flag has been seen under both names, and is documented as a number.
    private struct Members: Decodable {
        var status: Int
        var isRetryable: Bool?

        private enum CodingKeys: String, CodingKey {
            case status
            case isRetryable = "is_retryable"
            case isRetryableOfOldDocumentation = "is-retryable"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            status = try container.decode(Int.self, forKey: .status)
            isRetryable =
                Self.flag(container, .isRetryable) ?? Self.flag(container, .isRetryableOfOldDocumentation)
        }

        private static func flag(_ container: KeyedDecodingContainer<CodingKeys>, _ key: CodingKeys) -> Bool? {
            if let flag = try? container.decodeIfPresent(Bool.self, forKey: key) { return flag }
            if let number = try? container.decodeIfPresent(Int.self, forKey: key) { return number != 0 }
            guard let text = try? container.decodeIfPresent(String.self, forKey: key) else { return nil }
            return ["1", "true"].contains(text.lowercased())
        }
    }
}
