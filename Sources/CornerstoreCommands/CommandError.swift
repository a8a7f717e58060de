/// Why a command did not do what it was asked.
struct CommandError: Error, Equatable {
    enum Code: String, Sendable {
        /// The store, or what was checked, said no.
        case refused
        /// It could not be done.
        case failed
        /// The command was called wrongly.
        case usage
    }

    var code: Code
    /// One plain sentence: what, where, and what to do. Never a secret.
    var detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}
