/// Stops requests to a host that fails repeatedly. After a rest, one trial request checks whether the host is back.
struct CircuitBreaker: Sendable, Equatable {
    /// When the circuit opens, and for how long.
    struct Settings: Sendable, Equatable {
        /// The number of consecutive failures that open the circuit.
        var failures = 8
        /// The seconds that the circuit stays open; the time doubles after each failed trial.
        var rest: Double = 10
        /// The longest rest, in seconds.
        var longestRest: Double = 300
        /// The seconds after which a trial without a reported result counts as lost.
        var trial: Double = 60
    }

    /// Whether a request may be sent.
    enum Admission: Sendable, Equatable {
        case allowed
        /// Not allowed for the given number of seconds.
        case refused(seconds: Double)
    }

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Double, rest: Double)
        /// A trial request is in progress since that moment.
        case halfOpen(since: Double, rest: Double)
    }

    let settings: Settings
    private var state = State.closed(failures: 0)

    init(_ settings: Settings) { self.settings = settings }

    /// Whether requests are sent as usual.
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Asks for permission to send one request. Report its result afterwards.
    /// - Parameter now: in seconds.
    mutating func admit(at now: Double) -> Admission {
        switch state {
        case .closed: return .allowed
        case .open(let until, let rest):
            // If the clock was set back, do not stay open longer than the longest rest.
            guard now >= until || until - now > settings.longestRest else { return .refused(seconds: until - now) }
            state = .halfOpen(since: now, rest: rest)
            return .allowed
        case .halfOpen(let since, let rest):
            guard now - since >= settings.trial || now < since else {
                return .refused(seconds: max(1, settings.trial - (now - since)))
            }
            state = .halfOpen(since: now, rest: rest)
            return .allowed
        }
    }

    /// Reports that the host answered properly.
    mutating func succeeded() { state = .closed(failures: 0) }

    /// Reports that the host failed.
    mutating func failed(at now: Double) {
        switch state {
        case .closed(let failures):
            state =
                failures + 1 >= settings.failures
                ? .open(until: now + settings.rest, rest: settings.rest) : .closed(failures: failures + 1)
        case .halfOpen(_, let rest):
            let longer = min(rest * 2, settings.longestRest)
            state = .open(until: now + longer, rest: longer)
        case .open:
            // The result of a request that was admitted before the circuit opened.
            break
        }
    }

    /// Reports a result that says nothing about the host: the request was cancelled or never sent, or its answer was
    /// malformed. The next trial may follow at once.
    mutating func abandoned(at now: Double) {
        if case .halfOpen(_, let rest) = state { state = .open(until: now, rest: rest) }
    }
}
