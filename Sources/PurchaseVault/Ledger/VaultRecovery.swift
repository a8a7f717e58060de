import Foundation

/// Decides what to believe of a vault's file and its mark: pure, so that every case can be tried.
struct VaultRecovery: Sendable, Equatable {
    /// What was found in a place.
    enum Found<Value: Sendable & Equatable>: Sendable, Equatable {
        case absent
        /// Changed, cut off, or sealed with another key.
        case unreadable
        case read(Value)
    }

    /// The file, unsealed, with the SHA-256 of its bytes.
    struct File: Sendable, Equatable {
        var contents: VaultContents
        var digest: Data
    }

    /// How far the balances of the file may be believed.
    enum Ceiling: Sendable, Equatable {
        /// They are the newest.
        case none
        /// No further than the mark.
        case mark(VaultMark)
        /// Not at all: nobody knows what was spent since.
        case nought
    }

    /// What to go on with.
    var contents: VaultContents
    var incidents: [VaultIncident] = []
    var ceiling = Ceiling.none
    /// The number of the last file written, as far as anything says.
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
            // Opened before, and never written.
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
            // The process ended between the two writings.
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
