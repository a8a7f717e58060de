import Foundation
import Testing

@testable import Console

@Suite("The console's memory", .timeLimit(.minutes(1)))
struct ConsoleMemoryTests {
    @Test func `a sum is kept for ten seconds, unless a form changed something, also while it was made`() async {
        let time = TestTime()
        let memory = ConsoleMemory(now: { time.date })
        #expect(await memory.value("purchases") { 1 } == 1)
        #expect(await memory.value("purchases") { 2 } == 1)
        memory.forget()
        let old = await memory.value("purchases") {
            // A form is answered before this sum.
            memory.forget()
            return 2
        }
        #expect(old == 2)
        #expect(await memory.value("purchases") { 3 } == 3)
        time.advance(10)
        #expect(await memory.value("purchases") { 4 } == 4)
    }
}
