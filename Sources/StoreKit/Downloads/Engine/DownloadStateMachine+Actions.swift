import StoreWire

extension DownloadStateMachine {
    enum Action: Sendable, Equatable {
        /// Write these to the journal, in one transaction.
        case save([DownloadEntry])
        /// Take these out of the journal, in one transaction.
        case forget([TransactionID])
        /// Tell the observers of these, as they are here.
        case update([Status])
        /// Ask the store where the content is, download and unpack it; `run` is told with all that comes of it.
        case transfer(DownloadEntry, run: Int)
        /// Stop the transfer, and keep what came.
        case halt(TransactionID)
        /// Remove all files of it, once its transfer has stopped.
        case discard(DownloadEntry)
        /// Remove the package, whose content is unpacked.
        case discardPackage(DownloadEntry)
        /// Come back with ``waited(for:run:)`` after the `attempt`th delay.
        case wait(for: TransactionID, run: Int, attempt: Int)
        /// Come back with ``ticked(at:)`` in a second.
        case tick
    }

    /// How a download stands, as the app is told.
    struct Status: Sendable, Equatable {
        var entry: DownloadEntry
        /// Bytes on this device.
        var received: Int64
        /// Seconds; nil while it cannot be told.
        var timeRemaining: Double?

        var progress: Double {
            if entry.phase == .finished { return 1 }
            return entry.length > 0 ? min(1, max(0, Double(received) / Double(entry.length))) : 0
        }
    }

    /// How a transfer ended by itself.
    enum Outcome: Sendable, Equatable {
        /// The content is unpacked, in its place.
        case finished
        case failed(PaymentFailure)
        /// The network, or the store for the moment, is to blame.
        case unreachable
    }
}
