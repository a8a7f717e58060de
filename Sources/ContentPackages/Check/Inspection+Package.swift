import Foundation
import Synchronization

extension Inspection {
    /// Reads every file of a package, keeps its first bytes and verifies it.
    init(
        _ contents: PackageContents, limits: ContentLimits, isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        self.init(
            entries: contents.entries, findings: contents.findings,
            info: contents.info.map { ContentInfo.Reading(Data($0)) }, packedLength: contents.archive.file.length,
            limits: limits)
        // A package that is too large is not read to its end. It already has a finding about its size.
        guard case .plain = contents.form, unpackedLength <= limits.unpackedBytes,
            ContentRule.bomb.findings(self).isEmpty
        else { return }
        let found = Mutex<[Int: Result<[UInt8], ContentPackageError>]>([:])
        let entries = entries
        let known = Set(findings.compactMap(\.path))
        try Threads.forEach(
            entries.count, makeState: { XarMemberReader(contents.archive, checksEverything: true) },
            body: { index, reader in
                if isCancelled() { throw ContentPackageError.cancelled }
                guard let data = entries[index].data, !known.contains(entries[index].path) else { return }
                let result = try Self.read(data, entries[index].path, reader, isCancelled)
                found.withLock { $0[index] = result }
            })
        for (index, result) in found.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            switch result {
            case .success(let head): self.entries[index].head = head
            case .failure(let error): findings += error.findings
            }
        }
    }

    private static func read(
        _ data: XarData, _ path: String, _ reader: XarMemberReader, _ isCancelled: () -> Bool
    ) throws -> Result<[UInt8], ContentPackageError> {
        var head: [UInt8] = []
        do {
            try reader.begin(data, path: path)
            while let bytes = try reader.next() {
                if head.count < ContentEntry.headSize { head += bytes.prefix(ContentEntry.headSize - head.count) }
                if isCancelled() { throw ContentPackageError.cancelled }
            }
            return .success(head)
        } catch let error as ContentPackageError where error.code == .refused {
            return .failure(error)
        }
    }
}
