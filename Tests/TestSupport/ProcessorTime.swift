import Glibc

/// The time that work takes of a processor. Other work of the machine does not change it.
public enum ProcessorTime {
    /// Runs `body` on this thread, and returns its time.
    public static func of(_ body: () -> Void) -> Duration {
        let start = now
        body()
        return now - start
    }

    /// The processor's time that this thread has used.
    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
