import ContentDownloads
import Foundation
@_exported import MerchantWire
import StoreKit

/// An error of the merchant's client. It contains no receipt and no token.
public struct MerchantClientError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of error. The raw values are stable.
    public enum Code: String, Sendable, CaseIterable {
        /// The configuration has no usable merchant address or no bundle identifier.
        case notConfigured
        /// Another process of the app, or another client in this one, holds the client's folder.
        case inUse
        /// A file or folder could not be read or written.
        case storage
        /// The disk or the user's quota is full.
        case noSpace
        /// No response arrived, or the merchant asked to retry later. The merchant may have carried out the request:
        /// repeat it.
        case unreachable
        /// The response is not one that a merchant of this version sends.
        case badAnswer
        /// There is no token of a user, or the merchant refuses it.
        case notSignedIn
        /// The merchant refused the request; ``MerchantClientError/reason`` has its code.
        case refused
        /// There is no receipt, or the receipt does not contain the purchase. Refresh the receipt and try again.
        case noEvidence
        /// The downloaded file differs from its description and was discarded. Try again.
        case wrongContent
        /// The client was closed, the task was cancelled, or another user signed in after the request began.
        case cancelled
    }

    /// The kind of error.
    public var code: Code
    /// The problem, where it occurred, and how to fix it, for the app's developers.
    public var detail: String
    /// The merchant's code, when the merchant refused the request.
    public var reason: MerchantErrorCode?
    /// The identifier of the request in the merchant's log.
    public var requestID: String?
    /// The number of seconds after which the merchant asked for a retry; nil when it did not say.
    public var retryAfter: Int?

    /// Creates an error.
    public init(
        _ code: Code, _ detail: String, reason: MerchantErrorCode? = nil, requestID: String? = nil,
        retryAfter: Int? = nil
    ) {
        self.code = code
        self.detail = detail
        self.reason = reason
        self.requestID = requestID
        self.retryAfter = retryAfter
    }

    /// Whether the same request may succeed later without any change.
    public var isTemporary: Bool { code == .unreachable }

    /// ``detail``, with the merchant's code and the request's identifier.
    public var description: String {
        let notes = [reason.map { "code \($0)" }, requestID.map { "request \($0)" }].compactMap { $0 }
        return notes.isEmpty ? detail : "\(detail) (\(notes.joined(separator: ", ")))"
    }

    /// A sentence for the app's user, in English: the merchant's text if there is one. `localizedDescription` returns
    /// it.
    public var errorDescription: String? {
        switch code {
        case .refused: reason?.text ?? detail
        case .notConfigured: "The app has no address of its server."
        case .inUse: "The app is running already."
        case .storage: "The app cannot save its files."
        case .noSpace: "The disk is full. Free some space and try again."
        case .unreachable: reason?.text ?? "The server cannot be reached. Try again later."
        case .badAnswer: "The server's answer was not understood. Update the app."
        case .notSignedIn: "Sign in again."
        case .noEvidence: "There is no receipt yet. Try again later."
        case .wrongContent: "The download was not complete. Try again."
        case .cancelled: "Cancelled."
        }
    }
}

extension MerchantClientError {
    /// Creates an error for a file that cannot be written or a folder that cannot be locked.
    init(storage error: any Error) {
        switch error {
        case let error as MerchantClientError: self = error
        case let error as DeviceError where error.code == .inUse: self.init(.inUse, error.detail)
        case let error as DeviceError: self.init(.storage, error.detail)
        default: self.init(.storage, error.localizedDescription)
        }
    }

    /// Creates an error for a failed download.
    init(_ error: ContentDownloadError) {
        switch error.code {
        // The merchant described the file a moment ago, so this refusal comes from an intermediary or the file is lost.
        case .unreachable, .addressExpired: self.init(.unreachable, error.detail)
        case .refused where error.status == 401: self.init(.notSignedIn, "the merchant refuses the user's token")
        case .refused: self.init(.badAnswer, error.detail)
        case .wrongLength, .wrongDigest: self.init(.wrongContent, error.detail)
        case .noSpace: self.init(.noSpace, error.detail)
        case .fileUnusable: self.init(.storage, error.detail)
        case .invalidRequest: self.init(.badAnswer, error.detail)
        case .cancelled: self.init(.cancelled, error.detail)
        }
    }
}
