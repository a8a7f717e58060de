import Foundation

extension String {
    /// Whether both texts are the same bytes of UTF-8. `==` is also true of two spellings that Unicode holds
    /// equivalent.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { bytes.elementsEqual($0) }
        }.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }

    /// Feeds the bytes of UTF-8 to a hasher, so that equal means ``hasSameBytes(as:)``.
    package func hashBytes(into hasher: inout Hasher) {
        let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
        // No byte of UTF-8: it ends the text, so that what follows in the hasher is not taken for a part of it.
        hasher.combine(0xFF as UInt8)
    }

    /// Whether the text is in Unicode's normalization form C (Unicode Standard Annex #15), of which each text has one
    /// spelling.
    package var isInNormalizationFormC: Bool {
        // Below U+0300 no character combines with one before it or has another spelling.
        unicodeScalars.allSatisfy { $0.value < 0x300 } || hasSameBytes(as: precomposedStringWithCanonicalMapping)
    }
}
