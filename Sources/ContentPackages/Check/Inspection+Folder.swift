import Foundation

extension Inspection {
    /// Reads the kind and the first bytes of every file of a folder.
    /// - Throws: ``ContentPackageError``, `refused` when the folder exceeds a limit.
    init(folder: URL, limits: ContentLimits, isCancelled: () -> Bool) throws {
        self.init(entries: [], limits: limits)
        var root = folder.path
        while root.count > 1, root.hasSuffix("/") { root.removeLast() }
        entries = try FolderWalk.entries(of: root, limits: limits, isCancelled: isCancelled)
        for index in entries.indices where entries[index].kind == .file && entries[index].pathIsText {
            if isCancelled() { throw ContentPackageError.cancelled }
            let file = try ReadableFile(root + "/" + entries[index].path, followsLink: false)
            entries[index].head = try file.read(ContentEntry.headSize, at: 0)
            if entries[index].path == ContentInfo.fileName {
                guard file.length <= limits.infoBytes else {
                    findings.append(
                        ContentFinding(
                            .infoKeys, path: ContentInfo.fileName, "The file has more than \(limits.infoBytes) bytes.",
                            "Move content into files below Contents."))
                    continue
                }
                info = ContentInfo.Reading(Data(try file.read(limits.infoBytes, at: 0)))
            }
        }
    }
}
