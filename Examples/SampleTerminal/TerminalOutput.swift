import Foundation

/// Prints a sample app's lines. In a terminal, the line of a running download overwrites the one before it.
public struct TerminalOutput {
    /// Whether standard output is a terminal.
    public let isTerminal = isatty(STDOUT_FILENO) == 1
    private var isProgressShown = false
    /// The last line printed for each download, so that it is not repeated.
    private var shown: [String: String] = [:]

    /// Creates the output.
    public init() {}

    /// Prints a line, below a download's line if one is shown.
    public mutating func say(_ line: String) {
        if isProgressShown { print() }
        isProgressShown = false
        print(line)
    }

    /// Prints the progress of a download, unless the line is the same as before.
    public mutating func show(_ line: String, of download: String) {
        guard shown.updateValue(line, forKey: download) != line else { return }
        guard isTerminal else { return print(line) }
        print("\r\(line)\u{1B}[K", terminator: "")
        isProgressShown = true
        fflush(nil)
    }

    /// Prints an error of a program on standard error.
    public static func complain(_ text: String, from program: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(program): \(text)\n".utf8))
    }

    /// Ends the process as if it were killed, with exit code 9. Unlike `exit()`, this runs no cleanup.
    public static func crash() -> Never {
        fflush(nil)
        _exit(9)
    }
}
