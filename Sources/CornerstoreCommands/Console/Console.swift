import CornerstoreEncoding
import Foundation
import Synchronization

/// The output streams and environment of a command. Commands use ``current``, so that tests can capture the output.
struct Console: Sendable {
    enum Stream: Sendable {
        case output
        case error
    }

    /// Writes text unchanged to a stream.
    var write: @Sendable (String, Stream) -> Void
    /// Whether standard output is a terminal.
    var isTerminal: Bool
    /// Whether standard error is a terminal that can show progress.
    var showsProgress: Bool
    /// The text styles, with or without color.
    var style: Style
    var environment: [String: String]

    /// The console of the running command. The default discards all output; ``Cornerstore/run(_:on:)`` sets another.
    @TaskLocal static var current = Console(
        write: { _, _ in }, isTerminal: false, showsProgress: false, style: Style(isColored: false), environment: [:])

    /// Returns the process's console. It uses color only on a terminal that supports it, and never when `NO_COLOR` is
    /// set (no-color.org).
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

    /// Prints a line.
    func print(_ line: String, to stream: Stream = .output) { write(line + "\n", stream) }

    /// Prints an error message on standard error.
    func complain(_ text: String) { print("cornerstore: \(text)", to: .error) }

    /// Prints a note for a person on standard error. Notes are not part of the result.
    func remark(_ text: String) { print(text, to: .error) }

    /// Prints a result, as one JSON document or as text.
    func report(_ value: some Encodable, json: Bool, _ text: (Style) -> String) throws {
        guard json else {
            let text = text(style)
            if !text.isEmpty { print(text) }
            return
        }
        print(String(decoding: try Self.json(value), as: UTF8.self))
    }

    static func json(_ value: some Encodable) throws -> Data { try JSONEncoder.readable.encode(value) }
}

/// Writes whole texts to file descriptors, one at a time. A closed reader does not end the program.
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
