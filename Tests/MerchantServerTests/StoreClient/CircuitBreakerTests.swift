import TestSupport
import Testing

@testable import MerchantServer

@Suite("The circuit breaker", .timeLimit(.minutes(1)))
struct CircuitBreakerTests {
    private let settings = CircuitBreaker.Settings(failures: 3, rest: 10, longestRest: 35, trial: 60)

    @Test func onlyFailuresInARowOpenIt() {
        var circuit = CircuitBreaker(settings)
        for _ in 0..<10 {
            for _ in 0..<2 {
                #expect(circuit.admit(at: 0) == .allowed)
                circuit.failed(at: 0)
            }
            circuit.succeeded()
        }
        for _ in 0..<3 { circuit.failed(at: 0) }
        #expect(circuit.admit(at: 4) == .refused(seconds: 6))
        #expect(!circuit.isClosed)
    }

    @Test func oneTrialAtATimeAndLongerRests() {
        var circuit = CircuitBreaker(settings)
        for _ in 0..<3 { circuit.failed(at: 0) }
        var now = 0.0
        for rest in [10.0, 20, 35, 35] {
            #expect(circuit.admit(at: now + rest - 1) == .refused(seconds: 1))
            now += rest
            #expect(circuit.admit(at: now) == .allowed)
            #expect(circuit.admit(at: now) == .refused(seconds: 60))
            circuit.failed(at: now)
        }
        #expect(circuit.admit(at: now + 35) == .allowed)
        circuit.succeeded()
        #expect(circuit.isClosed)
    }

    @Test func aTrialThatIsLostOrGivenUpIsMadeAgain() {
        var circuit = CircuitBreaker(settings)
        for _ in 0..<3 { circuit.failed(at: 0) }
        #expect(circuit.admit(at: 10) == .allowed)
        #expect(circuit.admit(at: 69) == .refused(seconds: 1))
        #expect(circuit.admit(at: 70) == .allowed)
        circuit.abandoned(at: 71)
        #expect(circuit.admit(at: 71) == .allowed)
        #expect(circuit.admit(at: 71) == .refused(seconds: 60))
    }

    @Test func aClockThatIsPutBackDoesNotKeepItOpen() {
        var circuit = CircuitBreaker(settings)
        for _ in 0..<3 { circuit.failed(at: 1_000_000) }
        #expect(circuit.admit(at: 0) == .allowed)
    }

    /// Whatever happens, it lets somebody through within the longest rest and a trial's time.
    @Test func itNeverStaysOpen() {
        var generator = SeededGenerator(seed: 17)
        for _ in 0..<200 {
            var circuit = CircuitBreaker(settings)
            var now = 0.0
            var lastAllowed = 0.0
            for _ in 0..<300 {
                now += Double.random(in: 0...5, using: &generator)
                if circuit.admit(at: now) == .allowed {
                    lastAllowed = now
                    switch Int.random(in: 0..<5, using: &generator) {
                    case 0: circuit.succeeded()
                    case 1: circuit.abandoned(at: now)
                    case 2: break
                    default: circuit.failed(at: now)
                    }
                }
                #expect(now - lastAllowed <= 60 + 35 + 5)
            }
        }
    }

    @Test func pausesAreBoundedAndDiffer() {
        let backoff = Backoff(first: 1, longest: 60)
        var generator = SeededGenerator(seed: 1)
        for attempts in [0, 1, 2, 5, 7, 40, 1_000] {
            for _ in 0..<100 {
                let random = Double.random(in: 0..<1, using: &generator)
                let most = min(60, [0: 1, 1: 1, 2: 2, 5: 16, 7: 60][attempts] ?? 60)
                let pause = backoff.pause(after: attempts, random: random)
                #expect(pause >= Double(most) / 2 && pause < Double(most))
            }
        }
    }
}
