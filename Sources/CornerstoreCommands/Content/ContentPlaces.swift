import Foundation

/// Folders given on the command line.
enum ContentPlaces {
    /// Returns the URL of an existing folder.
    /// - Throws: ``CommandError`` when the folder does not exist or is a file.
    static func folder(_ path: String) throws -> URL {
        let url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw CommandError(.failed, "The folder \(path) does not exist.")
        }
        guard isFolder.boolValue else {
            throw CommandError(.failed, "\(path) is a file. Give the folder to build from.")
        }
        return url
    }

    /// Returns the size of all regular files below the folder in bytes. It is used to show progress.
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

/// Shows a percentage on a terminal: first after a second, then every 250 ms. ``end()`` clears the line.
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
