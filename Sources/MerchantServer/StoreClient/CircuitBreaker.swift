/// Stops asking a host that fails again and again: it is given a rest, and then one request tries whether it is back.
struct CircuitBreaker: Sendable, Equatable {
    /// When it opens, and for how long.
    struct Settings: Sendable, Equatable {
        /// Failures one after another.
        var failures = 8
        /// Seconds that it stays open; twice as long after each trial that failed.
        var rest: Double = 10
        /// Seconds at most.
        var longestRest: Double = 300
        /// Seconds after which a trial that nobody reported of is taken for lost.
        var trial: Double = 60
    }

    /// Whether a request may be made.
    enum Admission: Sendable, Equatable {
        case allowed
        /// Not before so many seconds.
        case refused(seconds: Double)
    }

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Double, rest: Double)
        /// One request is under way, begun at that moment.
        case halfOpen(since: Double, rest: Double)
    }

    let settings: Settings
    private var state = State.closed(failures: 0)

    init(_ settings: Settings) { self.settings = settings }

    /// Whether requests go through as usual.
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Asks for leave to make one request, whose end is to be reported.
    /// - Parameter now: in seconds.
    mutating func admit(at now: Double) -> Admission {
        switch state {
        case .closed: return .allowed
        case .open(let until, let rest):
            // A clock that was put back does not keep it open for longer than it would ever be.
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

    /// The host answered as it should.
    mutating func succeeded() { state = .closed(failures: 0) }

    /// It did not.
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
            // Of a request that was admitted before it opened.
            break
        }
    }

    /// What came of the request says nothing of the host: it was given up, or answered by something else. A trial is made again at once.
    mutating func abandoned(at now: Double) {
        if case .halfOpen(_, let rest) = state { state = .open(until: now, rest: rest) }
    }
}
