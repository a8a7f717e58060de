/// A made-up vocabulary in which few words are frequent and most are rare, as in every language: the word of rank n
/// occurs with a frequency of about 1/n (Zipf's law).
struct SampleWords: Sendable {
    /// The number of distinct words.
    static let count = 8_000

    /// In lower case, the most frequent first.
    let words: [[UInt8]]
    /// A word's rank, by a random number below the length of the table.
    private let table: [UInt16]

    private static let tableBits: UInt64 = 20

    init() {
        var chance = SampleChance(seed: 1)
        var known: Set<String> = []
        var words: [String] = []
        func add(_ word: String) {
            if words.count < Self.count, known.insert(word).inserted { words.append(word) }
        }
        for word in Self.frequent.split(whereSeparator: \.isWhitespace) { add(String(word)) }
        while words.count < Self.count {
            let syllables = 2 + Int(chance.next(below: 2))
            add((0..<syllables).map { _ in Self.syllable(&chance) }.joined())
        }
        self.words = words.map { Array($0.utf8) }

        let weights = (1...Self.count).map { 1 / Double($0) }
        let sum = weights.reduce(0, +)
        let size = 1 << Int(Self.tableBits)
        var table = [UInt16](repeating: 0, count: size)
        var (rank, bound) = (0, weights[0] / sum)
        for index in table.indices {
            while Double(index) >= bound * Double(size), rank + 1 < Self.count {
                rank += 1
                bound += weights[rank] / sum
            }
            table[index] = UInt16(rank)
        }
        self.table = table
    }

    func random(_ chance: inout SampleChance) -> [UInt8] {
        words[Int(table[Int(chance.next() >> (64 - Self.tableBits))])]
    }

    /// Words with capital initials and spaces between them.
    func title(_ count: Int, _ chance: inout SampleChance) -> String {
        var bytes: [UInt8] = []
        for index in 0..<count {
            if index > 0 { bytes.append(0x20) }
            let word = random(&chance)
            bytes.append(word[0] & ~0x20)
            bytes += word.dropFirst()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A text of exactly this many bytes.
    func text(_ length: Int, _ chance: inout SampleChance) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length + 16)
        while bytes.count < length - 1 {
            if !bytes.isEmpty { bytes.append(0x20) }
            bytes += random(&chance)
        }
        bytes.removeLast(bytes.count - (length - 1))
        bytes.append(0x2E)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func syllable(_ chance: inout SampleChance) -> String {
        func one(_ list: String) -> String {
            let parts = list.split(separator: " ")
            return String(parts[Int(chance.next(below: UInt64(parts.count)))])
        }
        let end = chance.next(below: 3) == 0 ? one("n r l s t nd rt ck m") : ""
        return one("b br c ch cl d dr f fl g gl gr h j k l m n p pl pr qu r s sh sk st t th tr v w z")
            + one("a e i o u ai ea io oo ou") + end
    }

    private static let frequent = """
        the of and a to in my your for with on at by all new one world little day night game time love life story photo
        city music home star blue red black white green golden light dark fire water sun moon sky sea river mountain
        forest garden house road train car plane ship island king queen prince dragon monster hero legend secret lost
        last first next super happy crazy magic dream heart soul mind body hand eye song dance party summer winter spring
        autumn morning evening weekend forever never always again before after under over through between without inside
        outside away back down up run jump fly drive swim walk talk play build draw write read cook eat drink sleep learn
        count match sort find hide seek puzzle word letter number color shape animal cat dog bird fish horse bear wolf
        lion tiger fox rabbit mouse monkey elephant farm zoo park school office market bank shop kitchen camera notes
        weather calendar clock timer diary travel map guide budget fitness recipe pocket daily simple smart easy quick
        free pro deluxe classic original live remix best greatest complete part volume season chapter book tale history
        journey adventure quest battle war peace space planet galaxy robot machine engine power speed storm thunder rain
        snow wind ice stone iron steel silver diamond glass paper wood bread coffee sugar honey apple orange lemon cherry
        """
}

/// Random numbers from a seed (SplitMix64).
struct SampleChance {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func next(below bound: UInt64) -> UInt64 { next().multipliedFullWidth(by: bound).high }
}
