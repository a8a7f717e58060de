import Crypto

/// Random bytes for secrets, from the system's generator.
enum RandomBytes {
    static func make(_ count: Int) -> [UInt8] {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
    }
}
