import Foundation
import Synchronization

extension ContentPackage {
    /// Unpacks the content: afterwards `folder` holds `ContentInfo.plist` and `Contents`. Files get the mode 0644, folders 0755.
    ///
    /// It is written beside `folder` and renamed to it at the end, so that `folder` is whole or not there. Lengths and checksums are verified as
    /// the bytes pass; no path leaves the folder. When it fails or is cancelled nothing is left; what a killed process left beside it is
    /// removed by the next one. It blocks, with two threads of its own.
    ///
    /// - Parameters:
    ///   - folder: where it will be; nothing may be there, or an empty folder. The folder that it is in must be there.
    ///   - isDurable: whether everything is on the disk before it gets its name, and the name on return, so that a loss of power leaves
    ///     all of it or nothing. Otherwise that is so for a process that is killed, not for the machine.
    ///   - isCancelled: asked often, on several threads.
    ///   - progress: told often how many bytes of ``unpackedLength`` have been written, always more than before; one call at a time, on
    ///     several threads.
    /// - Throws: ``ContentPackageError``: `refused` with what is wrong in the package, `diskFull`, `unwritable`, `alreadyThere`, `busy` when it
    ///   is being unpacked to the same place, `cancelled`.
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

    /// What has to be right before a single byte is written. The package was perhaps never checked as a whole.
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
            // The file is not the one that was looked at when it was opened.
            guard wanted.contains(Array(path.utf8)) else {
                throw ContentPackageError.damaged(.payload, path: path, "The package was changed meanwhile.")
            }
            let file = try aside.makeFile(path)
            while let bytes = try reader.readChunk() {
                try file.write(bytes)
                try meter.wrote(bytes.count)
            }
        }
    }
}

/// Counts what is written, and stops when it is told to.
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
