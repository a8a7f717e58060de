import Foundation
import Synchronization

/// A relay on a loopback port in front of a server, which can be cut and mended like a cable.
///
/// `@unchecked Sendable`: every `var` is used under `lock`.
public final class Relay: @unchecked Sendable {
    /// The port that clients connect to.
    public let port: UInt16
    private var target: UInt16
    private let listener: Int32
    private let lock = NSCondition()
    private var isCut = false
    private var isRefusing = false
    /// How many bytes of the server's still pass before the rest is held; nil for all.
    private var toPass: Int?
    private var isHolding = false
    private let sprung: AsyncStream<Void>
    private let tell: AsyncStream<Void>.Continuation
    private var pairs: [(Int32, Int32)] = []
    /// The servers' ends of connections that were cut after a request: what comes is not passed on, even once the cable
    /// is mended.
    private var unheard: Set<Int32> = []
    /// The ends of connections that went silent.
    private var silent: Set<Int32> = []
    /// What a client sends on the connections that can be silenced by themselves, and the ends of these connections.
    private var mark: (bytes: [UInt8], ends: Set<Int32>)?
    /// What a client sends on the connection that goes silent with its next request, and the client's end, once known.
    private var fuse: (bytes: [UInt8], client: Int32?)?
    /// Cuts the cable when the client, or the server, sends these bytes, before or after they have gone to the other.
    private var trap: (bytes: [UInt8], fromClient: Bool, afterForwarding: Bool)?
    /// What the server gets instead of bytes of the client's, as many.
    private var replacement: (bytes: [UInt8], others: [UInt8])?

    private struct Failure: Error { var reason = "the relay could not be set up" }

    /// Starts a relay on a free port.
    ///
    /// - Parameter target: the server's port on loopback.
    public init(to target: UInt16) throws {
        self.target = target
        (sprung, tell) = AsyncStream.makeStream(of: Void.self)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.loopback(port: 0)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) == 0 }
        }
        var length = size
        let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) == 0 }
        }
        guard isBound, isKnown, listen(listener, 16) == 0 else { throw Failure() }
        port = UInt16(bigEndian: address.sin_port)
        Thread { [self] in acceptAll() }.start()
    }

    /// Ends all connections; new ones are ended at once, as by a server that is down.
    public func cut() {
        lock.withLock {
            isCut = true
            release()
            for (one, other) in pairs {
                shutdown(one, Int32(SHUT_RDWR))
                shutdown(other, Int32(SHUT_RDWR))
            }
            pairs = []
        }
    }

    /// Carries nothing more on the connections that there are, not even their ends, as when a machine on the way is
    /// gone. New connections are carried.
    public func silence() {
        lock.withLock { silent.formUnion(pairs.flatMap { [$0.0, $0.1] }) }
    }

    /// Ends new connections at once, until the cable is mended. Those that there are stay as they are.
    public func refuse() { lock.withLock { isRefusing = true } }

    /// Keeps in mind the connections on which the client sends `text` from now on.
    public func mark(onSending text: String) {
        lock.withLock { mark = (Array(text.utf8), []) }
    }

    /// Does the same as ``silence()`` to the connections that are marked so far.
    ///
    /// - Returns: How many ends they have, two for each.
    @discardableResult public func silenceMarked() -> Int {
        lock.withLock {
            let ends = mark?.ends ?? []
            silent.formUnion(ends)
            return ends.count
        }
    }

    /// Does the same as ``silence()`` to the first connection on which the client sends `text`, once it has carried
    /// what the client sends next. A prepared statement runs, for example, and its answer is not heard.
    public func silence(afterRequestThatFollows text: String) {
        lock.withLock { fuse = (Array(text.utf8), nil) }
    }

    /// Lets through what comes from now on, and what was held.
    public func mend() {
        lock.withLock {
            (isCut, isRefusing) = (false, false)
            release()
        }
    }

    private func release() {
        (toPass, isHolding) = (nil, false)
        lock.broadcast()
    }

    /// Leads new connections to another port: the server was started again.
    public func lead(to target: UInt16) { lock.withLock { self.target = target } }

    /// Holds what the server sends once so many of its bytes have passed, until the cable is cut or mended.
    public func hold(afterReceiving count: Int) { lock.withLock { toPass = count } }

    /// Returns when what ``hold(afterReceiving:)`` or a `cut(on…:)` waits for has happened.
    public func waitUntilSprung() async {
        for await _ in sprung { return }
    }

    /// Cuts once the client has sent `text`.
    public func cut(onSending text: String, afterForwarding: Bool) {
        lock.withLock { trap = (Array(text.utf8), true, afterForwarding) }
    }

    /// Cuts when the server answers with `text`, which the client does not hear.
    public func cut(onReceiving text: String) {
        lock.withLock { trap = (Array(text.utf8), false, false) }
    }

    /// Gives the server `other`, with spaces up to the length of `text`, wherever the client sends `text`.
    public func replace(_ text: String, with other: String) {
        let spaces = [UInt8](repeating: UInt8(ascii: " "), count: max(text.utf8.count - other.utf8.count, 0))
        lock.withLock { replacement = (Array(text.utf8), Array(other.utf8) + spaces) }
    }

    /// Ends all connections and stops listening.
    public func close() {
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.loopback(port: lock.withLock { target })
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, size) == 0 }
            }
            let isUsed = lock.withLock {
                guard isConnected, !isCut, !isRefusing else { return false }
                pairs.append((client, server))
                return true
            }
            guard isUsed else {
                Foundation.close(client)
                Foundation.close(server)
                continue
            }
            Thread { [self] in copy(from: client, to: server, isClient: true) }.start()
            Thread { [self] in copy(from: server, to: client, isClient: false) }.start()
        }
        Foundation.close(listener)
    }

    private func copy(from source: Int32, to destination: Int32, isClient: Bool) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(source, &buffer, buffer.count)
            if lock.withLock({ silent.contains(source) }) {
                if count > 0 { continue } else { return }
            }
            guard count > 0 else { break }
            if isClient {
                replaceBytes(of: &buffer, count)
                markIfDue(buffer[..<count], source, destination)
                silenceIfDue(buffer[..<count], source, destination)
                let isForwarded = springTrap(buffer[..<count], isClient: true, server: destination)
                if isForwarded == false { break }
                // Cut by another connection. One that is to be cut after its request goes on until the server has
                // answered, since a request may come in several pieces.
                if isForwarded == nil, lock.withLock({ isCut && !unheard.contains(destination) }) { break }
                guard send(destination, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
            } else {
                holdIfDue(count)
                _ = springTrap(buffer[..<count], isClient: false, server: source)
                guard !lock.withLock({ isCut || unheard.contains(source) }),
                    send(destination, buffer, count, Int32(MSG_NOSIGNAL)) == count
                else { break }
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(destination, Int32(SHUT_RDWR))
    }

    private func replaceBytes(of buffer: inout [UInt8], _ count: Int) {
        guard let replacement = lock.withLock({ self.replacement }), count >= replacement.bytes.count else { return }
        for start in 0...(count - replacement.bytes.count) {
            let range = start..<(start + replacement.bytes.count)
            guard buffer[range].elementsEqual(replacement.bytes) else { continue }
            buffer.replaceSubrange(range, with: replacement.others)
        }
    }

    private func markIfDue(_ bytes: ArraySlice<UInt8>, _ client: Int32, _ server: Int32) {
        lock.withLock {
            guard let text = mark?.bytes, Self.has(bytes, text) else { return }
            mark?.ends.formUnion([client, server])
        }
    }

    /// Called before the bytes are carried on.
    private func silenceIfDue(_ bytes: ArraySlice<UInt8>, _ client: Int32, _ server: Int32) {
        lock.withLock {
            guard let fuse else { return }
            if fuse.client == client {
                silent.formUnion([client, server])
                self.fuse = nil
            } else if fuse.client == nil, Self.has(bytes, fuse.bytes) {
                self.fuse?.client = client
            }
        }
    }

    private static func has(_ bytes: ArraySlice<UInt8>, _ text: [UInt8]) -> Bool {
        guard bytes.count >= text.count else { return false }
        return (bytes.startIndex...(bytes.endIndex - text.count)).contains {
            bytes[$0..<($0 + text.count)].elementsEqual(text)
        }
    }

    private func holdIfDue(_ count: Int) {
        lock.lock()
        defer { lock.unlock() }
        guard let left = toPass else { return }
        toPass = max(0, left - count)
        guard left <= count else { return }
        if !isHolding { tell.yield() }
        isHolding = true
        while isHolding { lock.wait() }
    }

    /// Whether the bytes hold what the trap waits for: nil if not, else whether they are to be forwarded first.
    private func springTrap(_ bytes: ArraySlice<UInt8>, isClient: Bool, server: Int32) -> Bool? {
        lock.withLock {
            guard let trap, trap.fromClient == isClient, Self.has(bytes, trap.bytes) else { return nil }
            self.trap = nil
            isCut = true
            if trap.afterForwarding { unheard.insert(server) }
            tell.yield()
            return trap.afterForwarding
        }
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
