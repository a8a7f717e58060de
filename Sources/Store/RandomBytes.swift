import Crypto

/// Random bytes from the system's generator, read in one call. Swift's own generator asks the kernel for each number.
enum RandomBytes {
    static func make(_ count: Int) -> [UInt8] {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
    }
}
