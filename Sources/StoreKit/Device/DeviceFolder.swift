import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// The device's folder: the device's identifiers, and the files of its apps and accounts.
struct DeviceFolder: Sendable {
    let url: URL
    /// The device identifier that the store receives. It is created once.
    let deviceID: UUID
    /// `identifierForVendor`, which is part of the receipt's device hash. All apps of the device have the same.
    let vendorIdentifier: UUID

    /// Opens the folder, and creates it and the identifiers if they do not exist.
    init(_ url: URL) throws {
        self.url = url
        try Self.makeFolder(url)
        deviceID = try Self.identifier(in: url.appendingPathComponent("device-id"))
        vendorIdentifier = try Self.identifier(in: url.appendingPathComponent("vendor-id"))
    }

    /// The file of the accounts at one store. Each store address has its own file, so that a token is only sent to the
    /// store that issued it.
    func accountFile(of store: URL) throws -> URL {
        let folder = url.appendingPathComponent("accounts", isDirectory: true)
        try Self.makeFolder(folder)
        let port = store.port ?? (store.scheme == "https" ? 443 : 80)
        // Stores may differ in the path alone. Addresses without one keep the name of earlier versions.
        let path = store.path.split(separator: "/").map { "/\($0)" }.joined()
        return folder.appendingPathComponent(
            Self.fileName("\(store.scheme ?? "")_\(store.host ?? "")_\(port)\(path)") + ".json")
    }

    /// The folder of one app. It is created if it does not exist.
    func bundleFolder(of bundleID: BundleID) throws -> URL {
        let apps = url.appendingPathComponent("apps", isDirectory: true)
        try Self.makeFolder(apps)
        let folder = apps.appendingPathComponent(Self.fileName(bundleID.rawValue), isDirectory: true)
        try Self.makeFolder(folder)
        return folder
    }

    /// The folder of an app's caches, whose files can be downloaded again. It is created if it does not exist.
    func cachesFolder(of bundleID: BundleID) throws -> URL {
        let folder = try bundleFolder(of: bundleID).appendingPathComponent("caches", isDirectory: true)
        try Self.makeFolder(folder)
        return folder
    }

    /// The location of the app's receipt. Its folder may not exist yet.
    static func receiptURL(device: URL, bundleID: BundleID, environment: StoreEnvironment) -> URL {
        device.appendingPathComponent("apps/\(fileName(bundleID.rawValue))", isDirectory: true)
            .appendingPathComponent(environment == .sandbox ? "sandboxReceipt" : "receipt")
    }

    /// A safe file name for any text. It percent-encodes all characters except letters, digits, `-`, `_` and dots that
    /// are not the first character. A name that would be longer than 200 bytes ends in the text's SHA-256 instead, so
    /// that two long texts never share a file, and every file system accepts the name.
    static func fileName(_ text: String) -> String {
        let name = text.utf8.percentEncodedFileName(.lower)
        guard name.utf8.count > 200 else { return name }
        return name.prefix(120) + "-" + Hexadecimal.encoded(SHA256.hash(data: Data(text.utf8)))
    }

    /// Creates a folder for this user alone, with the folders above it.
    static func makeFolder(_ url: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw DeviceError(code: .folderUnusable, detail: "cannot create \(url.path): \(error.localizedDescription)")
        }
    }

    /// Reads the UUID in `file`, or creates one. Of two processes that do so at once, the first to link its file wins,
    /// and both return the same UUID.
    private static func identifier(in file: URL) throws -> UUID {
        if let known = read(file) { return known }
        let made = UUID()
        let temporary = file.appendingPathExtension(made.uuidString)
        try BoundedFile.write(Data((made.uuidString + "\n").utf8), to: temporary)
        defer { unlink(temporary.path) }
        if link(temporary.path, file.path) == 0 { return made }
        if errno == EEXIST, let known = read(file) { return known }
        throw DeviceError(
            code: .folderUnusable,
            detail:
                "\(file.path) does not hold a UUID; restore it from a backup, or remove it to make this a new device")
    }

    private static func read(_ file: URL) -> UUID? {
        BoundedFile.read(file, limit: 128).flatMap {
            UUID(uuidString: String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }
}
