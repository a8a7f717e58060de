import ContentDownloads
import Foundation
@_exported import MerchantWire
import StoreKit

/// Why the merchant's client did not do what was asked. No receipt or token is ever in one.
public struct MerchantClientError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
    /// What a program needs to know of it; stable.
    public enum Code: String, Sendable, CaseIterable {
        /// The configuration names no address of a merchant, or no app, or one that cannot be used.
        case notConfigured
        /// Another process of the app, or another client in this one, holds the client's folder.
        case inUse
        /// A file or folder cannot be read or written.
        case storage
        /// The disk, or the user's share of it, is full.
        case noSpace
        /// No answer came, or one that says to come back later. What was asked may have been done all the same: ask again.
        case unreachable
        /// What answered is no merchant, or one of another kind.
        case badAnswer
        /// There is no user's token, or the merchant does not take it.
        case notSignedIn
        /// The merchant refused; ``MerchantClientError/reason`` says why.
        case refused
        /// There is no receipt to show, or the one there is does not speak of the purchase: refresh it, and try again.
        case noEvidence
        /// The downloaded file is not what was announced. What came is thrown away: try again.
        case wrongContent
        /// The client was closed, the task was cancelled, or another user has signed in since it was asked.
        case cancelled
    }

    /// Which kind it is.
    public var code: Code
    /// What was wrong, where, and what to do, for whoever writes the app.
    public var detail: String
    /// The merchant's own code, when it refused.
    public var reason: MerchantErrorCode?
    /// Finds the request in the merchant's log.
    public var requestID: String?
    /// In how many seconds the merchant wants to be asked again, when it said so.
    public var retryAfter: Int?

    /// An error of a kind.
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

    /// Whether the same may succeed later, without anybody doing anything about it.
    public var isTemporary: Bool { code == .unreachable }

    /// ``detail``, with the merchant's code and the request's number.
    public var description: String {
        let notes = [reason.map { "code \($0)" }, requestID.map { "request \($0)" }].compactMap { $0 }
        return notes.isEmpty ? detail : "\(detail) (\(notes.joined(separator: ", ")))"
    }

    /// A sentence for the app's user, in English, the merchant's where it has one; it is what `localizedDescription` gives.
    public var errorDescription: String? {
        switch code {
        case .refused: reason?.text ?? detail
        case .notConfigured: "The app does not know its server."
        case .inUse: "The app is running already."
        case .storage: "The app cannot save its files."
        case .noSpace: "There is no space left. Make room, and try again."
        case .unreachable: reason?.text ?? "The server cannot be reached. Try again later."
        case .badAnswer: "The server's answer was not understood. Update the app."
        case .notSignedIn: "Sign in again."
        case .noEvidence: "The proof of purchase is not here yet. Try again later."
        case .wrongContent: "The download was not complete. Try again."
        case .cancelled: "Cancelled."
        }
    }
}

extension MerchantClientError {
    /// A file that cannot be written or a folder that cannot be held.
    init(storage error: any Error) {
        switch error {
        case let error as MerchantClientError: self = error
        case let error as DeviceError where error.code == .inUse: self.init(.inUse, error.detail)
        case let error as DeviceError: self.init(.storage, error.detail)
        default: self.init(.storage, error.localizedDescription)
        }
    }

    /// A download's failure.
    init(_ error: ContentDownloadError) {
        switch error.code {
        // Who describes a file and will not give it is somebody in between, or has lost it: the merchant's own refusal came before.
        case .unreachable, .addressExpired: self.init(.unreachable, error.detail)
        case .refused where error.status == 401: self.init(.notSignedIn, "the merchant does not take the user's token")
        case .refused: self.init(.badAnswer, error.detail)
        case .wrongLength, .wrongDigest: self.init(.wrongContent, error.detail)
        case .noSpace: self.init(.noSpace, error.detail)
        case .fileUnusable: self.init(.storage, error.detail)
        case .invalidRequest: self.init(.badAnswer, error.detail)
        case .cancelled: self.init(.cancelled, error.detail)
        }
    }
}
