import Foundation
import Store
import StoreWire

extension LayeredSettings where Name == ServeSetting {
    /// Returns how an environment renews subscriptions.
    /// - Throws: ``CommandError`` that names the option.
    func renewals(in environment: StoreEnvironment) throws -> RenewalPolicy {
        var policy = RenewalPolicy.usual(environment)
        let isSandbox = environment == .sandbox
        policy.lead = try lead(
            isSandbox ? .sandboxRenewalLead : .productionRenewalLead, otherwise: policy.lead)
        policy.retryDays = try retryDays(
            isSandbox ? .sandboxRetryDays : .productionRetryDays, before: policy.lastRetryDay,
            otherwise: policy.retryDays)
        return policy
    }

    private func lead(_ setting: ServeSetting, otherwise: Int64) throws -> Int64 {
        guard let text = text(setting) else { return otherwise }
        guard let span = Span(argument: text), span.months == 0,
            (0...RenewalPolicy.longestLead).contains(span.milliseconds)
        else {
            throw CommandError(
                .usage, "\(setting.rawValue) must be a time from 0s to 24h, not “\(Style.printable(text))”.")
        }
        return span.milliseconds
    }

    /// - Parameter end: the day on which the store gives up.
    private func retryDays(_ setting: ServeSetting, before end: Int, otherwise: [Int]) throws -> [Int] {
        guard let text = text(setting) else { return otherwise }
        var days: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let day = Int(part.trimmingCharacters(in: .whitespaces)), day > days.last ?? 0, day < end else {
                throw CommandError(
                    .usage,
                    "\(setting.rawValue) must be ascending days from 1 to \(end - 1), such as 1,3,7, not “\(Style.printable(text))”."
                )
            }
            days.append(day)
        }
        return days
    }
}
