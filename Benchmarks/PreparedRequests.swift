import Dispatch
import NIOCore
import Synchronization

/// Requests that are made before the measurement, so that making them takes no time of it. Each is sent once.
enum PreparedRequests {
    /// Makes requests, on all cores.
    /// - Parameter request: makes a request from its number, which counts from 0.
    /// - Returns: The requests in their order. Those after the last one are answered 404, and the run fails.
    static func make(
        _ count: Int, _ request: @escaping @Sendable (Int) throws -> ByteBuffer
    ) throws -> LoadGenerator.Requests {
        let made = Mutex((requests: [ByteBuffer?](repeating: nil, count: count), error: (any Error)?.none))
        let portion = 64
        DispatchQueue.concurrentPerform(iterations: (count + portion - 1) / portion) { part in
            for number in (part * portion)..<min((part + 1) * portion, count) {
                do {
                    let one = try request(number)
                    made.withLock { $0.requests[number] = one }
                } catch { made.withLock { $0.error = error } }
            }
        }
        let (found, error) = made.withLock { $0 }
        if let error { throw error }
        let requests = found.compactMap { $0 }
        let next = Counter()
        return { _, _ in
            let number = next.value.add(1, ordering: .relaxed).oldValue
            guard number < requests.count else { return LoadGenerator.get("/no-request-is-left") }
            return requests[number]
        }
    }
}

/// A number that several threads count up.
final class Counter: Sendable { let value = Atomic(0) }
