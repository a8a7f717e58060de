import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct RecentValuesTests {
    @Test func itNeverHoldsMoreThanItMayAndKeepsWhatIsUsed() {
        let recent = RecentValues<Int, Int>(capacity: 10)
        recent.insert(1, for: 0)
        for key in 1...1000 {
            recent.insert(key, for: key)
            #expect(recent.value(for: 0) == 1)
        }
        #expect((0...1000).filter { recent.value(for: $0) != nil }.count <= 10)
        #expect(recent.value(for: 1000) == 1000)
        recent.removeValue(for: 1000)
        #expect(recent.value(for: 1000) == nil)
        recent.removeAll()
        #expect(recent.value(for: 0) == nil)
    }

    @Test func costsAreTheBoundToo() {
        let recent = RecentValues<Int, Int>(capacity: 100) { $0 }
        for key in 1...200 {
            recent.insert(1 + key % 20, for: key)
            recent.insert(1 + key % 20, for: key)
            #expect(recent.value(for: key) == 1 + key % 20)
            let costs = (1...key).compactMap { recent.value(for: $0) }
            #expect(costs.reduce(0, +) <= 100)
            if key % 7 == 0 { recent.removeValue(for: key) }
        }
    }

    @Test func aRowReadBeforeAChangeIsNotCached() {
        let recent = RecentValues<Int, String>(capacity: 10)
        for change in [{ recent.removeAll() }, { recent.removeValue(for: 7) }] {
            let changes = recent.changes
            change()
            recent.insert("old", for: 7, unlessChangedSince: changes)
            #expect(recent.value(for: 7) == nil)
            recent.insert("new", for: 7, unlessChangedSince: recent.changes)
            #expect(recent.value(for: 7) == "new")
        }
    }
}
