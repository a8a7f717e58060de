import Foundation
import Glibc

/// A bare TCP connection on loopback, for what no decent client or server would send.
public final class RawConnection {
    /// A system call that failed, and its `errno`.
    public struct Failure: Error { var call: String, code: Int32 }

    private let descriptor: Int32

    /// - Parameter receiving: how many bytes the system keeps of what is not read; nil for what it likes.
    /// - Throws: ``Failure``.
    public init(port: UInt16, receiving: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        Self.setTimeouts(descriptor)
        if var receiving {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiving, socklen_t(MemoryLayout<Int32>.size))
        }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // What was initialised is deinitialised when this throws, and closed there, once.
        guard result == 0 else { throw Failure(call: "connect", code: errno) }
    }

    /// Uses the descriptor of a connection that a server has accepted, and closes it in the end.
    public init(accepted descriptor: Int32) {
        self.descriptor = descriptor
        Self.setTimeouts(descriptor)
    }

    deinit { close(descriptor) }

    private static func setTimeouts(_ descriptor: Int32) {
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    /// False when the other end has closed.
    @discardableResult
    public func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Sends all bytes. Returns false when the other end has closed.
    @discardableResult
    public func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Sends the end, and goes on listening.
    public func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Whether something can be read within so many milliseconds.
    public func isReadable(within milliseconds: Int32) -> Bool { isReady(for: POLLIN, within: milliseconds) }

    /// Whether something can be written within so many milliseconds.
    public func isWritable(within milliseconds: Int32) -> Bool { isReady(for: POLLOUT, within: milliseconds) }

    private func isReady(for event: Int32, within milliseconds: Int32) -> Bool {
        var poller = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&poller, 1, milliseconds) > 0
    }

    /// Reads until the text holds `end`, or the other end closes.
    public func read(until end: String = "\r\n\r\n") -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !String(decoding: bytes, as: UTF8.self).contains(end) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[0..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether all was read and the other end has closed.
    public var isAtEnd: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) == 0
    }

    /// Reads to the end, and gives how many bytes came.
    public func readToEnd() -> Int { read(.max) }

    /// Reads so many bytes, fewer only at the end, and gives how many came.
    public func read(_ most: Int) -> Int {
        var total = 0
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while total < most, case let count = recv(descriptor, &buffer, min(buffer.count, most - total), 0), count > 0 {
            total += count
        }
        return total
    }

    /// Runs blocking calls away from Swift's own threads.
    public static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
