extension ContentRule {
    /// Files and folders are not too many, nor too deep. (Reading stops there as well.)
    static let entries = ContentRule { inspection in
        let limits = inspection.limits
        if inspection.entries.count > limits.entries { return [.tooMany(limits)] }
        let isDeep = inspection.entries.contains { entry in
            entry.path.utf8.count { $0 == UInt8(ascii: "/") } >= limits.depth
        }
        return isDeep ? [.tooDeep(limits)] : []
    }
}
