/// A problem in a catalog file, with advice.
public struct CatalogProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file's name, as the caller gave it.
    public var file: String
    /// The line, from 1; nil when the problem concerns no place in the file.
    public var line: Int?
    /// The column in characters, from 1; nil when the problem concerns no place in the file.
    public var column: Int?
    /// The path in the document, such as `products[2].displayPrice`; empty for the whole file.
    public var keyPath: String
    /// The problem, and how to fix it.
    public var message: String

    /// Creates a problem.
    public init(file: String, line: Int?, column: Int?, keyPath: String, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.keyPath = keyPath
        self.message = message
    }

    /// One line, such as `Flare.storekit:12:21: products[0].displayPrice: "abc" is not a price; …`.
    public var description: String {
        let place = [file] + [line, column].compactMap { $0.map(String.init) }
        return ([place.joined(separator: ":")] + (keyPath.isEmpty ? [] : [keyPath]) + [message]).joined(separator: ": ")
    }
}

/// The reason why a catalog could not be loaded, with all problems that were found.
public struct CatalogError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The file does not exist or cannot be read.
        case unreadable
        /// A file, a list or a text exceeds its limit.
        case tooLarge
        /// The file is not valid JSON or YAML, or uses a feature that catalogs do not allow.
        case syntax
        /// The file is well-formed but has invalid contents.
        case invalid
        /// Two files or entries describe the same app.
        case duplicateApp
    }

    /// The kind of the first failure.
    public var code: Code
    /// The problems in the order of the file. Never empty.
    public var problems: [CatalogProblem]

    /// Creates an error.
    public init(code: Code, problems: [CatalogProblem]) {
        self.code = code
        self.problems = problems
    }

    /// The problems, one on each line.
    public var detail: String { problems.map(\.description).joined(separator: "\n") }

    /// The same text as ``detail``.
    public var description: String { detail }
}
