import ContentPackages
import Foundation

extension ContentUnpacking {
    /// Unpacks with `ContentPackages`, which checks every path before and every file's checksum while it writes, and has all of it on
    /// the disk before it gets its name: that the content is there must be true after a loss of power as well.
    static let unpackPackage: Unpack = { package, folder, unpackedLength, isCancelled in
        do {
            let opened = try ContentPackage.open(file: package, isCancelled: isCancelled)
            guard opened.unpackedLength <= unpackedLength else {
                return .damaged("It holds \(opened.unpackedLength) bytes, more than the \(unpackedLength) announced.")
            }
            try opened.unpack(into: folder, isDurable: true, isCancelled: isCancelled)
            return .unpacked(productID: opened.info.productID, version: opened.info.version.text)
        } catch let error as ContentPackageError {
            switch error.code {
            case .refused: return .damaged(error.detail)
            case .diskFull: return .noSpace
            case .cancelled: return .cancelled
            case .unreadable, .unwritable, .alreadyThere, .busy: return .unwritable(error.detail)
            }
        } catch {
            return error.isOutOfSpace ? .noSpace : .unwritable(error.localizedDescription)
        }
    }
}
