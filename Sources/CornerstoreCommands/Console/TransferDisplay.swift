import Synchronization

/// Shows a transfer's progress on standard error: a progress bar on a terminal, elsewhere a line for each 10 %.
final class TransferDisplay: Sendable {
    private struct State {
        var meter: TransferMeter
        var shownAt: Duration?
        var shownTenth: Int
    }

    private static let interval = Duration.milliseconds(100)
    private let start = ContinuousClock.now
    private let console: Console
    private let what: String
    private let state: Mutex<State>

    /// - Parameters:
    ///   - what: the label, such as `Uploading`.
    ///   - total: the size of the file in bytes.
    ///   - done: the number of bytes that were already transferred.
    init(_ what: String, total: Int64, done: Int64, console: Console) {
        self.what = what
        self.console = console
        let meter = TransferMeter(total: total, done: done)
        state = Mutex(State(meter: meter, shownAt: nil, shownTenth: meter.percent / 10))
    }

    /// Updates the number of transferred bytes.
    /// - Parameter total: the size of the file in bytes, if it is known better now.
    func note(_ bytes: Int64, of total: Int64? = nil) {
        let time = start.duration(to: .now)
        let text: String? = state.withLock { state in
            state.meter.note(bytes, of: total, at: time)
            let isDone = bytes >= state.meter.total
            if console.showsProgress {
                if !isDone, let shownAt = state.shownAt, time - shownAt < Self.interval { return nil }
                state.shownAt = time
                return "\r\(what) \(state.meter.bar) \(state.meter.text)\u{1B}[K"
            }
            guard state.meter.percent / 10 > state.shownTenth else { return nil }
            state.shownTenth = state.meter.percent / 10
            return "\(what): \(state.meter.text)\n"
        }
        if let text { console.write(text, .error) }
    }

    /// Removes the progress bar, so that later output starts on an empty line.
    func end() {
        if console.showsProgress { console.write("\r\u{1B}[K", .error) }
    }
}
