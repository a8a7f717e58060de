extension ContentRule {
    /// The content may have at most 2 GB, packed and unpacked: Apple's limit for hosted content.
    static let size = ContentRule { inspection in
        var findings: [ContentFinding] = []
        if let packed = inspection.packedLength, packed > inspection.limits.packedBytes {
            findings.append(
                ContentFinding(
                    .size, "The package has \(packed) bytes, more than \(inspection.limits.packedBytes).",
                    "Remove or split content until it has at most 2 GB."))
        }
        if inspection.unpackedLength > inspection.limits.unpackedBytes {
            findings.append(.tooLarge(inspection.limits))
        }
        return findings
    }
}
