import Foundation

extension String {
    /// Whether both texts consist of the same UTF-8 bytes. `==` also accepts two different spellings that Unicode
    /// treats as canonically equivalent.
    @usableFromInline
    package func hasSameBytes(as other: String) -> Bool {
        let count = utf8.count
        guard count == other.utf8.count else { return false }
        return utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right -> Bool in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return memcmp(left, right, count) == 0
            }
        }.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }

    /// Feeds the UTF-8 bytes to a hasher, consistently with ``hasSameBytes(as:)``.
    @usableFromInline
    package func hashBytes(into hasher: inout Hasher) {
        let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
        // 0xFF never occurs in UTF-8. It marks the end of the text, so that the hasher does not confuse the text with
        // the value after it.
        hasher.combine(0xFF as UInt8)
    }

    /// Whether the text is in Unicode's normalization form C (Unicode Standard Annex #15), which has one spelling for
    /// each text.
    package var isInNormalizationFormC: Bool {
        // No character below U+0300 combines with the one before it or has another spelling.
        unicodeScalars.allSatisfy { $0.value < 0x300 } || hasSameBytes(as: precomposedStringWithCanonicalMapping)
    }
}
