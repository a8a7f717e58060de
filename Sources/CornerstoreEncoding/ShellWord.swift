extension String {
    /// The text as one word of a POSIX shell: in single quotes, unless no character of it has a meaning there.
    package var shellWord: String {
        utf8.allSatisfy { ASCIICharacters.alphanumeric.adding("-_.@:/+=,").contains($0) } && !isEmpty
            ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}
