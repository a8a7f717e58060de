import Foundation

/// Folders that are named on the command line.
enum ContentPlaces {
    /// The folder, which has to be there.
    static func folder(_ path: String) throws -> URL {
        let url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw CommandError(.failed, "There is no folder \(path).")
        }
        guard isFolder.boolValue else {
            throw CommandError(.failed, "\(path) is a file; name the folder to build from.")
        }
        return url
    }

    /// All plain files below the folder together, in bytes; for showing how far something is.
    static func size(of folder: URL) throws -> Int64 {
        guard
            let files = FileManager.default.enumerator(
                at: folder, includingPropertiesForKeys: [.fileSizeKey, .isRegularFileKey])
        else { return 0 }
        var total: Int64 = 0
        for case let file as URL in files {
            let values = try? file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
            if values?.isRegularFile == true { total += Int64(values?.fileSize ?? 0) }
        }
        return total
    }
}

/// Shows on a terminal how much is done: once a second and a last time at the end, which leaves the line empty.
final class ContentMeter {
    private let text: String
    private let total: Int64
    private let console: Console
    private var next = ContinuousClock.now + .seconds(1)
    private var isShown = false

    init(_ text: String, total: Int64, _ console: Console) {
        self.text = Style.printable(text)
        self.total = total
        self.console = console
    }

    func show(_ done: Int64) {
        guard console.showsProgress, ContinuousClock.now >= next else { return }
        next = ContinuousClock.now + .milliseconds(250)
        isShown = true
        let percent = total > 0 ? min(100, done * 100 / total) : 0
        console.write("\r\(text) \(percent) %", .error)
    }

    func end() {
        if isShown { console.write("\r\u{1B}[K", .error) }
    }
}
