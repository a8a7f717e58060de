import CornerstoreEncoding
import Crypto
import Foundation
import StoreKit

/// The vault's file and its mark on disk, locked by one process at a time.
struct VaultFiles: Sendable {
    /// A step of writing a change.
    struct Step: Sendable, Equatable {
        var purpose: VaultSeal.Purpose
        var write: BoundedFile.WriteStep

        static let all = [VaultSeal.Purpose.vault, .mark].flatMap { purpose in
            BoundedFile.WriteStep.allCases.map { Step(purpose: purpose, write: $0) }
        }
    }

    let file: URL
    let markFile: URL
    private let seal: VaultSeal
    private let lock: FolderLock
    private let before: @Sendable (Step) throws -> Void

    /// Creates the folders, takes the lock, and creates a key if there is none.
    init(_ configuration: VaultConfiguration, before: @escaping @Sendable (Step) throws -> Void) throws(VaultError) {
        file = configuration.folder.appendingPathComponent("purchases.vault")
        markFile = configuration.markFolder.appendingPathComponent("purchases.mark")
        self.before = before
        do {
            for folder in [configuration.folder, configuration.markFolder] {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
            lock = try FolderLock(configuration.folder)
        } catch {
            throw VaultError(storage: error)
        }
        for folder in [configuration.folder, configuration.markFolder] { BoundedFile.removeLeftovers(in: folder) }
        let key: [UInt8]
        if let known = try configuration.keyStore.key() {
            key = known
        } else {
            key = VaultSeal.newKey()
            try configuration.keyStore.keep(key)
        }
        seal = VaultSeal(key: key, owner: "\(configuration.bundleIdentifier)\n\(configuration.environment.name)")
    }

    func release() { lock.release() }

    // MARK: Reading

    func readFile() throws(VaultError) -> VaultRecovery.Found<VaultRecovery.File> {
        switch try Self.bytes(file) {
        case .absent: return .absent
        case .unreadable: return .unreadable
        case .read(let bytes):
            guard let plain = seal.open(bytes, as: .vault),
                let contents = try? JSONDecoder().decode(VaultContents.self, from: plain), contents.isWithinLimits
            else { return .unreadable }
            return .read(VaultRecovery.File(contents: contents, digest: Self.digest(bytes)))
        }
    }

    func readMark() throws(VaultError) -> VaultRecovery.Found<VaultMark> {
        switch try Self.bytes(markFile) {
        case .absent: return .absent
        case .unreadable: return .unreadable
        case .read(let bytes):
            guard let plain = seal.open(bytes, as: .mark),
                let mark = try? JSONDecoder().decode(VaultMark.self, from: plain), mark.isWithinLimits
            else { return .unreadable }
            return .read(mark)
        }
    }

    private static func bytes(_ file: URL) throws(VaultError) -> VaultRecovery.Found<Data> {
        var status = stat()
        guard lstat(file.path, &status) == 0 else {
            guard errno == ENOENT else { throw VaultError(.storage, "cannot read \(file.path): errno \(errno)") }
            return .absent
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= VaultLimits.file else { return .unreadable }
        guard let bytes = BoundedFile.read(file, limit: VaultLimits.file) else {
            throw VaultError(.storage, "cannot read \(file.path)")
        }
        return .read(bytes)
    }

    // MARK: Writing

    /// Encrypts and writes the vault's file.
    ///
    /// - Returns: the SHA-256 of the file.
    func write(_ contents: VaultContents) throws(VaultError) -> Data {
        do {
            let sealed = try seal.seal(JSONEncoder.compact.encode(contents), as: .vault)
            guard sealed.count <= VaultLimits.file else {
                throw VaultError(
                    .tooLarge, "the vault would have \(sealed.count) bytes; the limit is \(VaultLimits.file)")
            }
            try BoundedFile.write(sealed, to: file) { try before(Step(purpose: .vault, write: $0)) }
            return Self.digest(sealed)
        } catch let error as VaultError {
            throw error
        } catch {
            throw VaultError(storage: error)
        }
    }

    func write(_ mark: VaultMark) throws(VaultError) {
        do {
            let sealed = try seal.seal(JSONEncoder.compact.encode(mark), as: .mark)
            try BoundedFile.write(sealed, to: markFile) { try before(Step(purpose: .mark, write: $0)) }
        } catch {
            throw VaultError(storage: error)
        }
    }

    /// Moves an unreadable file aside for inspection. It replaces an earlier one.
    func putAside() throws(VaultError) {
        let aside = file.appendingPathExtension("unreadable")
        try? FileManager.default.removeItem(at: aside)
        guard rename(file.path, aside.path) == 0 else {
            throw VaultError(.storage, "cannot move \(file.path) aside: errno \(errno)")
        }
    }

    private static func digest(_ bytes: Data) -> Data { Data(SHA256.hash(data: bytes)) }
}
