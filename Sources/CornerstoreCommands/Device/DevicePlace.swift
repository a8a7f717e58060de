import Foundation

/// Checks the folder given with `--device` before it is used, so that a misspelt path does not become a new device.
enum DevicePlace {
    /// Returns the folder of an existing device.
    /// - Throws: ``CommandError`` `failed` when the folder contains no device.
    static func existing(_ path: String) throws -> URL {
        let folder = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        guard isDevice(folder) else {
            throw CommandError(
                .failed,
                "There is no device in \(folder.path): it contains no file device-id. An app creates its device when it first runs. “cornerstore "
                    + "buy” and “cornerstore restore” create one in the folder given with --device.")
        }
        return folder
    }

    /// Returns the error for an account that has no device in the store's data directory.
    static func missing(of email: String, in data: URL) -> CommandError {
        CommandError(
            .failed,
            "\(Style.printable(email)) has no device in \(data.path). Create it with “cornerstore buy --account” or “cornerstore restore --account”."
        )
    }

    /// Returns the folder of an existing device, or a path where a device can be created: an empty folder or an unused
    /// path.
    /// - Throws: ``CommandError`` `failed` when the folder contains other files.
    static func usable(_ path: String) throws -> URL {
        let folder = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        guard FileManager.default.fileExists(atPath: folder.path), !isDevice(folder) else { return folder }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path), names.isEmpty else {
            throw CommandError(
                .failed,
                "\(folder.path) is not a device and not empty. Give --device the folder of a device, or an empty or new folder."
            )
        }
        return folder
    }

    /// Returns whether the folder contains a device's files.
    static func isDevice(_ folder: URL) -> Bool {
        ["device-id", "restrictions.json"].contains {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent($0).path)
        }
    }
}
