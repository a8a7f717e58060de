extension ContentRule {
    /// No file may begin like a program.
    static let executableCode = ContentRule(forEach: { entry in
        guard entry.kind == .file, let head = entry.head, let kind = ProgramKind(head) else { return nil }
        return ContentFinding(
            .executableCode, path: entry.path, "The file is executable code (\(kind.rawValue)).",
            "Remove it: hosted content is data, and code belongs in the app.")
    })
}

/// A kind of program, detected by its first bytes.
enum ProgramKind: String {
    case machO = "Mach-O"
    case universal = "Mach-O for several processors, or Java"
    case elf = "ELF"
    case portableExecutable = "Windows"
    case script = "a script with #!"
    case webAssembly = "WebAssembly"
    case dalvik = "Dalvik"
    case bitcode = "LLVM bitcode"

    init?(_ head: [UInt8]) {
        switch Array(head.prefix(4)) {
        case [0xFE, 0xED, 0xFA, 0xCE], [0xFE, 0xED, 0xFA, 0xCF], [0xCE, 0xFA, 0xED, 0xFE], [0xCF, 0xFA, 0xED, 0xFE]:
            self = .machO
        case [0xCA, 0xFE, 0xBA, 0xBE], [0xCA, 0xFE, 0xBA, 0xBF], [0xBE, 0xBA, 0xFE, 0xCA], [0xBF, 0xBA, 0xFE, 0xCA]:
            self = .universal
        case [0x7F, 0x45, 0x4C, 0x46]: self = .elf
        case [0x00, 0x61, 0x73, 0x6D]: self = .webAssembly
        case [0x64, 0x65, 0x78, 0x0A]: self = .dalvik
        case [0x42, 0x43, 0xC0, 0xDE], [0xDE, 0xC0, 0x17, 0x0B]: self = .bitcode
        default:
            if Self.isPortableExecutable(head) {
                self = .portableExecutable
            } else if Self.isScript(head) {
                self = .script
            } else {
                return nil
            }
        }
    }

    /// Detects `MZ` with a valid offset of the real header at byte 60. Text that begins with `MZ` has too large a
    /// number there.
    private static func isPortableExecutable(_ head: [UInt8]) -> Bool {
        guard head.starts(with: Array("MZ".utf8)), head.count >= 64 else { return false }
        let place = head[60..<64].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard place >= 4, place < 1 << 24 else { return false }
        guard place + 2 <= head.count else { return true }
        return ["PE", "NE", "LE", "LX"].contains(String(decoding: head[place..<(place + 2)], as: UTF8.self))
    }

    /// Detects `#!` and the path of an interpreter, with or without a byte order mark.
    private static func isScript(_ head: [UInt8]) -> Bool {
        var text = head[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        guard text.starts(with: Array("#!".utf8)) else { return false }
        return text.dropFirst(2).first { $0 != 0x20 && $0 != 0x09 } == UInt8(ascii: "/")
    }
}
