import Crypto

/// Bytes from the system's generator, as many at once as are wanted: Swift's own generator asks the kernel for every one.
enum RandomBytes {
    static func make(_ count: Int) -> [UInt8] {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
    }
}
