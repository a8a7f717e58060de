import Foundation
import Synchronization
import TestSupport

/// Locks, payment bans and sign-outs, which must hold at every store once they are answered, and how long that takes.
extension ClusterRun {
    /// The longest time until a lock holds everywhere, on a busy machine: a second more than the store waits for a
    /// process that has not confirmed it.
    private static let limit = Absence.wait + .seconds(1)

    /// Processes that were killed, until all of them answer again.
    struct Absence: Sendable {
        /// How long a store waits for one that was killed or does not answer: the lease and the slack of a membership.
        static let wait = Duration.milliseconds(1_250)

        let begun: ContinuousClock.Instant
        private var ended: ContinuousClock.Instant?

        init(begun: ContinuousClock.Instant) { self.begun = begun }

        /// Records that all of them answer.
        mutating func end() { ended = max(.now, begun + Self.wait) }

        /// Whether it was going on at any time of a range.
        func overlaps(_ times: ClosedRange<ContinuousClock.Instant>) -> Bool {
            begun <= times.upperBound && ended.map { times.lowerBound <= $0 } ?? true
        }
    }

    /// Forbids an account to buy, at any store, and then tries to buy, at any other.
    func shutOut(
        _ customer: inout ClusterCustomer, _ property: String, during value: Bool, _ control: PatientClient
    ) async throws {
        func body(_ value: Bool) -> [UInt8] { Array("{\"\(property)\":\(value)}".utf8) }
        try await lock(customer.email, "PATCH", body: body(value), control)
        for _ in 0..<3 {
            if let transaction = try await customer.buy("gems") {
                findings.add("\(customer.email) bought \(transaction) although \(property) was \(value) before")
            } else if ["account_locked", "payment_not_allowed"].contains(customer.refusal.code) {
                totals.state.withLock { $0.totals.refused += 1 }
            } else {
                findings.add("\(customer.email) was refused although \(property) was \(value): \(customer.refusal)")
            }
        }
        let reply = try await control.settle("PATCH", account(customer.email), body: body(!value))
        guard reply.status == 200 else { throw KillTestError("\(property): \(reply.text.prefix(300))") }
    }

    /// Signs an account's devices out, at any store, and then tries to buy, at any other.
    func signOut(_ customer: inout ClusterCustomer, _ control: PatientClient) async throws {
        let email = customer.email
        try await lock(email, "DELETE", "/devices", control)
        for _ in 0..<3 {
            if let transaction = try await customer.buy("gems") {
                findings.add("\(email) bought \(transaction) although the device was signed out before")
            } else if customer.refusal == .init(status: 401, code: "not_signed_in") {
                totals.state.withLock { $0.totals.signedOut += 1 }
            } else {
                findings.add("\(email) was refused after a sign-out: \(customer.refusal)")
            }
        }
        try await customer.signIn()
    }

    private func account(_ email: String) -> String { "/control/v1/sandbox/accounts/\(email)" }

    /// Sends a lock, a payment ban or a sign-out, and measures the time from the first attempt to the answer.
    ///
    /// Without a kill, the lock may take ``limit`` more than the longest of the reads that are sent to the same store
    /// meanwhile: a read waits for the busy machine as long, so the rest is the time in which all stores learn of the
    /// lock. Next to a kill, the time is only reported, since attempts fail, writers wait for the dead store, and
    /// starts take the processor.
    private func lock(
        _ email: String, _ method: String, _ suffix: String = "", body: [UInt8]? = nil, _ control: PatientClient
    ) async throws {
        let path = account(email)
        let client = PatientClient(
            addresses: control.addresses, findings: findings, first: Int.random(in: control.addresses.indices))
        let begun = ContinuousClock.now
        let isAnswered = Mutex(false)
        async let reading = longestTime {
            _ = try await client.settle("GET", path)
        } until: {
            isAnswered.withLock { $0 }
        }
        let reply = try await client.settle(method, path + suffix, body: body)
        let took = ContinuousClock.now - begun
        isAnswered.withLock { $0 = true }
        guard reply.status == 200 else {
            throw KillTestError("\(method) \(path + suffix): \(reply.status) \(reply.text.prefix(300))")
        }
        let read = try await reading
        let allowed = Self.limit + read
        let isQuiet = totals.state.withLock { state in
            state.totals.locks.append(took)
            // A kill after the time that is allowed excuses nothing.
            let times = begun...(begun + min(took, allowed))
            guard !state.absences.contains(where: { $0.overlaps(times) }) else { return false }
            state.totals.quietLocks.append(took)
            return true
        }
        findings.check(
            !isQuiet || took <= allowed,
            "\(method) \(path + suffix) took \(took) without a kill, and a read meanwhile \(read)")
    }
}

extension ClusterRun.Totals {
    /// The count of some times, the median, the 99th percentile and the longest.
    static func text(_ times: [Duration]) -> String {
        let sorted = times.sorted()
        guard let longest = sorted.last else { return "0" }
        func percentile(_ percent: Int) -> Duration { sorted[(sorted.count * percent + 99) / 100 - 1] }
        func milliseconds(_ time: Duration) -> Int { Int(time / .milliseconds(1)) }
        return "\(sorted.count) (p50 \(milliseconds(percentile(50))) ms, p99 \(milliseconds(percentile(99))) ms, "
            + "longest \(milliseconds(longest)) ms)"
    }
}
