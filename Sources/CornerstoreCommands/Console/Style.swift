import Foundation

/// Text styles: ANSI escape sequences on a terminal, plain text elsewhere.
struct Style: Sendable {
    var isColored: Bool

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func good(_ text: String) -> String { wrap(text, "32") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    func accent(_ text: String) -> String { wrap(text, "36") }

    private func wrap(_ text: String, _ code: String) -> String {
        isColored && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    /// Removes control characters from external text, because they could change what the terminal shows.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: CharacterSet.controlCharacters.contains) else { return text }
        return String(
            String.UnicodeScalarView(text.unicodeScalars.filter { !CharacterSet.controlCharacters.contains($0) }))
    }
}
