import Glibc

/// How many files, and so connections, the process may have open (`RLIMIT_NOFILE`).
public enum OpenFiles {
    /// The number now: the soft limit.
    public static var limit: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the soft limit to the hard one, which a process may do by itself.
    /// - Returns: the number from now on.
    @discardableResult
    public static func raise() -> Int {
        var limit = rlimit()
        if getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            // A limit that cannot be raised stays as it is.
            _ = setrlimit(resource, &limit)
        }
        return Self.limit
    }

    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
