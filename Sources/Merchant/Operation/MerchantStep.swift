import Database

/// A step of the merchant's work.
///
/// Tests of crashes kill the process at these steps (``Merchant/onStep``).
package enum MerchantStep: String, Sendable, CaseIterable {
    /// A redemption is written and not committed.
    case beforeRedemption = "redemption-before-commit"
    /// A redemption is committed and not answered.
    case afterRedemption = "redemption-after-commit"
    case beforePosting = "posting-before-commit"
    case afterPosting = "posting-after-commit"
    case beforeNotification = "notification-before-commit"
    case afterNotification = "notification-after-commit"
    /// A content file was received completely, in a temporary file.
    case uploadReceived = "upload-received"
    /// The file is stored under its digest, and no content item refers to it.
    case uploadKept = "upload-kept"
    case beforeUpload = "upload-before-commit"
    case afterUpload = "upload-after-commit"
    /// A part of a content file was sent.
    case delivering = "content-delivering"
    /// The response with a content file ended, complete or not.
    case deliveryEnded = "content-ended"
    /// Events are leased to this process and not sent.
    case webhookTaken = "webhook-taken"
    /// The backend has answered, and the answer is not recorded.
    case webhookSent = "webhook-sent"
    case webhookSettled = "webhook-settled"

    /// A transaction that changes users' balances, entitlements or content.
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
    /// Commits a change, reports its steps, and signals new events in the outbox.
    func commit<T: Sendable>(
        _ change: MerchantStep.Change, _ body: @escaping @Sendable (Connection) throws -> T
    ) async throws -> T {
        let result = try await database.write(telling(change, body))
        committed(change)
        return result
    }

    /// Commits a change as ``commit(_:_:)`` does, without suspending a task.
    /// - Parameter completion: called once, on a thread of the database. It must return quickly.
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
