/// The rules for paths within content. Checking and unpacking both use them.
enum ContentPath {
    /// The longest name that file systems accept, in bytes.
    static let longestName = 255

    /// The names in a path, including empty ones. The path is split at bytes: Swift treats a slash and a following
    /// combining mark as one character, which is not a slash.
    static func names(_ path: String) -> [Substring.UTF8View] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    /// The folders of a path, outermost first. There are at most `limit`, since a deeper path is refused anyway.
    static func folders(above path: String, limit: Int) -> [[UInt8]] {
        let bytes = Array(path.utf8)
        return bytes.indices.lazy.filter { bytes[$0] == UInt8(ascii: "/") }.prefix(limit).map { Array(bytes[..<$0]) }
    }

    /// Whether the path is relative and has no empty name, `.` or `..`.
    static func isInside(_ path: String) -> Bool {
        names(path).allSatisfy { name in
            !name.isEmpty && !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8)
        }
    }

    /// Whether every name is text without control characters, and not too long.
    static func hasGoodNames(_ path: String) -> Bool {
        names(path).allSatisfy { $0.count <= longestName }
            && !path.unicodeScalars.contains { scalar in
                scalar.properties.generalCategory == .control || scalar == "\u{FFFD}" || scalar == "\u{2028}"
                    || scalar == "\u{2029}"
            }
    }

    /// Whether a link stays within the content: it is relative, has `..` only at its beginning, and not more of them
    /// than folders above the link.
    ///
    /// `..` after a name would go up from the target of that name, if the name is itself a link. It is therefore
    /// refused.
    static func isInside(target: String, ofLinkAt path: String) -> Bool {
        let depth = path.utf8.count { $0 == UInt8(ascii: "/") }
        guard !target.isEmpty, target.utf8.first != UInt8(ascii: "/"), target.utf8.count <= 1024,
            !target.utf8.contains(0)
        else { return false }
        var ups = 0
        var isBeyondUps = false
        for name in target.utf8.split(separator: UInt8(ascii: "/")) {
            if name.elementsEqual("..".utf8) {
                guard !isBeyondUps else { return false }
                ups += 1
            } else if !name.elementsEqual(".".utf8) {
                isBeyondUps = true
            }
        }
        return ups <= depth
    }
}
