extension ContentRule {
    /// A package may not unpack to far more than its own size. Files that share their bytes count each time.
    static let bomb = ContentRule { inspection in
        guard let packed = inspection.packedLength else { return [] }
        let limits = inspection.limits
        let unpacked = inspection.unpackedLength
        // A package over the size limit already has a finding of that rule.
        guard unpacked > limits.ratioFloorBytes, unpacked <= limits.unpackedBytes, unpacked / limits.ratio > packed
        else { return [] }
        return [
            ContentFinding(
                .bomb, "The package unpacks to \(unpacked) bytes, more than \(limits.ratio) times its \(packed).",
                "Remove files without real content, and let the app make them.")
        ]
    }
}
