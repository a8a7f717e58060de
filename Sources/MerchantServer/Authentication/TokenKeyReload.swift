import Crypto
import Foundation
import Glibc
import Logging
import ServiceLifecycle

/// Looks once a second whether the file of token keys changed, and takes it in, so that keys are rotated while the server runs. A file that is bad, or
/// gone, leaves the old keys in place and is told of in the log.
struct TokenKeyReload: Service {
    /// What tells one state of a file from another without reading it.
    private struct Stamp: Equatable {
        var device: UInt64
        var number: UInt64
        var size: Int64
        /// When its bytes changed, and when its mode or name did, in nanoseconds since 1970.
        var times: [Int64]

        /// Of the file that a path leads to: a mounted secret is a symbolic link. Nil when there is none.
        init?(_ file: URL) {
            var status = stat()
            guard stat(file.path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
            size = Int64(status.st_size)
            times = [status.st_mtim, status.st_ctim].map { Int64($0.tv_sec) * 1_000_000_000 + Int64($0.tv_nsec) }
        }

        /// Whether the file could still change without the stamp's showing it: the clocks of file systems go in steps.
        func isYoung(at now: Date) -> Bool {
            times.contains { abs(now.timeIntervalSince1970 - Double($0) / 1_000_000_000) < 2 }
        }
    }

    private enum State {
        case good
        /// It was bad at one look. It may only be half written: it is told of when it is as bad at the next.
        case suspicious
        case toldOf
    }

    private let file: URL
    private let tokens: UserTokens
    private let logger: Logger
    private let now: @Sendable () -> Date
    private var digest: SHA256.Digest?
    private var stamp: Stamp?
    /// Whether it is read at the next look in any case.
    private var isUnsure = true
    private var state = State.good

    /// - Parameters:
    ///   - file: where `keySet` was read.
    ///   - tokens: has the keys of `keySet`.
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

    /// Takes the file in if it changed since the last look, or was not good then.
    mutating func look() async {
        let seen = Stamp(file)
        let isSame = seen == stamp
        // What could not be read for a reason of the moment is read once that has passed.
        guard !isSame || isUnsure || state != .good else { return }
        stamp = seen
        isUnsure = seen?.isYoung(at: now()) ?? false
        do {
            let keySet = try await TokenKeySet.read(file)
            if keySet.digest != digest || state == .toldOf {
                try tokens.replace(with: keySet)
                digest = keySet.digest
                logger.notice(
                    "keys of users' tokens taken in again",
                    metadata: ["keys": .string(keySet.keys.map(\.id).joined(separator: ", "))])
            }
            state = .good
        } catch {
            guard isSame else {
                state = .suspicious
                return
            }
            guard state != .toldOf else { return }
            state = .toldOf
            logger.error(
                "keys of users' tokens not taken in, the old ones stay",
                metadata: ["problem": .string(String(describing: error))])
        }
    }
}
