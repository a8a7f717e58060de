import Foundation

extension Section {
    /// Building and unpacking hosted content against bsdtar on the same files, and the check of a package of 10,000
    /// files.
    static let packages = Section(name: "packages") { setting in
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let check = try checked(folder)
        guard
            let bsdtar = ["/usr/bin/bsdtar", "/usr/local/bin/bsdtar"].first(where: FileManager.default.isExecutableFile)
        else {
            print("  bsdtar is not installed (Debian: libarchive-tools); nothing to compare with")
            return check
        }
        return try compared(folder, URL(filePath: bsdtar), setting) + check
    }

    private static func compared(_ folder: URL, _ bsdtar: URL, _ setting: Setting) throws -> [Figure] {
        let source = folder.appending(path: "source")
        var tree = try ContentTree(at: source)
        let count = try tree.fill(bytes: setting.contentMebibytes << 20)
        let (ours, theirs) = (folder.appending(path: "ours.pkg"), folder.appending(path: "theirs.xar"))
        let unpacked = folder.appending(path: "unpacked")
        var times: (build: [Double], tarBuild: [Double], unpack: [Double], tarUnpack: [Double], durable: [Double]) =
            ([], [], [], [], [])
        var memory: (build: Double, unpack: Double, tar: Double) = (0, 0, 0)
        for _ in 0..<min(3, setting.rounds) {
            // Flush the disk, so that one tool does not wait for the writes of the other.
            sync()
            try? FileManager.default.removeItem(at: theirs)
            let tar = try ProgramRun.run(
                bsdtar, ["-cf", theirs.path, "--format=xar", "ContentInfo.plist", "Contents"], in: source)
            times.tarBuild.append(tar.seconds)
            sync()
            let build = try PackageProcess.found(.build, source, ours)
            times.build.append(build.seconds)
            try FileManager.default.createDirectory(at: unpacked, withIntermediateDirectories: false)
            sync()
            let tarUnpack = try ProgramRun.run(bsdtar, ["-xf", theirs.path], in: unpacked)
            times.tarUnpack.append(tarUnpack.seconds)
            try FileManager.default.removeItem(at: unpacked)
            sync()
            let unpack = try PackageProcess.found(.unpack, ours, unpacked)
            times.unpack.append(unpack.seconds)
            try FileManager.default.removeItem(at: unpacked)
            sync()
            times.durable.append(try PackageProcess.found(.unpackDurably, ours, unpacked).seconds)
            try FileManager.default.removeItem(at: unpacked)
            memory = (
                max(memory.build, build.mebibytes), max(memory.unpack, unpack.mebibytes),
                max(memory.tar, tar.mebibytes, tarUnpack.mebibytes)
            )
        }
        let mebibytes = Double(setting.contentMebibytes)
        func rate(_ seconds: [Double]) -> String { Figure.format(mebibytes / Rate.median(seconds)) }
        func size(_ file: URL) throws -> Int {
            try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
        }
        print("  \(count) files, \(setting.contentMebibytes) MiB; MiB a second: ours, bsdtar's")
        print("  build   \(rate(times.build))  \(rate(times.tarBuild))")
        print("  unpack  \(rate(times.unpack))  \(rate(times.tarUnpack))")
        print("  unpack until it is on the disk, as downloads do  \(rate(times.durable))")
        print("  packed to \(try size(ours) >> 20) MiB and \(try size(theirs) >> 20) MiB")
        print(
            String(
                format: "  memory: %.0f MiB to build, %.0f MiB to unpack, bsdtar %.0f MiB", memory.build, memory.unpack,
                memory.tar))
        return [
            .contentBuildOverBsdtar(Rate.median(times.tarBuild) / Rate.median(times.build)),
            .contentUnpackOverBsdtar(Rate.median(times.tarUnpack) / Rate.median(times.unpack)),
            .contentMemory(max(memory.build, memory.unpack)),
        ]
    }

    private static func checked(_ folder: URL) throws -> [Figure] {
        let (source, file) = (folder.appending(path: "many"), folder.appending(path: "many.pkg"))
        var tree = try ContentTree(at: source)
        try tree.fill(files: 10_000)
        let built = try PackageProcess.found(.build, source, file)
        var found: [PackageProcess.Found] = []
        for _ in 0..<3 { found.append(try PackageProcess.found(.check, file, file)) }
        let seconds = Rate.median(found.map(\.seconds))
        let memory = found.map(\.mebibytes).max() ?? .nan
        print(
            String(
                format: "  10,000 files: built in %.2f s (%.0f MiB), checked in %.3f s (%.0f MiB)", built.seconds,
                built.mebibytes, seconds, memory))
        return [.contentCheckSeconds(seconds)]
    }
}

extension Figure {
    /// Rate of building a package over bsdtar's of an archive in the same format, with the same level of zlib.
    static func contentBuildOverBsdtar(_ value: Double) -> Figure {
        Figure(name: "content-build-over-bsdtar", value: value, goal: .atLeast(1))
    }
    /// Rate of unpacking it over bsdtar's of its own archive.
    static func contentUnpackOverBsdtar(_ value: Double) -> Figure {
        Figure(name: "content-unpack-over-bsdtar", value: value, goal: .atLeast(1))
    }
    /// The highest resident memory while building or unpacking.
    static func contentMemory(_ value: Double) -> Figure {
        Figure(name: "content-memory-mib", value: value, goal: .atMost(64))
    }
    /// Seconds to check a package of 10,000 small files.
    static func contentCheckSeconds(_ value: Double) -> Figure {
        Figure(name: "content-check-10k-seconds", value: value, goal: .atMost(1))
    }
}
