import Crypto
import Foundation
import Glibc
import Logging
import ServiceLifecycle

/// Checks the file of token keys once a second and loads a changed one, so that keys are rotated while the server runs.
/// A file that is invalid or missing leaves the old keys in use, and the log names the problem.
struct TokenKeyReload: Service {
    /// The properties by which a changed file is recognized without reading it.
    private struct Stamp: Equatable {
        var device: UInt64
        var number: UInt64
        var size: Int64
        /// The times of the last change of the bytes and of the mode or name, in nanoseconds since 1970.
        var times: [Int64]

        /// Reads the stamp of the file that a path leads to: a mounted secret is a symbolic link. Returns nil when
        /// there is none.
        init?(_ file: URL) {
            var status = stat()
            guard stat(file.path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
            size = Int64(status.st_size)
            times = [status.st_mtim, status.st_ctim].map { Int64($0.tv_sec) * 1_000_000_000 + Int64($0.tv_nsec) }
        }

        /// Whether the file may change without a change of its stamp: the clocks of file systems advance in steps.
        func isYoung(at now: Date) -> Bool {
            times.contains { abs(now.timeIntervalSince1970 - Double($0) / 1_000_000_000) < 2 }
        }
    }

    private enum State {
        case good
        /// The file was invalid at one check. It may only be half written, and is logged when it is still invalid at
        /// the next.
        case suspicious
        case reported
    }

    private let file: URL
    private let tokens: UserTokens
    private let logger: Logger
    private let now: @Sendable () -> Date
    private var digest: SHA256.Digest?
    private var stamp: Stamp?
    /// Whether to read the file at the next check in any case.
    private var isUnsure = true
    private var state = State.good

    /// - Parameters:
    ///   - file: the file that `keySet` was read from.
    ///   - tokens: the tokens that use the keys of `keySet`.
    ///   - now: the machine's clock.
    init(
        _ file: URL, _ keySet: TokenKeySet, _ tokens: UserTokens, now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        self.file = file
        self.tokens = tokens
        self.now = now
        self.logger = logger
        digest = keySet.digest
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reload = self
            while (try? await Task.sleep(for: .seconds(1))) != nil { await reload.look() }
        }
    }

    /// Loads the file if it changed since the last check, or was invalid then.
    mutating func look() async {
        let seen = Stamp(file)
        let isSame = seen == stamp
        // An invalid file is read again at each check, since the reason may have passed.
        guard !isSame || isUnsure || state != .good else { return }
        stamp = seen
        isUnsure = seen?.isYoung(at: now()) ?? false
        do {
            let keySet = try await TokenKeySet.read(file)
            if keySet.digest != digest || state == .reported {
                try tokens.replace(with: keySet)
                digest = keySet.digest
                logger.notice(
                    "keys of users' tokens reloaded",
                    metadata: ["keys": .string(keySet.keys.map(\.id).joined(separator: ", "))])
            }
            state = .good
        } catch {
            guard isSame else {
                state = .suspicious
                return
            }
            guard state != .reported else { return }
            state = .reported
            logger.error(
                "keys of users' tokens not reloaded, the old ones stay in use",
                metadata: ["problem": .string(String(describing: error))])
        }
    }
}
