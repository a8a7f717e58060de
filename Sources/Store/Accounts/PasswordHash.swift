import Crypto
import CryptoExtras
import Foundation

/// A password under scrypt (RFC 7914) with its own salt. N = 16384, r = 8, p = 1 takes about 50 ms and 16 MiB.
struct PasswordHash: Sendable, Equatable {
    static let rounds = 16_384

    var salt: [UInt8]
    var hash: [UInt8]
    var rounds: Int

    /// Hashes a new password.
    static func make(_ password: String) async throws -> PasswordHash {
        let salt = RandomBytes.make(16)
        return PasswordHash(salt: salt, hash: try await derive(password, salt: salt, rounds: rounds), rounds: rounds)
    }

    /// As it was kept.
    init(salt: [UInt8], hash: [UInt8], rounds: Int) {
        self.salt = salt
        self.hash = hash
        self.rounds = rounds
    }

    /// Whether it is the password, compared in constant time.
    func matches(_ password: String) async throws -> Bool {
        ConstantTime.equal(try await Self.derive(password, salt: salt, rounds: rounds), hash)
    }

    /// One derivation at a time, away from the threads that serve requests: a flood of sign-ins must not stop the store.
    private static let queue = DispatchQueue(label: "cornerstore.password", qos: .utility)

    private static func derive(_ password: String, salt: [UInt8], rounds: Int) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        try KDF.Scrypt.deriveKey(
                            from: Data(password.utf8), salt: salt, outputByteCount: 32, rounds: rounds, blockSize: 8,
                            parallelism: 1
                        ).withUnsafeBytes { Array($0) }
                    })
            }
        }
    }
}

/// Comparison that takes as long whether or not it finds a difference.
enum ConstantTime {
    static func equal(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
