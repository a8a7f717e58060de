import Glibc

/// Wakes a thread that waits for a descriptor.
final class Waker: Sendable {
    /// Can be read once the thread is woken.
    let descriptor: Int32
    private let end: Int32

    init() throws(DatabaseError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw DatabaseError(.unavailable, "no file descriptor is free")
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

    /// Wakes the thread for good.
    func wake() { _ = write(end, [1], 1) }

    /// Waits so many milliseconds, shorter when it is woken, and tells whether it is.
    func isWoken(within milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) > 0
    }
}
