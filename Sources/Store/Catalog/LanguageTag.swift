/// The parts of a BCP 47 (`zh-Hans-CN`) or POSIX (`zh_CN.UTF-8`) language name, for comparison.
struct LanguageTag: Hashable {
    /// The language code, in lower case.
    var language: String
    /// The script, such as `Hans`. For Chinese without a script, it is derived from the region.
    var script: String?
    /// The region code, in upper case.
    var region: String?

    /// Parses a language name; nil when the text is not one, as with `C` and `POSIX`.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 64 else { return nil }
        let bare = text.prefix { $0 != "." && $0 != "@" }
        let parts = bare.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard let first = parts.first, (2...3).contains(first.utf8.count), first.utf8.allSatisfy(Self.isLetter) else {
            return nil
        }
        let lower = first.lowercased()
        language = Self.modern[lower] ?? lower
        for part in parts.dropFirst() {
            guard (1...8).contains(part.utf8.count),
                part.utf8.allSatisfy({ Self.isLetter($0) || (0x30...0x39).contains($0) })
            else {
                return nil
            }
            let letters = part.utf8.allSatisfy(Self.isLetter)
            if part.utf8.count == 4, letters, script == nil, region == nil {
                script = part.prefix(1).uppercased() + part.dropFirst().lowercased()
            } else if region == nil, (part.utf8.count == 2 && letters) || (part.utf8.count == 3 && !letters) {
                region = part.uppercased()
            }
        }
        if language == "zh", script == nil {
            script = ["TW", "HK", "MO"].contains(region ?? "") ? "Hant" : "Hans"
        }
    }

    /// How well this language suits a reader of `wanted`: 3 for the same region, 2 without a region here, 1 for another
    /// region, nil for another language or script.
    func suitability(for wanted: LanguageTag) -> Int? {
        guard language == wanted.language, script == wanted.script || script == nil || wanted.script == nil else {
            return nil
        }
        if region == wanted.region { return 3 }
        return region == nil ? 2 : 1
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }

    /// Current codes for outdated ones, and one code for Norwegian, which Apple writes both ways.
    private static let modern = ["iw": "he", "in": "id", "ji": "yi", "no": "nb"]
}
