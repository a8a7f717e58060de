import ArgumentParser

/// A text in a language, written `LOCALE=TEXT`.
struct LocalText: ExpressibleByArgument {
    var locale: String
    var text: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
        locale = String(argument[..<sign])
        text = String(argument[argument.index(after: sign)...])
    }
}
