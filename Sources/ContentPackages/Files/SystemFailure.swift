import Foundation

extension ContentPackageError {
    /// The system's error for a file that was read.
    static func reading(_ path: String, _ number: Int32 = errno) -> ContentPackageError {
        switch number {
        case ENOENT, ENOTDIR: ContentPackageError(.unreadable, "\(path) does not exist.")
        case EACCES, EPERM: ContentPackageError(.unreadable, "\(path) cannot be read; check its permissions.")
        case ELOOP: ContentPackageError(.unreadable, "\(path) was replaced by a link.")
        default: ContentPackageError(.unreadable, "\(path) cannot be read: \(text(number)).")
        }
    }

    /// The system's error for a file that was written. A full disk has its own code.
    static func writing(_ path: String, _ number: Int32 = errno) -> ContentPackageError {
        switch number {
        case ENOSPC, EDQUOT:
            ContentPackageError(.diskFull, "The disk is full at \(path). Make room and try again.")
        case EACCES, EPERM, EROFS:
            ContentPackageError(.unwritable, "\(path) cannot be written; check its permissions.")
        case EEXIST: ContentPackageError(.alreadyThere, "\(path) already exists.")
        case ENOENT, ENOTDIR: ContentPackageError(.unwritable, "The folder of \(path) does not exist.")
        default: ContentPackageError(.unwritable, "\(path) cannot be written: \(text(number)).")
        }
    }

    private static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}
