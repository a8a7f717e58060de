import CornerstoreEncoding

/// An address of this machine to which a payment sheet's page returns: `http` or `https`, then `127.0.0.1`, `localhost`
/// or a name under `localhost`.
///
/// A redirect to another machine would let whoever posts a sheet lead people anywhere. `[::1]` is refused, because a
/// `Content-Security-Policy` cannot name it.
struct ReturnAddress: Sendable, Equatable {
    /// The whole address.
    let text: String
    /// The scheme, host and port, as a `Content-Security-Policy` names them.
    let origin: String

    /// The longest address, in bytes.
    static let most = 1000

    private static let pathCharacters = ASCIICharacters.pathSegment.adding("/?%")
    private static let labelCharacters = ASCIICharacters.alphanumeric.adding("-")

    /// Reads an address. Returns nil for one of another machine, or with anything that browsers could read in another
    /// way, such as a user name or a backslash.
    init?(_ text: String) {
        guard text.utf8.count <= Self.most,
            let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) })
        else { return nil }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard rest.dropFirst(authority.count).utf8.allSatisfy({ Self.pathCharacters.contains($0) }) else { return nil }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, Self.isLoopback(host), parts.count <= 2 else { return nil }
        if parts.count == 2 {
            let isDigits = parts[1].utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard isDigits, let port = UInt16(parts[1]), port > 0 else { return nil }
        }
        self.text = text
        origin = scheme + authority
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard
            labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { labelCharacters.contains($0) } })
        else { return false }
        return host == "127.0.0.1" || labels.last == "localhost"
    }
}
