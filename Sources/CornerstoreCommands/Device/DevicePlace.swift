import Foundation

/// The folder that `--device` names, looked at before anything is made in it: a misspelt path is not to become a device.
enum DevicePlace {
    /// A device that is there.
    /// - Throws: ``CommandError`` `failed` when it is not.
    static func existing(_ path: String) throws -> URL {
        let folder = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        guard isDevice(folder) else {
            throw CommandError(
                .failed,
                "There is no device in \(folder.path): no file device-id is there. An app makes its device when it first runs, and “cornerstore "
                    + "buy” and “cornerstore restore” make one where --device says.")
        }
        return folder
    }

    /// Why an account's device in the store's data directory cannot be used.
    static func missing(of email: String, in data: URL) -> CommandError {
        CommandError(
            .failed,
            "\(Style.printable(email)) has no device in \(data.path). “cornerstore buy --account” and “cornerstore restore --account” make it."
        )
    }

    /// A device that is there, or a place where one can be made: nothing, or an empty folder.
    /// - Throws: ``CommandError`` `failed` when something else is there.
    static func usable(_ path: String) throws -> URL {
        let folder = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        guard FileManager.default.fileExists(atPath: folder.path), !isDevice(folder) else { return folder }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path), names.isEmpty else {
            throw CommandError(
                .failed,
                "\(folder.path) is no device and not empty; --device names a device's folder, or one to make.")
        }
        return folder
    }

    /// Whether a device's own files are there.
    static func isDevice(_ folder: URL) -> Bool {
        ["device-id", "restrictions.json"].contains {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent($0).path)
        }
    }
}
