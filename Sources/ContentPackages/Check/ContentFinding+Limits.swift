extension ContentFinding {
    // These findings end the reading, because continuing would cost too much.

    static func tooMany(_ limits: ContentLimits) -> ContentFinding {
        ContentFinding(
            .entries, "It has more than \(limits.entries) files and folders.",
            "Put small files that belong together into one.")
    }

    static func tooDeep(_ limits: ContentLimits) -> ContentFinding {
        ContentFinding(.entries, "Folders are more than \(limits.depth) deep.", "Lay them out flatter.")
    }

    static func tooLong(_ path: String, _ limits: ContentLimits) -> ContentFinding {
        ContentFinding(
            .name, path: String(path.prefix(200)), "The path has more than \(limits.pathBytes) bytes.",
            "Shorten the names in it.")
    }

    static func tooLarge(_ limits: ContentLimits) -> ContentFinding {
        ContentFinding(
            .size, "Its files have more than \(limits.unpackedBytes) bytes.",
            "Leave out or split content until it is at most 2 GB.")
    }
}
