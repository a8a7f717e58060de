import Foundation

/// Reads a password from a file, or asks for it on the terminal without showing it.
enum PasswordPrompt {
    private static let limit = 4096

    /// Returns the password.
    /// - Parameters:
    ///   - file: a file with the password in its first line; `-` is standard input. Nil asks on the terminal.
    ///   - whose: the account's name, for the prompt and error messages.
    /// - Throws: ``CommandError`` when no password is given.
    static func password(file: String?, whose: String) throws -> String {
        if let file { return try line(of: BoundedInput.read(file, limit: limit, what: "password"), file) }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                .usage, "Cannot ask for the password of \(whose) without a terminal. Give a file with --password-file."
            )
        }
        let console = Console.current
        console.write("Password of \(Style.printable(whose)): ", .error)
        let password = hiddenLine()
        console.write("\n", .error)
        guard let password, !password.isEmpty else { throw CommandError(.usage, "No password given for \(whose).") }
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
