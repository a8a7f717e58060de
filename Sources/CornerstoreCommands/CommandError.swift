/// The reason why a command failed.
struct CommandError: Error, Equatable {
    enum Code: String, Sendable {
        /// The store refused the request, or the checked item is not valid.
        case refused
        /// The command could not complete.
        case failed
        /// The arguments are wrong.
        case usage
    }

    var code: Code
    /// A message that says what was wrong, where, and what to do. It never contains a secret.
    var detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}
