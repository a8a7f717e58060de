import StoreWire

extension DownloadStateMachine {
    enum Action: Sendable, Equatable {
        /// Write these entries to the journal, in one transaction.
        case save([DownloadEntry])
        /// Remove these entries from the journal, in one transaction.
        case forget([TransactionID])
        /// Report these downloads to the observers, in the state given here.
        case update([Status])
        /// Request the content's address from the store, download and unpack it. All resulting events carry `run`.
        case transfer(DownloadEntry, run: Int)
        /// Stop the transfer, and keep the received bytes.
        case halt(TransactionID)
        /// Remove all files of the download, once its transfer has stopped.
        case discard(DownloadEntry)
        /// Remove the package, whose content is unpacked.
        case discardPackage(DownloadEntry)
        /// Call ``waited(for:run:)`` after the `attempt`th delay.
        case wait(for: TransactionID, run: Int, attempt: Int)
        /// Call ``ticked(at:)`` in one second.
        case tick
    }

    /// The status of a download, for the app.
    struct Status: Sendable, Equatable {
        var entry: DownloadEntry
        /// The received bytes on this device.
        var received: Int64
        /// The remaining seconds; nil while they cannot be estimated.
        var timeRemaining: Double?

        var progress: Double {
            if entry.phase == .finished { return 1 }
            return entry.length > 0 ? min(1, max(0, Double(received) / Double(entry.length))) : 0
        }
    }

    /// The outcome of a transfer that was not cancelled.
    enum Outcome: Sendable, Equatable {
        /// The content is unpacked in its folder.
        case finished
        case failed(PaymentFailure)
        /// The network or the store is temporarily unavailable.
        case unreachable
    }
}
