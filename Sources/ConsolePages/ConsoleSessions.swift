import CornerstoreEncoding
import Crypto
import Foundation
import Synchronization

/// The sessions of people at the console. A cookie holds 32 random bytes; the server keeps their SHA-256 only.
public final class ConsoleSessions: Sendable {
    /// The time after which a session that nobody uses ends, in seconds.
    public static let idle: Double = 8 * 3600
    /// The time after which every session ends, in seconds.
    public static let lifetime: Double = 24 * 3600
    /// The largest number of sessions. The one that was not used for longest gives way to a new one.
    static let most = 1_000
    /// The largest number of messages that wait for their page.
    private static let mostMessages = 500

    private struct Session {
        var begin: Double
        var lastUse: Double
    }

    private struct State {
        var sessions: [[UInt8]: Session] = [:]
        var messages: [String: String] = [:]
        var order: [String] = []
    }

    private let state = Mutex(State())
    private let key = SymmetricKey(size: .bits256)
    private let now: @Sendable () -> Date

    /// Creates an empty table.
    /// - Parameter now: the machine's clock.
    public init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// Begins a session.
    /// - Returns: the cookie's value.
    public func begin() -> String {
        let cookie = Self.random(32)
        let time = now().timeIntervalSince1970
        state.withLock { state in
            state.sessions = state.sessions.filter { Self.isOpen($0.value, at: time) }
            if state.sessions.count >= Self.most,
                let oldest = state.sessions.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.sessions[oldest.key] = nil
            }
            state.sessions[Self.digest(cookie)] = Session(begin: time, lastUse: time)
        }
        return cookie
    }

    /// Returns whether a cookie's session is open, and restarts its idle timeout.
    public func use(_ cookie: String) -> Bool {
        let time = now().timeIntervalSince1970
        let digest = Self.digest(cookie)
        return state.withLock { state in
            guard let session = state.sessions[digest] else { return false }
            guard Self.isOpen(session, at: time) else {
                state.sessions[digest] = nil
                return false
            }
            state.sessions[digest]?.lastUse = time
            return true
        }
    }

    /// Ends a session.
    public func end(_ cookie: String) { state.withLock { $0.sessions[Self.digest(cookie)] = nil } }

    private static func isOpen(_ session: Session, at time: Double) -> Bool {
        // A clock that is set back ends no session.
        time - session.lastUse < idle && time - session.begin < lifetime
    }

    // MARK: Forms

    /// The CSRF token of a session for forms that post to `action`.
    public func token(_ cookie: String, action: String) -> String {
        Hexadecimal.encoded(HMAC<SHA256>.authenticationCode(for: Self.message(cookie, action), using: key))
    }

    /// Whether a form that was posted to `action` carries the session's token.
    public func accepts(_ token: String, _ cookie: String, action: String) -> Bool {
        guard let code = Hexadecimal.decoded(token) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: Self.message(cookie, action), using: key)
    }

    private static func message(_ cookie: String, _ action: String) -> Data {
        Data(digest(cookie)) + Data(action.utf8)
    }

    // MARK: Messages

    /// Stores a message to show on the page after a form's redirect.
    /// - Returns: the message's name in the page's address.
    public func keep(_ message: String) -> String {
        let name = Self.random(9)
        state.withLock { state in
            state.messages[name] = message
            state.order.append(name)
            if state.order.count > Self.mostMessages { state.messages[state.order.removeFirst()] = nil }
        }
        return name
    }

    /// Returns a stored message. Reading does not remove it.
    public func message(_ name: String) -> String? { state.withLock { $0.messages[name] } }

    // MARK: Bytes

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    private static func random(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.encoded((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
