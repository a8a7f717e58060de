import Crypto

/// A xar archive with a table of contents that has been read and matches its checksum.
struct XarArchive: Sendable {
    let file: ReadableFile
    let heapStart: Int64
    let table: XarTable
    /// The range of the table's checksum in the heap.
    let checksumRange: Range<Int64>

    var heapLength: Int64 { file.length - heapStart }

    /// Opens an archive.
    /// - Throws: ``ContentPackageError``; with one finding when the file is not an archive, or its table is damaged.
    init(_ file: ReadableFile, limits: ContentLimits) throws {
        let header = try XarHeader(
            try file.read(XarHeader.largestSize, at: 0), fileLength: file.length, limits: limits)
        let packed = try file.read(Int(header.tableLength), at: Int64(header.headerSize))
        guard packed.count == header.tableLength else {
            throw ContentPackageError.damaged(.format, "The file ends within its table of contents.")
        }
        let xml = try Self.unpack(packed, length: Int(header.unpackedTableLength))
        let table = try XarTableReader.read(xml, limits: limits)
        self.file = file
        self.table = table
        heapStart = header.heapStart
        checksumRange = try Self.verify(table.checksum, of: packed, header, file)
    }

    private static func unpack(_ packed: [UInt8], length: Int) throws -> [UInt8] {
        let inflater = try Inflater(.zlib)
        // One byte more than the expected length, to detect a longer table.
        let xml = try [UInt8](unsafeUninitializedCapacity: length + 1) { buffer, filled in
            let output = UnsafeMutableRawBufferPointer(buffer)
            try packed.withUnsafeBytes { input in
                do {
                    let step = try inflater.step(input, into: output)
                    guard step.isAtEnd, step.consumed == input.count, step.produced == length else {
                        throw ContentPackageError.damaged(
                            .table, "The table of contents does not have the length that the header states.")
                    }
                    filled = step.produced
                } catch is Inflater.Damage {
                    throw ContentPackageError.damaged(.table, "The table of contents cannot be unpacked.")
                }
            }
        }
        return xml
    }

    /// Compares the checksum of the packed table with the one in the heap.
    private static func verify(
        _ checksum: XarTable.TableChecksum?, of packed: [UInt8], _ header: XarHeader, _ file: ReadableFile
    ) throws -> Range<Int64> {
        guard let checksum else {
            guard header.style == ChecksumStyle.none else {
                throw ContentPackageError.damaged(.table, "The table of contents does not say where its checksum is.")
            }
            return 0..<0
        }
        // The table decides, because writers disagree about the header's numbers.
        guard let style = checksum.style ?? header.style else {
            throw ContentPackageError.damaged(.table, "The table's checksum is of an unknown kind.")
        }
        guard checksum.size == style.length, checksum.offset >= 0,
            checksum.offset <= file.length - header.heapStart - checksum.size
        else { throw ContentPackageError.damaged(.range, "The table's checksum is not at the stated location.") }
        let expected = try file.read(style.length, at: header.heapStart + checksum.offset)
        guard packed.withUnsafeBytes({ RunningChecksum.of($0, style) }) == expected else {
            throw ContentPackageError.damaged(.checksum, "The table of contents does not match its checksum.")
        }
        return checksum.offset..<(checksum.offset + checksum.size)
    }

    /// The error in a file's range or encoding; nil when both are valid.
    func rangeFinding(of data: XarData, path: String) -> ContentFinding? {
        guard data.length <= heapLength, data.offset <= heapLength - data.length else {
            return .damaged(
                .range, path: path, "The table states a location for the file's bytes that is outside the package.")
        }
        switch data.encoding {
        case .raw where data.length != data.size:
            return .damaged(
                .length, path: path,
                "The table states \(data.size) bytes for the file, but \(data.length) bytes stored unpacked."
            )
        case .other(let style):
            return ContentFinding(
                .encoding, path: path, "The file is packed as “\(style)”, which is not supported.",
                "Build the package with cornerstore content build, which packs with zlib.")
        default: return nil
        }
    }
}
