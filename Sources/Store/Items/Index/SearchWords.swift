import Foundation

/// Splits texts into the words that search compares, for the index and for terms alike.
///
/// Letters lose their case, accents and compatibility forms, so “Ｃａｆé” and “cafe” are one word. Chinese, Japanese,
/// Korean, Thai, Lao, Khmer and Burmese run words together, or attach particles to them. The splitter takes each
/// character of their scripts and each pair of neighbours for a word: a term of two or more characters is compared by
/// its pairs, and a single character by itself. A word with an apostrophe is found with it, without it, and by its
/// parts. Symbols such as emoji are words of their own.
struct SearchWords {
    /// How a character takes part in words.
    enum Role: UInt8 {
        /// Between words.
        case separator
        /// Dropped without ending a word: an accent, a joiner.
        case invisible
        /// Between the parts of a word.
        case apostrophe
        /// Part of a word.
        case letter
        /// Part of a run of characters that are compared in pairs.
        case dense
        /// A word of its own.
        case symbol
    }

    /// A character after folding.
    struct Folded {
        var role: Role
        /// The character in UTF-8.
        var bytes: [UInt8]
    }

    /// The most bytes of a word. The rest is not compared.
    static let longestWord = 64
    /// The most bytes of a name's key. The rest is not compared.
    static let longestKey = 200
    /// Begins the key of a name without letters. No folded text holds it.
    private static let rawKey: [UInt8] = [0xC2, 0x85]

    /// The folded forms of the characters beyond ASCII that were seen.
    private var known: [UInt32: [Folded]] = [:]
    private static let mostKnown = 50_000
    private static let ascii: [Folded] = (0..<128).map { Self.fold(Unicode.Scalar(UInt8($0))).first ?? .between }

    /// The words of a search term.
    /// - Parameter limit: The most words; the rest of the term is ignored.
    mutating func words(ofTerm term: String, limit: Int) -> [String] {
        var bytes: [UInt8] = []
        append(term, marker: [], isTerm: true, to: &bytes)
        var seen: Set<String> = []
        var words: [String] = []
        for word in bytes.split(separator: 0x20) where words.count < limit {
            let word = String(decoding: word, as: UTF8.self)
            if seen.insert(word).inserted { words.append(word) }
        }
        return words
    }

    /// Appends the words of a text to `bytes`, each after a space and the marker.
    mutating func append(_ text: String, marker: [UInt8], to bytes: inout [UInt8]) {
        append(text, marker: marker, isTerm: false, to: &bytes)
    }

    private mutating func append(_ text: String, marker: [UInt8], isTerm: Bool, to bytes: inout [UInt8]) {
        var sink = WordSink(bytes: bytes, marker: marker, isTerm: isTerm)
        bytes = []
        forEach(text) { sink.take($0) }
        sink.endWord()
        sink.endRun()
        bytes = sink.bytes
    }

    /// The key under which a name is found exactly, or by its beginning: the folded words with single spaces. The key
    /// of a name without letters holds its symbols. Empty for a name of spaces only.
    mutating func key(of name: String) -> [UInt8] {
        var key: [UInt8] = []
        var isAfterSpace = false
        forEach(name) { folded in
            guard key.count < Self.longestKey else { return }
            switch folded.role {
            case .separator: isAfterSpace = !key.isEmpty
            case .invisible, .apostrophe: break
            case .letter, .dense, .symbol:
                if isAfterSpace { key.append(0x20) }
                isAfterSpace = false
                key += folded.bytes
            }
        }
        if key.isEmpty {
            let rest = name.filter { !$0.isWhitespace && $0 != "\0" }
            if !rest.isEmpty { key = Self.rawKey + rest.utf8 }
        }
        return key.count > Self.longestKey ? Array(key.prefix(Self.longestKey)) : key
    }

    private mutating func forEach(_ text: String, _ body: (Folded) -> Void) {
        var text = text
        if text.unicodeScalars.contains(where: { $0.value >= 0x1100 && Self.composes($0.value) }) {
            text = text.decomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping
        }
        let ascii = Self.ascii
        for scalar in text.unicodeScalars {
            if scalar.value < 128 {
                body(ascii[Int(scalar.value)])
            } else if let folded = known[scalar.value] {
                for part in folded { body(part) }
            } else {
                let folded = Self.fold(scalar)
                if known.count >= Self.mostKnown { known = [:] }
                known[scalar.value] = folded
                for part in folded { body(part) }
            }
        }
    }

    // MARK: Folding

    /// Whether a character forms another one with its neighbour: the parts of Korean syllables, and Japanese voicing
    /// marks, which must not be taken for accents.
    private static func composes(_ value: UInt32) -> Bool {
        (0x1100...0x11FF).contains(value) || (0x3099...0x309A).contains(value) || (0xFF9E...0xFF9F).contains(value)
    }

    /// Letters that have no decomposition, and are written without their marks.
    private static let plain: [UInt32: String] = [
        0xDF: "ss", 0xE6: "ae", 0xF0: "d", 0xF8: "o", 0xFE: "th", 0x111: "d", 0x127: "h", 0x131: "i", 0x142: "l",
        0x153: "oe", 0x167: "t", 0x3C2: "σ",
    ]

    /// The folded forms of a character: none, one, or several, as for `½` and `㈱`.
    static func fold(_ scalar: Unicode.Scalar) -> [Folded] {
        // The trademark signs would become letters.
        if [0xA9, 0xAE, 0x2120, 0x2122].contains(scalar.value) { return [.between] }
        let lower = scalar.properties.lowercaseMapping
        let apart = lower.decomposedStringWithCompatibilityMapping.lowercased()
        var kept = String.UnicodeScalarView()
        for part in apart.unicodeScalars where !isAccent(part.value) {
            if let plain = plain[part.value] {
                kept.append(contentsOf: plain.unicodeScalars)
            } else {
                kept.append(part)
            }
        }
        if kept.isEmpty { return [Folded(role: .invisible, bytes: [])] }
        return String(kept).precomposedStringWithCanonicalMapping.unicodeScalars.map { part in
            Folded(role: role(of: part), bytes: Array(String(part).utf8))
        }
    }

    /// Marks that a reader may leave out: the accents of Latin, Greek and Cyrillic, the points of Hebrew and Arabic.
    private static func isAccent(_ value: UInt32) -> Bool {
        switch value {
        case 0x0300...0x036F, 0x0483...0x0489, 0x0591...0x05C7, 0x0610...0x061A, 0x064B...0x065F, 0x0670,
            0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F:
            true
        default: false
        }
    }

    private static func role(of scalar: Unicode.Scalar) -> Role {
        let value = scalar.value
        if isDense(value) { return .dense }
        if [0x27, 0x2019, 0x2BC, 0xFF07].contains(value) { return .apostrophe }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .spacingMark, .enclosingMark:
            return .letter
        case .nonspacingMark: return scalar.properties.isVariationSelector ? .invisible : .letter
        case .format: return .invisible
        case .otherSymbol: return .symbol
        default: return .separator
        }
    }

    private static func isDense(_ value: UInt32) -> Bool {
        switch value {
        case 0x0E01...0x0E3A, 0x0E40...0x0E4E, 0x0E81...0x0EFF, 0x1000...0x109F, 0x1780...0x17D3,
            0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3041...0x3096, 0x3099...0x309A, 0x309D...0x309F,
            0x30A1...0x30FA, 0x30FC...0x312F, 0x31A0...0x31BF, 0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}

extension SearchWords.Folded {
    static let between = Self(role: .separator, bytes: [])
}

/// Writes the words of one text.
private struct WordSink {
    var bytes: [UInt8]
    let marker: [UInt8]
    let isTerm: Bool
    /// The index at which the word's bytes begin, after the last apostrophe; nil between words.
    private var word: Int?
    /// The parts of a word before its last apostrophe.
    private var parts: [UInt8] = []
    /// The last character of the run, and the run's length.
    private var run: (last: [UInt8], count: Int)?

    init(bytes: [UInt8], marker: [UInt8], isTerm: Bool) {
        self.bytes = bytes
        self.marker = marker
        self.isTerm = isTerm
    }

    mutating func take(_ folded: SearchWords.Folded) {
        switch folded.role {
        case .invisible: break
        case .letter:
            if run != nil { endRun() }
            if word == nil {
                begin()
                word = bytes.count
            }
            if let word, bytes.count - word < SearchWords.longestWord { bytes += folded.bytes }
        case .apostrophe:
            endRun()
            if let word {
                parts += bytes[word...]
                self.word = nil
            }
        case .separator:
            if word != nil || !parts.isEmpty { endWord() }
            if run != nil { endRun() }
        case .symbol:
            endWord()
            endRun()
            begin()
            bytes += folded.bytes
        case .dense:
            endWord()
            if let (last, count) = run {
                begin()
                bytes += last
                bytes += folded.bytes
                run = (folded.bytes, count + 1)
            } else {
                run = (folded.bytes, 1)
            }
            if !isTerm {
                begin()
                bytes += folded.bytes
            }
        }
    }

    mutating func endWord() {
        defer {
            word = nil
            parts = []
        }
        guard !parts.isEmpty, let word else { return }
        parts += bytes[word...]
        if !isTerm {
            begin()
            bytes += parts.prefix(SearchWords.longestWord)
        }
    }

    /// Ends a run. A term's run of one character has no pair, so the character is the word.
    mutating func endRun() {
        if isTerm, let run, run.count == 1 {
            begin()
            bytes += run.last
        }
        run = nil
    }

    private mutating func begin() {
        bytes.append(0x20)
        bytes += marker
    }
}
