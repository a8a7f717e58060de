import Database

/// A moment in the merchant's work, by name.
///
/// Tests of crashes kill the process at these (``Merchant/onStep``).
package enum MerchantStep: String, Sendable, CaseIterable {
    /// All of a redemption is written, and nothing of it is kept yet.
    case beforeRedemption = "redemption-before-commit"
    /// It is kept, and nobody has been told.
    case afterRedemption = "redemption-after-commit"
    case beforePosting = "posting-before-commit"
    case afterPosting = "posting-after-commit"
    case beforeNotification = "notification-before-commit"
    case afterNotification = "notification-after-commit"
    /// A content file has come whole, and lies aside.
    case uploadReceived = "upload-received"
    /// Its bytes are kept under their digest, and no item has them.
    case uploadKept = "upload-kept"
    case beforeUpload = "upload-before-commit"
    case afterUpload = "upload-after-commit"
    /// A piece of content was sent.
    case delivering = "content-delivering"
    /// Nothing more will be sent of it: it is whole, or was given up.
    case deliveryEnded = "content-ended"
    /// Events are leased to this process, and nothing was sent.
    case webhookTaken = "webhook-taken"
    /// The backend has answered, and nobody has written it down.
    case webhookSent = "webhook-sent"
    case webhookSettled = "webhook-settled"

    /// A transaction that changes what users have, or may have.
    enum Change {
        case redemption, posting, notification, upload

        var before: MerchantStep {
            switch self {
            case .redemption: .beforeRedemption
            case .posting: .beforePosting
            case .notification: .beforeNotification
            case .upload: .beforeUpload
            }
        }

        var after: MerchantStep {
            switch self {
            case .redemption: .afterRedemption
            case .posting: .afterPosting
            case .notification: .afterNotification
            case .upload: .afterUpload
            }
        }
    }
}

extension Merchant {
    /// Commits a change, telling of its steps, and rings for whoever delivers the events in it.
    func commit<T: Sendable>(
        _ change: MerchantStep.Change, _ body: @escaping @Sendable (Connection) throws -> T
    ) async throws -> T {
        let result = try await database.write(telling(change, body))
        committed(change)
        return result
    }

    /// As ``commit(_:_:)``, for callers that have no task to suspend.
    /// - Parameter completion: called once, on one of the database's threads, which it must not keep.
    func commit<T: Sendable>(
        _ change: MerchantStep.Change, _ body: @escaping @Sendable (Connection) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        database.write(telling(change, body)) { [self] result in
            if case .success = result { committed(change) }
            completion(result)
        }
    }

    private func telling<T>(
        _ change: MerchantStep.Change, _ body: @escaping @Sendable (Connection) throws -> T
    ) -> @Sendable (Connection) throws -> T {
        guard let onStep else { return body }
        return { connection in
            let result = try body(connection)
            onStep(change.before)
            return result
        }
    }

    private func committed(_ change: MerchantStep.Change) {
        onStep?(change.after)
        if policy.sendsWebhooks { outboxSignal.send() }
    }
}
