import CornerstoreEncoding
import Foundation

/// Reads the table of contents of a xar archive from its XML.
///
/// It skips unknown elements with their contents. A known element may occur only in its place, and only once.
struct XarTableReader {
    private enum Place {
        case archive
        case table
        case checksum
        case file(Int)
        case data(Int)
        /// An element whose text is read.
        case value(of: Int?)
    }

    private struct DataParts {
        var offset: Int64?
        var length: Int64?
        var size: Int64?
        var encoding = XarData.Encoding.raw
        var archived: Checksum?
        var extracted: Checksum?
    }

    private let limits: ContentLimits
    private var table = XarTable()
    private var places: [Place] = []
    /// The names of the open elements.
    private var names: [String] = []
    /// The depth within an element that is skipped.
    private var skipped = 0
    private var attributes: [String: String] = [:]
    private var text: [UInt8] = []
    private var parts = DataParts()
    private var hasTable = false

    /// Reads the table.
    /// - Throws: ``ContentPackageError`` with one finding.
    static func read(_ xml: [UInt8], limits: ContentLimits) throws -> XarTable {
        var reader = XarTableReader(limits: limits)
        do {
            return try reader.read(xml)
        } catch let error as XMLReader.Malformed {
            throw ContentPackageError.damaged(
                .table, "The table of contents is not valid XML: \(error.reason) (byte \(error.offset)).")
        }
    }

    private init(limits: ContentLimits) { self.limits = limits }

    private mutating func read(_ xml: [UInt8]) throws -> XarTable {
        var reader = XMLReader(xml)
        while let token = try reader.next() {
            switch token {
            case .start(let name, let attributes, let isEmpty):
                try start(name, attributes)
                if isEmpty { try end(name) }
            case .end(let name): try end(name)
            case .text(let bytes):
                guard skipped == 0, case .value? = places.last else { continue }
                guard text.count + bytes.count <= limits.pathBytes * 2 else {
                    throw damaged("A value is too long")
                }
                text += bytes
            }
        }
        guard names.isEmpty, hasTable else { throw damaged("It ends too early") }
        return table
    }

    private func damaged(_ reason: String) -> ContentPackageError {
        ContentPackageError.damaged(.table, "The table of contents is damaged. \(reason).")
    }

    // MARK: Elements

    private mutating func start(_ name: String, _ attributes: [String: String]) throws {
        guard names.count < limits.depth + 16 else {
            throw ContentPackageError(refused: [.tooDeep(limits)])
        }
        names.append(name)
        guard skipped == 0 else {
            skipped += 1
            return
        }
        switch (places.last, name) {
        case (nil, "xar"): places.append(.archive)
        case (.archive?, "toc"):
            guard !hasTable else { throw damaged("It has two tables") }
            hasTable = true
            places.append(.table)
        case (.table?, "checksum"):
            guard table.checksum == nil else { throw damaged("It has two checksums") }
            table.checksum = XarTable.TableChecksum(
                style: ChecksumStyle(style: attributes["style"] ?? ""), offset: -1, size: -1)
            places.append(.checksum)
        case (.table?, "file"): try startFile(attributes, parent: nil)
        case (.file(let index)?, "file"): try startFile(attributes, parent: index)
        case (.file(let index)?, "data"):
            guard table.files[index].data == nil else { throw damaged("A file has data twice") }
            parts = DataParts()
            places.append(.data(index))
        case (.data?, "encoding"):
            parts.encoding = Self.encoding(attributes["style"] ?? "")
            skipped = 1
        case (.checksum?, "offset"), (.checksum?, "size"): startValue(attributes, nil)
        case (.file(let index)?, "name"), (.file(let index)?, "type"), (.file(let index)?, "link"),
            (.file(let index)?, "mode"), (.data(let index)?, "offset"), (.data(let index)?, "length"),
            (.data(let index)?, "size"), (.data(let index)?, "archived-checksum"),
            (.data(let index)?, "extracted-checksum"), (.data(let index)?, "unarchived-checksum"):
            startValue(attributes, index)
        default: skipped = 1
        }
    }

    private mutating func startFile(_ attributes: [String: String], parent: Int?) throws {
        guard table.files.count < limits.entries else { throw ContentPackageError(refused: [.tooMany(limits)]) }
        let depth = parent.map { table.files[$0].depth + 1 } ?? 0
        guard depth <= limits.depth else { throw ContentPackageError(refused: [.tooDeep(limits)]) }
        var file = XarFile()
        file.id = attributes["id"] ?? ""
        file.parent = parent
        file.depth = depth
        places.append(.file(table.files.count))
        table.files.append(file)
    }

    private mutating func startValue(_ attributes: [String: String], _ index: Int?) {
        self.attributes = attributes
        text = []
        places.append(.value(of: index))
    }

    private mutating func end(_ name: String) throws {
        guard names.popLast() == name else {
            throw damaged("The end of “\(name.prefix(32))” is misplaced")
        }
        guard skipped == 0 else {
            skipped -= 1
            return
        }
        switch places.popLast() {
        case .value(let index)?: try endValue(name, index)
        case .data(let index)?: try endData(index)
        case .file(let index)?: try endFile(index)
        default: break
        }
    }

    // MARK: Values

    private mutating func endValue(_ name: String, _ index: Int?) throws {
        guard let index else {
            let number = try number()
            if name == "offset" { table.checksum?.offset = number } else { table.checksum?.size = number }
            return
        }
        if case .data? = places.last { return try endDataValue(name) }
        switch name {
        case "name":
            guard table.files[index].name == nil else { throw damaged("A file has two names") }
            setName(index)
        case "type":
            table.files[index].type = trimmed()
            table.files[index].hardLink = attributes["link"]
        case "link": table.files[index].target = String(decoding: text, as: UTF8.self)
        default:
            guard let mode = Int(trimmed(), radix: 8), (0...0o177_7777).contains(mode) else {
                throw damaged("A file's mode is not octal")
            }
            table.files[index].mode = mode & 0o7777
        }
    }

    private mutating func setName(_ index: Int) {
        var bytes = text
        // Writers encode names in this way that are not valid UTF-8.
        if attributes["enctype"] == "base64" {
            bytes = Data(base64Encoded: Data(text), options: .ignoreUnknownCharacters).map { [UInt8]($0) } ?? [0]
        }
        table.files[index].name = String(decoding: bytes, as: UTF8.self)
        table.files[index].nameIsText = String(validating: bytes, as: UTF8.self) != nil
    }

    private mutating func endDataValue(_ name: String) throws {
        switch name {
        case "offset": parts.offset = try number()
        case "length": parts.length = try number()
        case "size": parts.size = try number()
        case "archived-checksum": parts.archived = try checksum()
        default: parts.extracted = try checksum()
        }
    }

    private mutating func endData(_ index: Int) throws {
        guard let offset = parts.offset, let length = parts.length, let size = parts.size else {
            throw damaged("A file has data without offset, length or size")
        }
        table.files[index].data = XarData(
            offset: offset, length: length, size: size, encoding: parts.encoding, archived: parts.archived,
            extracted: parts.extracted)
    }

    /// The path is made at the end of a folder's own name, which may follow its first child. Children therefore get
    /// theirs later.
    private mutating func endFile(_ index: Int) throws {
        guard table.files[index].name != nil else { throw damaged("A file has no name") }
        guard table.files[index].parent == nil else { return }
        for place in index..<table.files.count {
            let name = table.files[place].name ?? ""
            let parent = table.files[place].parent.map { table.files[$0].path + "/" } ?? ""
            let path = parent + name
            guard path.utf8.count <= limits.pathBytes else {
                throw ContentPackageError(refused: [.tooLong(path, limits)])
            }
            table.files[place].path = path
        }
    }

    private func trimmed() -> String {
        String(decoding: text.filter { !XMLReader.isSpace($0) || $0 == 0x20 }, as: UTF8.self)
            .trimmingCharacters(in: .whitespaces)
    }

    /// Reads decimal digits. Numbers that do not fit are refused.
    private func number() throws -> Int64 {
        let digits = trimmed()
        guard (1...19).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(digits)
        else { throw damaged("A number is invalid or too large") }
        return number
    }

    private func checksum() throws -> Checksum {
        guard let style = ChecksumStyle(style: attributes["style"] ?? "") else {
            throw damaged("It has a checksum of an unknown kind, “\((attributes["style"] ?? "").prefix(32))”")
        }
        guard let bytes = Hexadecimal.decoded(trimmed()), bytes.count == style.length else {
            throw damaged("A checksum has a wrong length")
        }
        return Checksum(style: style, bytes: bytes)
    }

    private static func encoding(_ style: String) -> XarData.Encoding {
        switch style.lowercased() {
        case "application/octet-stream", "": .raw
        case "application/x-gzip", "application/zlib": .zlib
        default: .other(String(style.prefix(64)))
        }
    }
}
