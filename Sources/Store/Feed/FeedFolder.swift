import Foundation
import Glibc

/// The folder of the feeds. A build is a folder in it that appears whole, by a rename, and never changes.
struct FeedFolder {
    let url: URL
    /// The builds that are complete, oldest first.
    private(set) var builds: [FeedBuild] = []

    /// The most full feeds that are kept. Partners may still load the last but one.
    static let mostFull = 2
    /// The most incremental feeds that are kept of a full one.
    static let mostIncremental = 14
    /// The largest manifest, in bytes.
    private static let largestManifest = 4 << 20
    private static let prefix = "building-"

    /// Opens the folder, creates it when it is missing, and removes what interrupted builds left.
    init(_ url: URL) throws {
        self.url = url
        try FeedFile.makeFolder(url.path)
        let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        let numbered = names.compactMap { name in Self.number(name).map { (number: $0, name: name) } }
        builds = Self.kept(try numbered.sorted { $0.number < $1.number }.compactMap { try load($0.name) })
        removeOthers()
    }

    /// The last full feed; nil without one.
    var current: FeedBuild? { builds.last { $0.mode == .full } }

    /// The incremental feeds of a full one, oldest first.
    func incrementals(of full: FeedBuild) -> [FeedBuild] { builds.filter { $0.manifest.base == full.name } }

    /// The place of a file of a build.
    func location(_ build: FeedBuild, _ path: String) -> URL {
        url.appendingPathComponent(build.name).appendingPathComponent(path)
    }

    /// The folder for a new build, which does not exist.
    func place() -> URL { url.appendingPathComponent("\(Self.prefix)\(getpid())-\(UUID().uuidString.prefix(8))") }

    /// Builds a feed beside the others. A failure leaves nothing.
    /// - Parameters:
    ///   - previous: the full feed that an incremental one is based on.
    ///   - readers: connections to the index.
    mutating func build(
        _ order: FeedOrder, _ previous: FeedBuild?, readers: [ItemIndex.Reader], sales: [FeedSales], workers: Int,
        onStep: @escaping @Sendable (FeedStep) throws -> Void, isStopped: @escaping @Sendable () throws -> Void
    ) throws -> FeedBuild {
        let place = place()
        do {
            let digests = try previous.map {
                ($0.name, try FeedDigests(file: location($0, FeedManifest.digestsName).path))
            }
            let builder = FeedBuilder(
                order: order, folder: place, readers: readers, sales: sales, previous: digests, workers: workers,
                onStep: onStep, isStopped: isStopped)
            return try publish(place, try builder.build())
        } catch {
            // A full disk gets its room back.
            try? FileManager.default.removeItem(at: place)
            throw error
        }
    }

    /// Gives a build its name, at which it is complete, and removes the builds that it replaces.
    mutating func publish(_ place: URL, _ manifest: FeedManifest) throws -> FeedBuild {
        let number = (builds.last.flatMap { Self.number($0.name) } ?? 0) + 1
        let name = "\(manifest.mode.rawValue)-\(manifest.feedDay)-\(number)"
        let target = url.appendingPathComponent(name)
        guard rename(place.path, target.path) == 0 else { throw FeedFile.failure(target.path) }
        try FeedFile.flushFolder(url.path)
        let build = FeedBuild(name: name, manifest: manifest)
        builds = Self.kept(builds + [build])
        removeOthers()
        return build
    }

    /// Removes everything but the builds. A later call removes files that cannot be removed now.
    private func removeOthers() {
        let kept = Set(builds.map(\.name))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] where !kept.contains(name) {
            try? FileManager.default.removeItem(at: url.appendingPathComponent(name))
        }
    }

    /// The builds to keep: the last full feeds of different days, and their incremental feeds of different days.
    static func kept(_ builds: [FeedBuild]) -> [FeedBuild] {
        func newest(_ builds: [FeedBuild], _ most: Int) -> Set<String> {
            var days: Set<FeedDay> = []
            return Set(builds.reversed().filter { days.insert($0.day).inserted }.prefix(most).map(\.name))
        }
        var names = newest(builds.filter { $0.mode == .full }, mostFull)
        for full in names {
            names.formUnion(newest(builds.filter { $0.manifest.base == full }, mostIncremental))
        }
        return builds.filter { names.contains($0.name) }
    }

    /// The number at the end of a build's name; nil for other names.
    private static func number(_ name: String) -> Int? {
        let parts = name.split(separator: "-")
        guard parts.count == 3, FeedMode(rawValue: String(parts[0])) != nil, FeedDay(String(parts[1])) != nil else {
            return nil
        }
        return Int(parts[2])
    }

    /// A build with all its files; nil when a file is missing or damaged.
    /// - Throws: ``StoreError`` when the files cannot be read now, so that a build is not taken for damaged.
    private func load(_ name: String) throws -> FeedBuild? {
        let folder = url.appendingPathComponent(name)
        let file = folder.appendingPathComponent(FeedManifest.fileName)
        guard let length = try Self.length(file), length <= Self.largestManifest else { return nil }
        var data = Data()
        try readFeedFile(file.path) { data.append(contentsOf: $0) }
        guard let manifest = try? JSONDecoder().decode(FeedManifest.self, from: data),
            manifest.version == FeedManifest.currentVersion,
            try manifest.files.allSatisfy({ try Self.length(folder.appendingPathComponent($0.path)) == $0.length })
        else { return nil }
        return FeedBuild(name: name, manifest: manifest)
    }

    /// A file's length; nil when there is no such file.
    private static func length(_ file: URL) throws -> Int64? {
        var status = stat()
        guard lstat(file.path, &status) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw FeedFile.failure(file.path) }
            return nil
        }
        return status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
    }
}
