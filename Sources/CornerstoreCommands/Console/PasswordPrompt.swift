import Foundation

/// Gets a password from a file, or from a person at the terminal, who does not see it.
enum PasswordPrompt {
    private static let limit = 4096

    /// - Parameters:
    ///   - file: holds the password in its first line; `-` is standard input. Nil asks on the terminal.
    ///   - whose: for the question.
    /// - Throws: ``CommandError`` when there is none to be had.
    static func password(file: String?, whose: String) throws -> String {
        if let file { return try line(of: BoundedInput.read(file, limit: limit, what: "password"), file) }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                .usage, "There is no terminal to ask for the password of \(whose) on; name a file with --password-file."
            )
        }
        let console = Console.current
        console.write("Password of \(Style.printable(whose)): ", .error)
        let password = hiddenLine()
        console.write("\n", .error)
        guard let password, !password.isEmpty else { throw CommandError(.usage, "No password was given for \(whose).") }
        return password
    }

    private static func line(of bytes: [UInt8], _ file: String) throws -> String {
        let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
        guard let line, !line.isEmpty else { throw CommandError(.usage, "The password file \(file) is empty.") }
        return line
    }

    private static func hiddenLine() -> String? {
        var saved = termios()
        guard tcgetattr(STDIN_FILENO, &saved) == 0 else { return readLine() }
        var silent = saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved) }
        return readLine()
    }
}
