import Foundation
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct SearchWordsTests {
    @Test(
        arguments: [
            ("Photo Filters", ["photo", "filters"]), ("Ｃａｆé CAFE\u{301}", ["cafe"]),
            ("Straße Ærø łódź", ["strasse", "aero", "lodz"]),
            ("rock'n'roll don’t", ["rock", "n", "roll", "don", "t"]), ("東京", ["東京"]), ("愛", ["愛"]),
            ("愛を歌う", ["愛を", "を歌", "歌う"]),
            ("音楽2024", ["音楽", "2024"]), ("한국어", ["한국", "국어"]), ("\u{1112}\u{1161}\u{11AB}", ["한"]),
            ("ｶﾞﾗｽ", ["ガラ", "ラス"]),
            ("か\u{3099}", ["が"]), ("ไทย", ["ไท", "ทย"]), ("🎉 party", ["🎉", "party"]), ("World™", ["world"]),
            ("a\0b", ["a", "b"]),
            ("हिन्दी", ["हिन्दी"]), ("שָׁלוֹם", ["שלום"]), ("İstanbul ΣΊΣΥΦΟΣ", ["istanbul", "σισυφοσ"]), ("", []),
            ("\"*()^:-+", []),
            ("one two ONE", ["one", "two"]),
        ] as [(String, [String])])
    func aTermIsSplit(_ term: String, _ words: [String]) {
        var splitter = SearchWords()
        #expect(splitter.words(ofTerm: term, limit: 24) == words)
    }

    @Test func theIndexHoldsEveryFormOfAWord() {
        var splitter = SearchWords()
        var bytes: [UInt8] = []
        splitter.append("Don't 愛を", marker: Array("\u{80}".utf8), to: &bytes)
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ").map { String($0.dropFirst()) }
        #expect(Set(words) == ["don", "t", "dont", "愛", "を", "愛を"])
    }

    @Test(arguments: [
        ("  Photo   FILTERS! ", "photo filters"), ("Don’t", "dont"), ("東京", "東京"), ("÷", "\u{85}÷"), (" \0 ", ""),
    ])
    func aNameHasAKey(_ name: String, _ key: String) {
        var splitter = SearchWords()
        #expect(splitter.key(of: name) == Array(key.utf8))
    }

    @Test func aLongTermIsCut() {
        var splitter = SearchWords()
        let long = (0..<5_000).map { "w\($0)" }.joined(separator: " ")
        #expect(splitter.words(ofTerm: long, limit: 24).count == 24)
        let word = splitter.words(ofTerm: String(repeating: "x", count: 10_000), limit: 24)
        #expect(word.map(\.utf8.count) == [SearchWords.longestWord])
        #expect(splitter.key(of: long).count == SearchWords.longestKey)
    }
}
