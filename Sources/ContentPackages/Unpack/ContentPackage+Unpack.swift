import Foundation
import Synchronization

extension ContentPackage {
    /// Unpacks the content. Afterwards `folder` holds `ContentInfo.plist` and `Contents`. Files have the mode 0644,
    /// folders 0755.
    ///
    /// The content is written beside `folder` and renamed to it at the end, so that `folder` is complete or absent.
    /// Lengths and checksums are verified while the bytes are written, and no path leaves the folder. A failure or a
    /// cancellation leaves nothing behind; the next call removes what a killed process left. The call blocks, and uses
    /// two threads of its own.
    ///
    /// - Parameters:
    ///   - folder: the folder to make. It must be absent or empty, and its parent must exist.
    ///   - isDurable: whether everything is on the disk before the folder gets its name, and the name when the call
    ///     returns. A loss of power then leaves all of it or nothing. Otherwise this holds only when the process is
    ///     killed.
    ///   - isCancelled: called often, on several threads.
    ///   - progress: receives the number of bytes of ``unpackedLength`` that have been written, each time more than
    ///     before. The calls are frequent and on several threads, but one at a time.
    /// - Throws: ``ContentPackageError``: `refused` with the faults of the package, `diskFull`, `unwritable`,
    ///   `alreadyThere`, `busy` when the package is being unpacked to the same place, `cancelled`.
    public func unpack(
        into folder: URL, limits: ContentLimits = .hosted, isDurable: Bool = false,
        isCancelled: @escaping @Sendable () -> Bool = { false },
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) throws {
        let findings = Self.findingsBeforeUnpacking(contents, limits)
        guard findings.isEmpty else { throw ContentPackageError(refused: findings) }
        let aside = try FolderAside(for: folder)
        let meter = UnpackMeter(isCancelled: isCancelled, progress: progress)
        do {
            try aside.makeFolders(contents.entries)
            switch contents.form {
            case .plain: try unpackFiles(to: aside, meter)
            case .payload(let data, let path): try unpackPayload(data, path, to: aside, limits, meter)
            }
            try aside.makeLinks(contents.entries)
            guard !isCancelled() else { throw ContentPackageError.cancelled }
            if isDurable { try aside.flush() }
            try aside.becomeFinal(isDurable: isDurable)
        } catch {
            aside.remove()
            throw error
        }
    }

    /// The faults that prevent unpacking. The package may never have been checked as a whole.
    private static func findingsBeforeUnpacking(_ contents: PackageContents, _ limits: ContentLimits)
        -> [ContentFinding]
    {
        let inspection = Inspection(
            entries: contents.entries, packedLength: contents.archive.file.length, limits: limits)
        let rules: [ContentRule] = [
            .layout, .entries, .size, .bomb, .outsidePath, .name, .nameClash, .outsideLink, .specialFile,
        ]
        return contents.findings + rules.flatMap { $0.findings(inspection) }
    }

    private func unpackFiles(to aside: FolderAside, _ meter: UnpackMeter) throws {
        let files = contents.entries.filter { $0.kind == .file }
        let archive = contents.archive
        try Threads.forEach(
            files.count, makeState: { XarMemberReader(archive, checksEverything: false) },
            body: { index, reader in
                try meter.passCancellation()
                let file = try aside.makeFile(files[index].path)
                guard let data = files[index].data else { return }
                try reader.begin(data, path: files[index].path)
                while let bytes = try reader.next() {
                    try file.write(bytes)
                    try meter.wrote(bytes.count)
                }
            })
    }

    private func unpackPayload(
        _ data: XarData, _ path: String, to aside: FolderAside, _ limits: ContentLimits, _ meter: UnpackMeter
    ) throws {
        let wanted = Set(contents.entries.filter { $0.kind == .file }.map { Array($0.path.utf8) })
        let prefix = contents.prefix
        let reader = CpioReader(try PayloadStream(contents.archive, data, path: path), limits: limits)
        while let entry = try reader.next() {
            try meter.passCancellation()
            guard entry.path.utf8.starts(with: prefix.utf8), entry.mode & Int(S_IFMT) == Int(S_IFREG) else { continue }
            let path = String(decoding: entry.path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            // The file has changed since it was opened.
            guard wanted.contains(Array(path.utf8)) else {
                throw ContentPackageError.damaged(
                    .payload, path: path, "The package was changed while it was being unpacked.")
            }
            let file = try aside.makeFile(path)
            while let bytes = try reader.readChunk() {
                try file.write(bytes)
                try meter.wrote(bytes.count)
            }
        }
    }
}

/// Counts the written bytes, and throws when the work is cancelled.
private final class UnpackMeter: Sendable {
    private let isCancelled: @Sendable () -> Bool
    private let progress: @Sendable (Int64) -> Void
    private let total = Mutex<Int64>(0)

    init(isCancelled: @escaping @Sendable () -> Bool, progress: @escaping @Sendable (Int64) -> Void) {
        self.isCancelled = isCancelled
        self.progress = progress
    }

    func passCancellation() throws {
        if isCancelled() { throw ContentPackageError.cancelled }
    }

    func wrote(_ count: Int) throws {
        total.withLock { total in
            total += Int64(count)
            progress(total)
        }
        try passCancellation()
    }
}
