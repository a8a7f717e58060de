import Foundation
import StoreWire

/// Waits until the customer has bought on a page in a browser or closed it, or the page has expired. When the store
/// cannot be reached, it asks again, until the page has expired in any case.
struct VisitWatch: Sendable {
    let timer: any RetryTimer
    let backoff: Backoff
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// How long the store keeps a page.
    static let lifetime = Duration.seconds(1_800)

    /// - Parameter state: asks for the page's state; nil when the customer is no longer signed in.
    func waitForEnd(_ state: @Sendable () async throws(StoreFailure) -> VisitState?) async {
        let end = now() + Self.lifetime
        var failures = 0
        while !Task.isCancelled, now() < end {
            do throws(StoreFailure) {
                guard try await state() == .open else { return }
                failures = 0
            } catch {
                guard error == .unreachable else { return }
                failures += 1
                await pause(backoff.delay(failures))
            }
        }
    }

    private func pause(_ seconds: Double) async {
        await withCheckedContinuation { continuation in timer.after(seconds: seconds) { continuation.resume() } }
    }
}
