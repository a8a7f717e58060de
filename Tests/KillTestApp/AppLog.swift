import Foundation

/// What the app keeps of its own, as a game keeps its balances: a file of lines that only grows, and outlives the
/// process.
public enum AppLog {
    /// One line.
    public enum Event: Sendable, Equatable {
        case launched
        /// Right before a payment is added.
        case asked(Order)
        /// The payment was added, or the queue has told of its transaction: it is in the journal before either.
        case journaled(order: String)
        /// The queue has told of a transaction that is purchased or restored, for the first time or again.
        case delivered(transaction: String)
        /// What the customer has bought, given; written before the transaction is finished, and once for a transaction.
        case granted(transaction: String, Order)
        /// What a restore brought, likewise.
        case regranted(transaction: String, original: String, product: String)
        /// Hosted content was read at its place, and its file has this SHA-256. Right before what was bought with it is
        /// given.
        case content(transaction: String, sha256: String)
        /// `finishTransaction` has returned: the finish is in the journal.
        case finished(transaction: String)
        /// The queue has told that a transaction is finished.
        case removed(transaction: String)
        case failed(order: String, code: Int)
        /// A download failed, which no kill explains.
        case downloadFailed(transaction: String)
        case restoring
        case restored
        case restoreFailed(code: Int)
        /// The queue was empty and the app ended by itself.
        case ended
    }

    /// The events of a file; none when it is not there.
    ///
    /// - Throws: ``Damage`` for a line that is none.
    public static func read(_ file: URL) throws -> [Event] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try String(decoding: Data(contentsOf: file), as: UTF8.self)
            .split(separator: "\n")
            .map { line in
                guard let event = Event(line: line) else { throw Damage(line: String(line)) }
                return event
            }
    }

    /// A line that the app cannot have written.
    public struct Damage: Error, CustomStringConvertible {
        /// The text of the line.
        public var line: String
        /// Says which line the app cannot have written.
        public var description: String { "not a line of the app's log: \(line)" }
    }

    /// Appends to the file.
    final class Writer: Sendable {
        private let descriptor: Int32

        /// Nil when the file cannot be opened.
        init?(_ file: URL) {
            descriptor = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
        }

        /// One write, which a kill cannot tear apart or undo. It is not flushed, as an app's would be against a loss of
        /// power: nothing here takes the machine's power, and ten thousand flushes take a minute.
        func append(_ event: Event) -> Bool {
            let line = Array("\(event.line)\n".utf8)
            return write(descriptor, line, line.count) == line.count
        }

        deinit { close(descriptor) }
    }
}

extension AppLog.Event {
    var line: String {
        switch self {
        case .launched: "launched"
        case .asked(let order): "asked \(order.argument)"
        case .journaled(let order): "journaled \(order)"
        case .delivered(let transaction): "delivered \(transaction)"
        case .granted(let transaction, let order): "granted \(transaction) \(order.argument)"
        case .regranted(let transaction, let original, let product): "regranted \(transaction) \(original) \(product)"
        case .content(let transaction, let sha256): "content \(transaction) \(sha256)"
        case .finished(let transaction): "finished \(transaction)"
        case .removed(let transaction): "removed \(transaction)"
        case .failed(let order, let code): "failed \(order) \(code)"
        case .downloadFailed(let transaction): "downloadFailed \(transaction)"
        case .restoring: "restoring"
        case .restored: "restored"
        case .restoreFailed(let code): "restoreFailed \(code)"
        case .ended: "ended"
        }
    }

    init?(line: Substring) {
        let words = line.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("launched", 1): self = .launched
        case ("asked", 2):
            guard let order = Order(argument: words[1]) else { return nil }
            self = .asked(order)
        case ("journaled", 2): self = .journaled(order: words[1])
        case ("delivered", 2): self = .delivered(transaction: words[1])
        case ("granted", 3):
            guard let order = Order(argument: words[2]) else { return nil }
            self = .granted(transaction: words[1], order)
        case ("regranted", 4): self = .regranted(transaction: words[1], original: words[2], product: words[3])
        case ("content", 3): self = .content(transaction: words[1], sha256: words[2])
        case ("downloadFailed", 2): self = .downloadFailed(transaction: words[1])
        case ("finished", 2): self = .finished(transaction: words[1])
        case ("removed", 2): self = .removed(transaction: words[1])
        case ("failed", 3):
            guard let code = Int(words[2]) else { return nil }
            self = .failed(order: words[1], code: code)
        case ("restoring", 1): self = .restoring
        case ("restored", 1): self = .restored
        case ("restoreFailed", 2):
            guard let code = Int(words[1]) else { return nil }
            self = .restoreFailed(code: code)
        case ("ended", 1): self = .ended
        default: return nil
        }
    }
}
