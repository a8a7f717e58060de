/// One thing that is wrong in a catalog file, and what to do about it.
public struct CatalogProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file as it was named.
    public var file: String
    /// From 1; nil when the problem has no place in the file.
    public var line: Int?
    /// From 1, in characters.
    public var column: Int?
    /// Where in the document, `products[2].displayPrice`; empty for the whole.
    public var keyPath: String
    /// What is wrong, and what to do.
    public var message: String

    /// Creates a problem.
    public init(file: String, line: Int?, column: Int?, keyPath: String, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.keyPath = keyPath
        self.message = message
    }

    /// `Flare.storekit:12:21: products[0].displayPrice: "abc" is not a price; …`
    public var description: String {
        let place = [file] + [line, column].compactMap { $0.map(String.init) }
        return ([place.joined(separator: ":")] + (keyPath.isEmpty ? [] : [keyPath]) + [message]).joined(separator: ": ")
    }
}

/// Why a catalog could not be taken in: all problems that were found, not only the first.
public struct CatalogError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The file is not there or cannot be read.
        case unreadable
        /// A file, a list or a text is larger than a catalog may be.
        case tooLarge
        /// Not JSON, not YAML, or what a catalog does not use of them.
        case syntax
        /// The file is well-formed, and says something that cannot be.
        case invalid
        /// Two files or entries describe the same app.
        case duplicateApp
    }

    /// The kind of the first failure.
    public var code: Code
    /// Never empty; in the order of the file.
    public var problems: [CatalogProblem]

    /// Creates an error.
    public init(code: Code, problems: [CatalogProblem]) {
        self.code = code
        self.problems = problems
    }

    /// One line a problem.
    public var detail: String { problems.map(\.description).joined(separator: "\n") }

    /// The same text as ``detail``.
    public var description: String { detail }
}
