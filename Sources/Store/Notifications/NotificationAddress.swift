/// An address that notifications may be sent to: `https`, or `http` on this machine.
///
/// One strict grammar reads it, and requests use ``text``, so that no other reader of URLs can find another host in it.
public struct NotificationAddress: Sendable, Hashable {
    /// The most bytes of an address.
    public static let longest = 2_048

    /// The scheme, the host and the port, in lower case and without the scheme's usual port: `https://example.com`.
    public let origin: String
    /// The path and the query. It begins with a slash.
    public let target: String

    /// The whole address.
    public var text: String { origin + target }

    /// Reads an absolute address without its fragment. Returns nil for another scheme, a user name or a password, a
    /// malformed host or port, characters outside visible ASCII, and for `http` to another machine.
    public init?(_ text: String) { self.init(text, isTrusted: false) }

    /// Reads an address.
    /// - Parameter isTrusted: whether `http` may lead to another name than a loopback one.
    init?(_ text: String, isTrusted: Bool) {
        guard text.utf8.count <= Self.longest,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }),
            let separator = text.firstRange(of: "://")
        else { return nil }
        let scheme = text[..<separator.lowerBound].lowercased()
        let rest = text[separator.upperBound...].prefix { $0 != "#" }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let (host, port) = Self.place(rest[..<end]),
            scheme == "https" || scheme == "http" && (isTrusted || Self.isLoopback(host))
        else { return nil }
        let isUsual = port == nil || port == (scheme == "https" ? 443 : 80)
        origin = "\(scheme)://\(host)" + (isUsual ? "" : port.map { ":\($0)" } ?? "")
        let path = String(rest[end...])
        target = path.hasPrefix("/") ? path : "/" + path
    }

    /// The address that the `Location` of an answer leads to (RFC 9110, section 10.2.2). Nil when it is malformed or an
    /// address that ``init(_:)`` refuses. Dot segments stay as they are.
    public func redirected(to location: String) -> NotificationAddress? {
        guard let first = location.first else { return nil }
        if location.hasPrefix("//") { return NotificationAddress(String(origin.prefix { $0 != "/" }) + location) }
        let path = target.prefix { $0 != "?" }
        switch first {
        case "/": return NotificationAddress("\(origin)\(location)")
        case "?": return NotificationAddress("\(origin)\(path)\(location)")
        case "#": return self
        default: break
        }
        let head = location.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if head.contains(":") { return NotificationAddress(location) }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        return NotificationAddress("\(origin)\(folder)\(location)")
    }

    /// The host in lower case, and the port, of the part between `://` and the path.
    private static func place(_ authority: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[...close]
            let address = host.dropFirst().dropLast()
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                return nil
            }
        } else {
            host = authority.prefix { $0 != ":" }
            guard (1...253).contains(host.utf8.count),
                host.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." || $0 == "_" })
            else { return nil }
        }
        let rest = authority[host.endIndex...]
        guard !rest.isEmpty else { return (host.lowercased(), nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.allSatisfy(\.isNumber), let port = Int(digits), (1...65_535).contains(port)
        else { return nil }
        return (host.lowercased(), port)
    }

    /// Whether a host is an address of this machine. A host name that begins with 127 may resolve to any address.
    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }
}
