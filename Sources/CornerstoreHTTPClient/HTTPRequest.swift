import Foundation

/// A request. It is sent over HTTP/1.1, once.
package struct HTTPRequest: Sendable {
    /// The address, an `http` or `https` URL without user name and password.
    package var url: String
    /// The method, such as `GET`; in upper case. `HEAD` is not supported.
    package var method: String
    /// The header fields. `Host`, `Content-Length` and `Connection` are set by the client.
    package private(set) var fields: [(name: String, value: String)] = []
    /// The body; nil for a request without one.
    package var body: Data?
    /// Whether the request has a connection of its own, which is closed afterwards. A kept one may be closed by the
    /// server at the moment of the request, which then fails.
    package var hasOwnConnection = false
    /// The times that the exchange may take.
    package var limits: HTTPLimits

    /// Creates a request.
    package init(_ method: String = "GET", _ url: String, limits: HTTPLimits = HTTPLimits()) {
        self.method = method
        self.url = url
        self.limits = limits
    }

    /// Adds a header field.
    package mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

    /// Whether the request can be sent as it is. Anything that could end a line early could add fields or requests.
    var isValid: Bool {
        guard url.prefixMatch(of: /(?i)https?:\/\/[^\/?#]/) != nil, url.utf8.count <= 1 << 16,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
            !method.isEmpty, method != "HEAD", method.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
        else { return false }
        return fields.count <= 100
            && fields.allSatisfy { name, value in
                !name.isEmpty && name.utf8.allSatisfy(\.isTokenCharacter) && value.utf8.count <= 1 << 16
                    && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            }
    }
}

/// The times that an exchange may take.
package struct HTTPLimits: Sendable {
    /// The time for looking up the name and connecting, TLS included.
    package var connect: Duration
    /// The time without a byte in either direction. It does not pass while the caller has not taken the bytes that
    /// arrived.
    package var silence: Duration
    /// The time until the head of the response is complete.
    package var head: Duration
    /// The time until the response is complete; nil for no limit.
    package var whole: Duration?

    /// Creates limits. The default values suit downloads, which may take long.
    package init(
        connect: Duration = .seconds(10), silence: Duration = .seconds(30), head: Duration = .seconds(60),
        whole: Duration? = nil
    ) {
        self.connect = connect
        self.silence = silence
        self.head = head
        self.whole = whole
    }
}

extension UInt8 {
    /// A character of a token (RFC 9110, 5.6.2), such as a field's name.
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}
