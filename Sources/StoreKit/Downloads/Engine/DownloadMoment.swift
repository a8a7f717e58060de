/// A moment in the work of the downloads, by name: right before an action, or when a transfer has a result that the
/// engine has not handled yet.
///
/// Crash tests kill the process at these moments (``StoreKitConfiguration/onDownloadStep``).
package enum DownloadMoment: String, Sendable, CaseIterable {
    case save, forget, update, transfer, halt, discard, wait, tick
    case discardPackage = "discard-package"
    /// The store has granted the content.
    case granted
    /// Some bytes have arrived, and are in the partial file.
    case received
    /// The package is complete and verified, under its final name.
    case downloaded
    /// A part of the package is unpacked.
    case unpacking
    /// The content is in its folder, but not yet recorded as finished.
    case unpacked

    /// The name of the moment, such as `download-granted`.
    package var name: String { "download-\(rawValue)" }
}

extension DownloadMoment {
    init(_ step: DownloadStep) {
        switch step {
        case .granted: self = .granted
        case .downloaded: self = .downloaded
        case .unpacked: self = .unpacked
        case .action(let action):
            self =
                switch action {
                case .save: .save
                case .forget: .forget
                case .update: .update
                case .transfer: .transfer
                case .halt: .halt
                case .discard: .discard
                case .discardPackage: .discardPackage
                case .wait: .wait
                case .tick: .tick
                }
        }
    }
}
