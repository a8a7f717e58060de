import Glibc

/// The limit on the process's open files, and so on its connections (`RLIMIT_NOFILE`).
public enum OpenFiles {
    /// The current soft limit.
    public static var limit: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the soft limit to the hard limit, which needs no privilege.
    /// - Returns: the new soft limit.
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
