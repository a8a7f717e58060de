import ContentPackages
import Foundation

extension ContentUnpacking {
    /// Unpacks with `ContentPackages`, which checks all paths before it writes, and each file's checksum while it
    /// writes. It syncs all files before it renames the folder, so that the content is complete even after a power
    /// failure.
    static let unpackPackage: Unpack = { package, folder, unpackedLength, isCancelled in
        do {
            let opened = try ContentPackage.open(file: package, isCancelled: isCancelled)
            guard opened.unpackedLength <= unpackedLength else {
                return .damaged("Expected at most \(unpackedLength) bytes, found \(opened.unpackedLength).")
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
