import Foundation
import Synchronization

/// Where a command prints. Commands take it from ``current``, so that tests can read what they say.
struct Console: Sendable {
    enum Stream: Sendable {
        case output
        case error
    }

    /// Writes text as it stands.
    var write: @Sendable (String, Stream) -> Void
    /// Whether standard output is shown to a person.
    var isTerminal: Bool
    /// Whether standard error is, where progress is shown.
    var showsProgress: Bool
    /// Whether to use colour.
    var style: Style
    var environment: [String: String]

    /// A console that swallows everything; commands run inside ``Cornerstore/run(_:on:)``, which sets another.
    @TaskLocal static var current = Console(
        write: { _, _ in }, isTerminal: false, showsProgress: false, style: Style(isColored: false), environment: [:])

    /// The process's own. Colour only on a terminal that has it, and never when `NO_COLOR` is set (no-color.org).
    static func standard(_ environment: [String: String]) -> Console {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isDumb = environment["TERM"] == "dumb"
        let isRefused = !(environment["NO_COLOR"] ?? "").isEmpty
        return Console(
            write: { text, stream in descriptors.write(text, stream == .output ? STDOUT_FILENO : STDERR_FILENO) },
            isTerminal: isTerminal, showsProgress: isatty(STDERR_FILENO) == 1 && !isDumb,
            style: Style(isColored: isTerminal && !isDumb && !isRefused), environment: environment)
    }

    private static let descriptors = Descriptors()

    /// A line.
    func print(_ line: String, to stream: Stream = .output) { write(line + "\n", stream) }

    /// An error, on standard error.
    func complain(_ text: String) { print("cornerstore: \(text)", to: .error) }

    /// A remark for a person that is no part of the result, on standard error.
    func remark(_ text: String) { print(text, to: .error) }

    /// Prints a result: as one JSON document when asked for, else as text.
    func report(_ value: some Encodable, json: Bool, _ text: (Style) -> String) throws {
        guard json else {
            let text = text(style)
            if !text.isEmpty { print(text) }
            return
        }
        print(String(decoding: try Self.json(value), as: UTF8.self))
    }

    static func json(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }
}

/// Writes whole texts, one at a time; whoever closed the other end does not stop the program.
private final class Descriptors: Sendable {
    private let lock = Mutex(())

    func write(_ text: String, _ descriptor: Int32) {
        lock.withLock { _ in
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                bytes = bytes.dropFirst(count)
            }
        }
    }
}
