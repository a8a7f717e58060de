import Foundation

/// Decides how far a vault's file and its mark can be trusted. It is a pure function, so that tests can cover every
/// case.
struct VaultRecovery: Sendable, Equatable {
    /// The result of reading a file.
    enum Found<Value: Sendable & Equatable>: Sendable, Equatable {
        case absent
        /// The file was changed, truncated, or encrypted with another key.
        case unreadable
        case read(Value)
    }

    /// The decrypted file, with the SHA-256 of its bytes.
    struct File: Sendable, Equatable {
        var contents: VaultContents
        var digest: Data
    }

    /// The upper limit of the balances in the file.
    enum Ceiling: Sendable, Equatable {
        /// The balances are current.
        case none
        /// The balances in the mark are the limit.
        case mark(VaultMark)
        /// The balances are zero, because later spends are unknown.
        case nought
    }

    /// The contents to use.
    var contents: VaultContents
    var incidents: [VaultIncident] = []
    var ceiling = Ceiling.none
    /// The highest generation in the file and the mark.
    var lastGeneration: Int
    /// Whether file and mark must be written before the vault is used.
    var mustWrite = false

    init(file: Found<File>, mark: Found<VaultMark>, device: UUID) {
        switch (file, mark) {
        case (.read(let file), .read(let mark)):
            contents = file.contents
            lastGeneration = max(file.contents.generation, mark.generation)
            judge(file, mark)
        case (.read(let file), .absent), (.read(let file), .unreadable):
            contents = file.contents
            lastGeneration = file.contents.generation
            incidents = [.unmarked]
            ceiling = .nought
            mustWrite = true
        case (.absent, .read(let mark)) where mark.generation == 0:
            // The vault was opened before, but never written.
            contents = VaultContents(device: device)
            lastGeneration = 0
        case (.absent, .read(let mark)), (.unreadable, .read(let mark)):
            contents = VaultContents(device: device)
            lastGeneration = mark.generation
            incidents = [file == .absent ? .missing : .unreadable]
            ceiling = .mark(mark)
            mustWrite = true
        case (.unreadable, .absent), (.unreadable, .unreadable):
            contents = VaultContents(device: device)
            lastGeneration = 0
            incidents = [.unreadable, .unmarked]
            mustWrite = true
        case (.absent, .unreadable):
            contents = VaultContents(device: device)
            lastGeneration = 0
            incidents = [.unmarked]
            mustWrite = true
        case (.absent, .absent):
            contents = VaultContents(device: device)
            lastGeneration = 0
            mustWrite = true
        }
    }

    private mutating func judge(_ file: File, _ mark: VaultMark) {
        let number = file.contents.generation
        if number == mark.generation, file.digest == mark.digest { return }
        mustWrite = true
        if number == mark.generation + 1, file.contents.previous == mark.digest {
            // The process ended between writing the file and writing the mark.
            return
        }
        if number > mark.generation {
            incidents = [.markRolledBack]
        } else {
            incidents = [.rolledBack(generation: number, last: mark.generation)]
            ceiling = .mark(mark)
        }
    }
}
