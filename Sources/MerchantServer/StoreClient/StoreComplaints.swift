import Foundation
import Logging
import StoreReceipts
import Synchronization

/// Logs the statuses other than success. A status that is not the receipt's fault comes with every receipt until the
/// operator acts, so it is logged at most once a minute.
final class StoreComplaints: Sendable {
    /// The pause between such log lines, in seconds.
    static let pause: TimeInterval = 60

    private let lastTold = Mutex<[Bool: Date]>([:])

    func tell(
        _ verdict: StoreAnswer.Verdict, of host: StoreClient.Host, hasSecret: Bool, at now: Date, _ logger: Logger
    ) {
        func metadata(_ status: VerifyReceiptStatus) -> Logger.Metadata {
            [
                "host": .string(host.rawValue), "status": .stringConvertible(status.rawValue),
                "meaning": .string(status.meaning ?? "not documented"),
            ]
        }
        switch verdict {
        case .answered: break
        case .rejected(let status):
            logger.info("a store refused a receipt", metadata: metadata(status))
        case .misconfigured(let status):
            guard isDue(isMisconfigured: true, at: now) else { return }
            logger.error(
                status != .secretMismatch
                    ? "a store cannot read the merchant's requests: check the proxies between the two"
                    : hasSecret
                        ? "the shared secret is wrong: receipts are not verified until the right one is given"
                        : "the store wants a shared secret: receipts with subscriptions are not verified until one is given",
                metadata: metadata(status))
        case .unexplained(let status):
            guard isDue(isMisconfigured: false, at: now) else { return }
            logger.warning("a store's answer does not decide about the receipt", metadata: metadata(status))
        }
    }

    private func isDue(isMisconfigured: Bool, at now: Date) -> Bool {
        lastTold.withLock { told in
            if let last = told[isMisconfigured], now >= last, now < last + Self.pause { return false }
            told[isMisconfigured] = now
            return true
        }
    }
}
