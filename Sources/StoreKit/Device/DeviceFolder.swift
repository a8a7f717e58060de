import Foundation
import StoreWire

/// The device's folder: who the device is, and where its apps and accounts keep their files.
struct DeviceFolder: Sendable {
    let url: URL
    /// The device's id towards the store, made once.
    let deviceID: UUID
    /// `identifierForVendor`: bound into the receipt's device hash. One for all apps of the device.
    let vendorIdentifier: UUID

    /// Opens the folder, making what is not there yet.
    init(_ url: URL) throws {
        self.url = url
        try Self.makeFolder(url)
        deviceID = try Self.identifier(in: url.appendingPathComponent("device-id"))
        vendorIdentifier = try Self.identifier(in: url.appendingPathComponent("vendor-id"))
    }

    /// The file of the accounts at one store. Another address is another file: a token is never shown to a store that
    /// did not give it.
    func accountFile(of store: URL) throws -> URL {
        let folder = url.appendingPathComponent("accounts", isDirectory: true)
        try Self.makeFolder(folder)
        let port = store.port ?? (store.scheme == "https" ? 443 : 80)
        return folder.appendingPathComponent(
            Self.fileName("\(store.scheme ?? "")_\(store.host ?? "")_\(port)") + ".json")
    }

    /// The folder of one app, made when it is not there.
    func bundleFolder(of bundleID: BundleID) throws -> URL {
        let apps = url.appendingPathComponent("apps", isDirectory: true)
        try Self.makeFolder(apps)
        let folder = apps.appendingPathComponent(Self.fileName(bundleID.rawValue), isDirectory: true)
        try Self.makeFolder(folder)
        return folder
    }

    /// The folder of an app's caches, made when it is not there: all in it can be had again.
    func cachesFolder(of bundleID: BundleID) throws -> URL {
        let folder = try bundleFolder(of: bundleID).appendingPathComponent("caches", isDirectory: true)
        try Self.makeFolder(folder)
        return folder
    }

    /// Where the app's receipt lies; the folder need not be there yet.
    static func receiptURL(device: URL, bundleID: BundleID, environment: StoreEnvironment) -> URL {
        device.appendingPathComponent("apps/\(fileName(bundleID.rawValue))", isDirectory: true)
            .appendingPathComponent(environment == .sandbox ? "sandboxReceipt" : "receipt")
    }

    /// A name that stays inside its folder whatever the text: other characters than letters, digits, `-`, `_` and
    /// inner dots are encoded.
    static func fileName(_ text: String) -> String {
        let name = text.utf8.prefix(200).enumerated().map { index, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: String(UnicodeScalar(byte))
            case 0x2E where index > 0: "."
            default: "%" + String(byte, radix: 16)
            }
        }
        return name.joined()
    }

    private static func makeFolder(_ url: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw DeviceError(code: .folderUnusable, detail: "cannot make \(url.path): \(error.localizedDescription)")
        }
    }

    /// Reads the UUID in `file`, or makes one. Two processes at once end with the same: whoever links first wins.
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
