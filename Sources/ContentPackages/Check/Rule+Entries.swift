extension ContentRule {
    /// Files and folders may not exceed the limits of number and depth. (Reading stops at these limits too.)
    static let entries = ContentRule { inspection in
        let limits = inspection.limits
        if inspection.entries.count > limits.entries { return [.tooMany(limits)] }
        let isDeep = inspection.entries.contains { entry in
            entry.path.utf8.count { $0 == UInt8(ascii: "/") } + (entry.kind == .directory ? 1 : 0) > limits.depth
        }
        return isDeep ? [.tooDeep(limits)] : []
    }
}
