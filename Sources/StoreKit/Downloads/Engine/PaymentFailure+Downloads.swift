import ContentDownloads
import ContentPackages
import Foundation
import StoreWire

/// Why a download failed for good. All are `SKError.unknown`, as Apple's StoreKit has no codes for them; what a program
/// needs to tell apart stands under `NSUnderlyingErrorKey`.
extension PaymentFailure {
    /// The store's words on why it gives no content.
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

    /// The store's answer makes no sense.
    static let contentGrant = PaymentFailure(
        .unknown, .contentNotAvailable, text: "The store's answer about the content could not be used.",
        underlying: Underlying(domain: NSURLErrorDomain, code: NSURLErrorBadServerResponse))

    /// New addresses lead nowhere either.
    static let contentNotThere = PaymentFailure(
        .unknown, .contentNotAvailable, text: "The content is not where the store says that it is.",
        underlying: Underlying(domain: NSURLErrorDomain, code: NSURLErrorResourceUnavailable))

    /// The disk is full: `CocoaError.fileWriteOutOfSpace` inside.
    static let noSpace = PaymentFailure(
        .unknown, .noSpace,
        underlying: Underlying(domain: NSCocoaErrorDomain, code: CocoaError.fileWriteOutOfSpace.rawValue))

    /// What arrived is not what was announced, or is no good package: `CocoaError.fileReadCorruptFile` inside.
    static func damaged(_ detail: String) -> PaymentFailure {
        PaymentFailure(
            .unknown, .contentDamaged,
            text: "\(ErrorTexts.text(.contentDamaged, in: .english)) \(detail.prefix(400))",
            underlying: Underlying(domain: NSCocoaErrorDomain, code: CocoaError.fileReadCorruptFile.rawValue))
    }

    /// A file of the device cannot be written or read.
    static func contentFile(_ detail: String) -> PaymentFailure {
        PaymentFailure(
            .unknown, .contentNotAvailable, text: "The content could not be kept on this device: \(detail.prefix(400))",
            underlying: Underlying(domain: NSCocoaErrorDomain, code: CocoaError.fileWriteUnknown.rawValue))
    }
}

extension DownloadStateMachine.Outcome {
    /// What became of downloading the package; nil when it was stopped, or another address has to be asked for.
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
