import ContentDownloads
import ContentPackages
import Foundation
import StoreWire

/// The permanent failures of downloads. All are `SKError.unknown`, because Apple's StoreKit has no codes for them.
/// `NSUnderlyingErrorKey` distinguishes them.
extension PaymentFailure {
    /// The store refused to provide the content.
    init(contentRefusal refusal: WireError) {
        guard refusal.code != .ordered else {
            self.init(refusal: refusal)
            return
        }
        let text = refusal.message.isEmpty ? nil : String(refusal.message.prefix(500))
        self.init(
            .unknown, .contentNotAvailable, text: text,
            underlying: Underlying(domain: NSURLErrorDomain, code: NSURLErrorResourceUnavailable))
    }

    /// The store's response is malformed.
    static let contentGrant = PaymentFailure(
        .unknown, .contentNotAvailable, text: "The store's response about the content is not valid.",
        underlying: Underlying(domain: NSURLErrorDomain, code: NSURLErrorBadServerResponse))

    /// The content is missing: the last address from the store returned 404 or 410.
    static let contentNotThere = PaymentFailure(
        .unknown, .contentNotAvailable, text: "There is no content at the address from the store.",
        underlying: Underlying(domain: NSURLErrorDomain, code: NSURLErrorResourceUnavailable))

    /// The disk is full. The underlying error is `CocoaError.fileWriteOutOfSpace`.
    static let noSpace = PaymentFailure(
        .unknown, .noSpace,
        underlying: Underlying(domain: NSCocoaErrorDomain, code: CocoaError.fileWriteOutOfSpace.rawValue))

    /// The package is damaged, or differs from the grant. The underlying error is `CocoaError.fileReadCorruptFile`.
    static func damaged(_ detail: String) -> PaymentFailure {
        PaymentFailure(
            .unknown, .contentDamaged,
            text: "\(ErrorTexts.text(.contentDamaged, in: .english)) \(detail.prefix(400))",
            underlying: Underlying(domain: NSCocoaErrorDomain, code: CocoaError.fileReadCorruptFile.rawValue))
    }

    /// A file on the device cannot be written or read.
    static func contentFile(_ detail: String) -> PaymentFailure {
        PaymentFailure(
            .unknown, .contentNotAvailable,
            text: "The content could not be saved on this device: \(detail.prefix(400))",
            underlying: Underlying(domain: NSCocoaErrorDomain, code: CocoaError.fileWriteUnknown.rawValue))
    }
}

extension DownloadStateMachine.Outcome {
    /// The outcome of a failed download; nil when it was cancelled, or needs a new address.
    init?(_ error: ContentDownloadError) {
        switch error.code {
        case .unreachable: self = .unreachable
        case .addressExpired, .cancelled: return nil
        case .wrongLength, .wrongDigest: self = .failed(.damaged(error.detail))
        case .noSpace: self = .failed(.noSpace)
        case .fileUnusable: self = .failed(.contentFile(error.detail))
        case .refused, .invalidRequest:
            let text = WireError(code: .noContent, message: "The content could not be downloaded: \(error.detail).")
            self = .failed(PaymentFailure(contentRefusal: text))
        }
    }
}
