import Foundation

/// A condition that did not hold in time.
public struct NotInTime: Error, CustomStringConvertible {
    /// Where the condition stands, and how long it was looked at.
    public let description: String
}

/// Looks at a condition every millisecond until it holds.
///
/// - Parameter limit: how long to look. The usual limit is shorter than a test's, so that the failure names the
///   condition's line.
/// - Throws: ``NotInTime``; `CancellationError` when the task is cancelled, as at a test's limit; an error of the
///   condition.
public func until(
    within limit: Duration = .seconds(45), file: String = #fileID, line: Int = #line,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else {
            throw NotInTime(description: "\(file):\(line): The condition did not hold within \(limit).")
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// Does something again and again until a condition holds, at least once. A machine that is busy or stands still
/// meanwhile delays it as long as other work.
///
/// - Returns: The longest time that it took once.
/// - Throws: The error of `body`.
public func longestTime(
    of body: () async throws -> Void, until isOver: () -> Bool
) async throws -> Duration {
    var longest = Duration.zero
    repeat {
        let begun = ContinuousClock.now
        try await body()
        longest = max(longest, ContinuousClock.now - begun)
    } while !isOver() && !Task.isCancelled
    return longest
}

/// Looks at a condition every millisecond until it holds, on a thread that may be blocked: a database's, or one of
/// `RawConnection.run`.
///
/// - Returns: whether the condition held within the limit.
@discardableResult
public func blockUntil(within limit: Duration = .seconds(45), _ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + limit
    while !condition() {
        guard ContinuousClock.now < end else { return false }
        usleep(1_000)
    }
    return true
}
