import BlobStorage
import ContentPackages
import Foundation

/// What looking at a package gave: the one place that asks `ContentPackages`.
enum ContentInspection {
    /// What the store records of a package that is in order.
    struct Package: Sendable {
        var version: ContentVersion
        var unpackedLength: Int64
    }

    /// Looks at one package after the other on a thread of its own, since each takes a processor and its share of memory.
    private static let queue = DispatchQueue(label: "cornerstore.content.check")

    /// - Parameter above: the highest version that was ever approved.
    /// - Returns: the package, or everything that is wrong with it.
    static func inspect(
        _ file: URL, for product: ContentProduct, above: ContentVersion?
    ) async throws -> Result<Package, Findings> {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try look(file, product, above) }) }
        }
    }

    struct Findings: Error {
        var all: [UploadFinding]
    }

    private static func look(
        _ file: URL, _ product: ContentProduct, _ above: ContentVersion?
    ) throws -> Result<Package, Findings> {
        // Until packages can be read: a file that begins with its version stands for one.
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        let head = String(decoding: try handle.read(upToCount: 64) ?? Data(), as: UTF8.self)
        guard let version = ContentVersion(head.prefix { $0 != "\n" }) else {
            return .failure(
                Findings(all: [
                    UploadFinding(
                        rule: "package", path: nil, message: "The file is no package.", advice: "Build it.")
                ]))
        }
        if let above, version <= above {
            return .failure(
                Findings(all: [
                    UploadFinding(
                        rule: "version", path: "ContentInfo.plist", message: "Version \(above) was live.",
                        advice: "Give a higher ContentVersion.")
                ]))
        }
        return .success(Package(version: version, unpackedLength: Int64(try handle.seekToEnd())))
    }
}
