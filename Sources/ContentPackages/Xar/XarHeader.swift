/// The first bytes of a xar archive. All numbers are big-endian. (The format is as bsdtar writes it and 7-Zip reads
/// it.)
struct XarHeader: Equatable {
    static let magic: [UInt8] = Array("xar!".utf8)
    /// The size of a written header, without the name of a checksum.
    static let size = 28
    /// The size of the largest header that is read, with the name of a checksum.
    static let largestSize = 28 + 64

    /// The size of the header in bytes.
    var headerSize: Int
    /// The packed size of the table of contents in bytes.
    var tableLength: Int64
    /// The unpacked size of the table of contents in bytes.
    var unpackedTableLength: Int64
    /// The algorithm of the table's checksum; nil when the number is unknown and only the table can say it.
    var style: ChecksumStyle?

    /// The start of the heap, from which all offsets of the table count.
    var heapStart: Int64 { Int64(headerSize) + tableLength }

    /// - Parameters:
    ///   - bytes: the first ``largestSize`` bytes of the file, or all bytes of a smaller file.
    ///   - fileLength: the size of the file in bytes.
    init(_ bytes: [UInt8], fileLength: Int64, limits: ContentLimits) throws {
        guard bytes.starts(with: Self.magic) else {
            throw ContentPackageError.damaged(.format, "The file is not a xar archive.")
        }
        guard bytes.count >= Self.size else {
            throw ContentPackageError.damaged(.format, "The file ends within its header.")
        }
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        headerSize = Int(number(4..<6))
        // The version (bytes 6 and 7) is 1, or 0 in some writers; neither changes anything.
        guard headerSize >= Self.size, headerSize <= Self.largestSize, headerSize <= bytes.count else {
            throw ContentPackageError.damaged(
                .format, "The header states an invalid size for itself: \(headerSize) bytes.")
        }
        let (packed, unpacked) = (number(8..<16), number(16..<24))
        guard packed <= UInt64(limits.tableBytes), unpacked <= UInt64(limits.unpackedTableBytes) else {
            throw ContentPackageError.damaged(
                .table, "The table of contents has \(packed) bytes, \(unpacked) unpacked, which exceeds the limit.")
        }
        guard packed > 0, unpacked > 0 else {
            throw ContentPackageError.damaged(.table, "The table of contents is empty.")
        }
        tableLength = Int64(packed)
        unpackedTableLength = Int64(unpacked)
        style = Self.style(number(24..<28), name: bytes[Self.size..<headerSize])
        guard heapStart <= fileLength else {
            throw ContentPackageError.damaged(.format, "The file ends within its table of contents.")
        }
    }

    /// Creates the header of a packed table. The table names SHA-256 as its checksum, and the header names none:
    /// libarchive, and therefore bsdtar, opens no archive whose header names another checksum than MD5 or SHA-1.
    init(tableLength: Int, unpackedTableLength: Int) {
        headerSize = Self.size
        self.tableLength = Int64(tableLength)
        self.unpackedTableLength = Int64(unpackedTableLength)
        style = ChecksumStyle.none
    }

    /// The bytes of the header.
    var bytes: [UInt8] {
        func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
        return Self.magic + bigEndian(UInt16(headerSize)) + bigEndian(UInt16(1)) + bigEndian(UInt64(tableLength))
            + bigEndian(UInt64(unpackedTableLength)) + bigEndian(UInt32(0))
    }

    /// Sources disagree about 3: to Apple's tools and 7-Zip it means SHA-256, to the original xar a name that follows
    /// the header.
    private static func style(_ number: UInt64, name: ArraySlice<UInt8>) -> ChecksumStyle? {
        switch number {
        case 0: ChecksumStyle.none
        case 1: .sha1
        case 2: .md5
        case 3 where !name.isEmpty:
            ChecksumStyle(style: String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
        case 3: .sha256
        case 4: .sha512
        default: nil
        }
    }
}
