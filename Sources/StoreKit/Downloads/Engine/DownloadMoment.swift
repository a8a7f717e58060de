/// A moment in the downloads' work, by name: right before one of its actions is performed, or when something came of a transfer
/// and nothing was made of it yet.
///
/// Tests of crashes kill the process at these (``StoreKitConfiguration/onDownloadStep``).
package enum DownloadMoment: String, Sendable, CaseIterable {
    case save, forget, update, transfer, halt, discard, wait, tick
    case discardPackage = "discard-package"
    /// The store has granted the content.
    case granted
    /// Some bytes have come, and are in the part.
    case received
    /// The package is whole and right, under its name.
    case downloaded
    /// Some of the package is unpacked.
    case unpacking
    /// The content is in its place, and nobody knows.
    case unpacked

    /// Such as `download-granted`.
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
