import Glibc

/// Wakes a thread that waits for a descriptor.
final class Waker: Sendable {
    /// A descriptor that can be read after ``wake()``.
    let descriptor: Int32
    private let end: Int32

    init() throws(DatabaseError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw DatabaseError(.unavailable, "no file descriptor is free; raise the process's limit of open files")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, end) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(end)
    }

    /// Wakes the thread. Later waits return at once, until ``clear()``.
    func wake() { _ = write(end, [1], 1) }

    /// Forgets the calls of ``wake()`` until now.
    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) == bytes.count {}
    }

    /// Waits for ``wake()``, at most `milliseconds`, and returns whether it was called.
    func isWoken(within milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) > 0
    }
}
