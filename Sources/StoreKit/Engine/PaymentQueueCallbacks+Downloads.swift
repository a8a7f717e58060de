/// What the app is told of downloads, on the callback queue as well.
extension PaymentQueueCallbacks {
    func update(_ statuses: [DownloadStateMachine.Status]) {
        callbackQueue.async {
            guard let downloads = self.downloads?.apply(statuses), !downloads.isEmpty else { return }
            self.each { $0.paymentQueue($1, updatedDownloads: downloads) }
        }
    }

    /// The queue holds these no longer: the app may, but they hold one another no more.
    func release(_ transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            let gone = transaction.releaseDownloads()
            downloads?.release(gone.compactMap(\.id))
        }
    }
}
