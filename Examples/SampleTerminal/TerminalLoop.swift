import Foundation

/// The app's reaction to an event or to a line.
public enum Next: Equatable, Sendable {
    /// Continue the loop.
    case goOn
    /// End the app with this exit code.
    case end(Int32)
}

/// The loop of a sample app in a terminal. It handles the app's events and the user's lines one at a time, and asks the
/// user only while the app is idle, because StoreKit's payment sheet uses the same terminal.
///
/// The samples share this loop. Their StoreKit code is not shared, so that each sample can be read on its own.
@MainActor
public final class TerminalLoop<Event: Sendable> {
    private enum Input: Sendable {
        case event(Event)
        case typed(String?)
        /// The loop sends this to itself to learn that no event followed. The value is the number of events before it.
        case idle(after: Int)
    }

    private let inputs: AsyncStream<Input>
    private let continuation: AsyncStream<Input>.Continuation
    private var eventCount = 0
    private var isPrompting = false
    private var isIdleSent = false

    /// Creates a loop.
    public init() { (inputs, continuation) = AsyncStream.makeStream(of: Input.self) }

    /// Adds an event for the loop. Any thread may call it.
    public nonisolated func send(_ event: Event) { continuation.yield(.event(event)) }

    /// Runs the loop.
    ///
    /// - Parameters:
    ///   - question: The question to ask while the app is idle; nil to return instead.
    ///   - pause: How long the app must be idle, in seconds.
    ///   - isIdle: Whether the app waits for nothing.
    ///   - onEvent: Handles an event.
    ///   - onLine: Handles a line of the user. The end of the input ends the app with exit code 0.
    /// - Returns: The exit code, or nil when the app became idle and there is no question.
    public func run(
        question: String?, pause: Double = 0, isIdle: @MainActor () async -> Bool,
        onEvent: @MainActor (Event) -> Next, onLine: @MainActor (String) -> Next
    ) async -> Int32? {
        for await input in inputs {
            var next = Next.goOn
            var isQuiet = false
            switch input {
            case .event(let event):
                eventCount += 1
                next = onEvent(event)
            case .typed(let line):
                isPrompting = false
                if line == nil { print() }
                next = line.map { onLine($0) } ?? .end(0)
            case .idle(let count):
                isIdleSent = false
                isQuiet = count == eventCount
            }
            if case .end(let code) = next { return code }
            guard await isIdle() else { continue }
            // The app's last events may still be in the stream.
            if !isQuiet {
                sendIdle(after: pause)
            } else if let question {
                ask(question)
            } else {
                return nil
            }
        }
        return nil
    }

    /// Handles the app's events, without a terminal, until the task is cancelled.
    public func handleEvents(_ onEvent: @MainActor (Event) -> Void) async {
        for await case .event(let event) in inputs { onEvent(event) }
    }

    private func sendIdle(after pause: Double) {
        guard !isIdleSent else { return }
        isIdleSent = true
        let (count, continuation) = (eventCount, continuation)
        if pause > 0 {
            DispatchQueue.main.asyncAfter(deadline: .now() + pause) { continuation.yield(.idle(after: count)) }
        } else {
            continuation.yield(.idle(after: count))
        }
    }

    private func ask(_ question: String) {
        guard !isPrompting else { return }
        isPrompting = true
        print(question, terminator: " ")
        fflush(nil)
        let continuation = continuation
        Thread { continuation.yield(.typed(readLine())) }.start()
    }
}
