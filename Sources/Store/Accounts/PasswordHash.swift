import Crypto
import CryptoExtras
import Foundation

/// The cost of hashing a password: parameter N of scrypt (RFC 7914), with r = 8 and p = 1.
public struct PasswordCost: Sendable, Equatable {
    /// N, a power of two above 1.
    public var rounds: Int

    /// N = 16384, which takes about 50 ms and 16 MiB.
    public static let standard = PasswordCost(rounds: 16_384)

    /// The lowest cost that an operator may choose, for test runs.
    public static let lowest = 16
    /// The highest cost that an operator may choose, which takes 128 MiB for each hash.
    public static let highest = 131_072

    /// Creates a cost.
    public init(rounds: Int) { self.rounds = rounds }

    /// Creates a cost that an operator chose; nil unless it is a power of two from ``lowest`` to ``highest``.
    public init?(checking rounds: Int) {
        guard (Self.lowest...Self.highest).contains(rounds), rounds & (rounds - 1) == 0 else { return nil }
        self.rounds = rounds
    }
}

/// The scrypt hash (RFC 7914) of a password, with its salt.
struct PasswordHash: Sendable, Equatable {
    var salt: [UInt8]
    var hash: [UInt8]
    var rounds: Int

    /// Hashes a new password.
    /// - Throws: the errors of ``PasswordWork/run(for:_:)``.
    static func make(
        _ password: String, cost: PasswordCost, by work: PasswordWork, for source: PasswordSource
    ) async throws -> PasswordHash {
        let salt = RandomBytes.make(16)
        let hash = try await derive(password, salt: salt, rounds: cost.rounds, work, source)
        return PasswordHash(salt: salt, hash: hash, rounds: cost.rounds)
    }

    /// Restores a stored hash.
    init(salt: [UInt8], hash: [UInt8], rounds: Int) {
        self.salt = salt
        self.hash = hash
        self.rounds = rounds
    }

    /// Whether the hash is of this password. Compares in constant time.
    /// - Throws: the errors of ``PasswordWork/run(for:_:)``.
    func matches(_ password: String, by work: PasswordWork, for source: PasswordSource) async throws -> Bool {
        ConstantTime.equal(try await Self.derive(password, salt: salt, rounds: rounds, work, source), hash)
    }

    private static func derive(
        _ password: String, salt: [UInt8], rounds: Int, _ work: PasswordWork, _ source: PasswordSource
    ) async throws -> [UInt8] {
        try await work.run(for: source) {
            try KDF.Scrypt.deriveKey(
                from: Data(password.utf8), salt: salt, outputByteCount: 32, rounds: rounds, blockSize: 8,
                parallelism: 1
            ).withUnsafeBytes { Array($0) }
        }
    }
}

/// Comparison whose duration does not depend on where the values differ.
enum ConstantTime {
    static func equal(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
