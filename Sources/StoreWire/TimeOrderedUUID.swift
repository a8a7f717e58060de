import Foundation

extension UUID {
    /// Creates a UUID of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, followed by random bits. Keys that
    /// are made one after another are neighbours in the store's index, so that a purchase touches as few pages among a
    /// million as among a thousand.
    ///
    /// - Parameters:
    ///   - date: the time that the UUID carries.
    ///   - chance: a UUID of version 4 that supplies the random bits.
    public init(timeOrdered date: Date, chance: UUID) {
        let milliseconds = UInt64(max(0, min(date.timeIntervalSince1970 * 1000, 281_474_976_710_655)))
        func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: milliseconds >> shift) }
        let bits = chance.uuid
        self.init(
            uuid: (
                byte(40), byte(32), byte(24), byte(16), byte(8), byte(0), bits.6 & 0x0F | 0x70, bits.7, bits.8, bits.9,
                bits.10, bits.11, bits.12, bits.13, bits.14, bits.15
            ))
    }
}
