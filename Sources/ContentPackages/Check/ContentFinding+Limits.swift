extension ContentFinding {
    // These findings end the reading, because continuing would cost too much.

    static func tooMany(_ limits: ContentLimits) -> ContentFinding {
        ContentFinding(
            .entries, "There are more than \(limits.entries) files and folders.",
            "Combine small files that belong together.")
    }

    static func tooDeep(_ limits: ContentLimits) -> ContentFinding {
        ContentFinding(.entries, "Folders are nested more than \(limits.depth) deep.", "Use fewer levels of folders.")
    }

    static func tooLong(_ path: String, _ limits: ContentLimits) -> ContentFinding {
        ContentFinding(
            .name, path: String(path.prefix(200)), "The path has more than \(limits.pathBytes) bytes.",
            "Shorten the names in it.")
    }

    static func tooLarge(_ limits: ContentLimits) -> ContentFinding {
        ContentFinding(
            .size, "The files together have more than \(limits.unpackedBytes) bytes.",
            "Remove or split content until it has at most 2 GB.")
    }
}
