/// The app's callbacks about downloads, also on the callback queue.
extension PaymentQueueCallbacks {
    func update(_ statuses: [DownloadStateMachine.Status]) {
        callbackQueue.async {
            guard let downloads = self.downloads?.apply(statuses), !downloads.isEmpty else { return }
            self.each { $0.paymentQueue($1, updatedDownloads: downloads) }
        }
    }

    /// Updates downloads that the app has not started, whose content may have a newer version in the store. The report
    /// of their transactions follows.
    func renew(_ statuses: [DownloadStateMachine.Status]) {
        callbackQueue.async { _ = self.downloads?.apply(statuses) }
    }

    /// Breaks the reference cycles between transactions that have left the queue and their downloads.
    func release(_ transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            let gone = transaction.releaseDownloads()
            downloads?.release(gone.compactMap(\.id))
        }
    }
}
