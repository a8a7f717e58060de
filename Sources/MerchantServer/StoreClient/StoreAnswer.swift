import Foundation
import StoreReceipts

/// What one request to a store came to.
enum StoreAnswer: Sendable, Equatable {
    /// A status that stands; the body has all.
    case settled([UInt8], Verdict)
    /// 21007: the receipt is the sandbox's.
    case isOfSandbox([UInt8])
    /// Try again later: what was wrong, and what the store said of when, in seconds.
    case passing(String, retryAfter: Int?)
    /// No answer of a store, and trying again will not help.
    case malformed(String)

    /// What a status that stands says, and whose fault it is if it is no yes.
    enum Verdict: Sendable, Equatable {
        /// The receipt is good, or of the other environment.
        case answered
        /// The receipt is refused, for good.
        case rejected(VerifyReceiptStatus)
        /// The merchant's: its shared secret, or what lies between it and the store.
        case misconfigured(VerifyReceiptStatus)
        /// Nobody can tell; a status that Apple has not documented, or one that does not say whether to try again.
        case unexplained(VerifyReceiptStatus)

        /// - Parameter isRetryable: the answer's flag; nil when it has none.
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

    /// Judges a whole answer of HTTP.
    init(_ answer: OutgoingHTTP.Answer) {
        switch answer.status {
        case 200: self.init(body: answer.body)
        // The answer is 200 whatever it says; anything else did not come from verifyReceipt itself.
        case 408, 429, 500...599: self = .passing("HTTP \(answer.status)", retryAfter: answer.retryAfter)
        default: self = .malformed("HTTP \(answer.status)")
        }
    }

    private init(body: [UInt8]) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(body)) else {
            self = .malformed("the answer is no JSON object with a status")
            return
        }
        let verdict = Verdict(VerifyReceiptStatus(rawValue: members.status), isRetryable: members.isRetryable)
        switch members.status {
        case VerifyReceiptStatus.sandboxReceipt.rawValue: self = .isOfSandbox(body)
        // Apple: 21005 is temporary, 21009 is to be tried again, and of 21100 to 21199 the flag tells.
        case 21_005, 21_009:
            self = members.isRetryable == false ? .settled(body, verdict) : Self.later(members.status)
        case 21_100...21_199:
            self = members.isRetryable == true ? Self.later(members.status) : .settled(body, verdict)
        default: self = .settled(body, verdict)
        }
    }

    private static func later(_ status: Int) -> StoreAnswer { .passing("status \(status)", retryAfter: nil) }

    /// The members that decide. The flag has been seen under both names, and documented as a number.
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
