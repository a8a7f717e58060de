import Foundation
import Logging
import StoreReceipts
import Synchronization

/// Tells the operator of statuses that are no yes. Those that are not the receipt's fault come with every receipt until somebody does something: they are
/// told once a minute.
final class StoreComplaints: Sendable {
    /// In seconds.
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
            logger.info("a store refuses a receipt", metadata: metadata(status))
        case .misconfigured(let status):
            guard isDue(isMisconfigured: true, at: now) else { return }
            logger.error(
                status != .secretMismatch
                    ? "a store cannot read the merchant's requests: look at what lies between the two"
                    : hasSecret
                        ? "the shared secret is wrong: receipts are not verified until the right one is given"
                        : "the store wants a shared secret: receipts with subscriptions are not verified until one is given",
                metadata: metadata(status))
        case .unexplained(let status):
            guard isDue(isMisconfigured: false, at: now) else { return }
            logger.warning("a store's answer says neither yes nor no", metadata: metadata(status))
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
