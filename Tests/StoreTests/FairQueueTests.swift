import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct FairQueueTests {
    /// Takes everything out of a line.
    private func rest(_ line: inout FairQueue<String, Int>) -> [Int] {
        var tickets: [Int] = []
        while let ticket = line.next() { tickets.append(ticket) }
        return tickets
    }

    @Test func sourcesTakeTurnsAndTheOldestOfEachIsFirst() {
        var line = FairQueue<String, Int>(capacity: 10)
        for ticket in 1...4 { #expect(line.add(ticket, of: "a") == nil) }
        for ticket in 5...6 { #expect(line.add(ticket, of: "b") == nil) }
        #expect(line.add(7, of: "c") == nil)
        #expect(rest(&line) == [1, 5, 7, 2, 6, 3, 4])
        #expect(line.count == 0 && line.next() == nil)
    }

    @Test func theNewestTicketOfAFloodIsFirst() {
        var line = FairQueue<String, Int>(capacity: 100)
        let calm = FairQueue<String, Int>.calm
        for ticket in 1...calm + 2 { #expect(line.add(ticket, of: "flood") == nil) }
        #expect(rest(&line) == [calm + 2, calm + 1] + Array(1...calm))
    }

    /// Where as many come as go, the one that came first is not overtaken for ever.
    @Test func noTicketIsOvertakenForever() {
        var line = FairQueue<String, Int>(capacity: 100)
        for ticket in 0..<4 { _ = line.add(ticket, of: "a") }
        for ticket in 4..<20 {
            #expect(line.next() == ticket - 4)
            _ = line.add(ticket, of: "a")
        }
    }

    @Test func aFullLineDropsTheOldestTicketOfTheLongestSource() {
        var line = FairQueue<String, Int>(capacity: 4)
        #expect(line.add(1, of: "honest") == nil)
        for ticket in 2...4 { #expect(line.add(ticket, of: "flood") == nil) }
        #expect(line.add(5, of: "flood") == 2)
        #expect(line.add(6, of: "other") == 3)
        #expect(line.add(7, of: "flood") == 4)
        #expect(line.count == 4)
        #expect(rest(&line) == [1, 5, 6, 7])
    }

    @Test func aRemovedTicketIsNotCalled() {
        var line = FairQueue<String, Int>(capacity: 4)
        for ticket in 1...3 { _ = line.add(ticket, of: ticket == 1 ? "a" : "b") }
        let removed = [(1, "a"), (1, "a"), (2, "a"), (2, "b")].map { line.remove($0, of: $1) }
        #expect(removed == [true, false, false, true])
        #expect(line.count == 1 && rest(&line) == [3])
    }

    /// Whatever comes and goes, nothing is lost or called twice, and no source waits for more turns than there are
    /// sources.
    @Test func noTicketIsLost() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<100 {
            let capacity = Int.random(in: 1...12, using: &generator)
            var line = FairQueue<Int, Int>(capacity: capacity)
            var waiting: [Int: Int] = [:]
            for ticket in 0..<200 {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0, 1:
                    let source = Int.random(in: 0..<5, using: &generator)
                    let isFull = waiting.count == capacity
                    let dropped = line.add(ticket, of: source)
                    #expect((dropped != nil) == isFull)
                    if let dropped { #expect(waiting.removeValue(forKey: dropped) != nil) }
                    waiting[ticket] = source
                case 2:
                    let ticket = line.next()
                    #expect((ticket == nil) == waiting.isEmpty)
                    if let ticket { #expect(waiting.removeValue(forKey: ticket) != nil) }
                default:
                    guard let (ticket, source) = waiting.randomElement(using: &generator) else { continue }
                    let isRemoved = line.remove(ticket, of: source)
                    #expect(isRemoved)
                    waiting[ticket] = nil
                }
                #expect(line.count == waiting.count)
            }
        }
    }
}
