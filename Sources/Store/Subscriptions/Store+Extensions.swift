import Database
import Foundation
import StoreWire

/// Why a subscription cannot be extended, by Apple's rules.
enum ExtensionObstacle: Error, Sendable, Equatable {
    /// The subscription is not active.
    case notActive
    /// The period is free.
    case freePeriod
    /// The subscription was extended ``Store/mostExtensions`` times in 365 days.
    case extendedOften

    /// The error for the operator.
    fileprivate var storeError: StoreError {
        switch self {
        case .notActive: StoreError(.wrongState, "The subscription is not active.")
        case .freePeriod: StoreError(.wrongState, "A free period cannot be extended.")
        case .extendedOften:
            StoreError(
                .wrongState,
                "A subscription can be extended \(Store.mostExtensions) times in 365 days, and this one was.")
        }
    }
}

/// Extensions: later ends of periods, for one subscription or for all of a product.
extension Store {
    /// The most days of an extension, and how often a subscription can be extended in 365 days (Apple's limits).
    static let (mostExtensionDays, mostExtensions) = (90, 2)

    /// Moves the end of a subscription's current period to a later date, as Apple's “Extend a Subscription Renewal
    /// Date” does. Later renewals follow.
    /// - Parameter days: 1 to 90, by the clocks of Los Angeles; shortened with the tester's renewal rate.
    /// - Throws: ``StoreError`` `unknown_transaction`; `invalid_request` for another number of days; `wrong_state` when
    ///   the subscription is not active, in a free period, or was extended twice in 365 days; ``DatabaseError``.
    public func extend(_ original: TransactionID, days: Int) async throws -> Subscription {
        try Self.checkExtension(days)
        do {
            return try await change(original) { [recorder] in
                try Self.extend(&$0, days: days, at: $1, $2, recorder, $3)
            }
        } catch let obstacle as ExtensionObstacle {
            throw obstacle.storeError
        }
    }

    /// Extends a subscription for a request. A repeated request, by its identifier, changes nothing and has the first
    /// one's result.
    /// - Throws: ``ExtensionObstacle``; ``StoreError`` `unknown_transaction`; ``DatabaseError``.
    func extend(_ original: TransactionID, _ terms: ExtensionTerms) async throws -> RequestedExtension {
        _ = try await change(original) { [recorder] subscription, now, policy, connection in
            guard try ExtensionRequests.find(terms.identifier, of: original, connection) == nil else { return [] }
            let news = try Self.extend(&subscription, days: terms.days, at: now, policy, recorder, connection)
            let made = RequestedExtension(
                originalTransactionID: original, transactionID: subscription.transactionID,
                effectiveDate: subscription.expiresDate)
            try ExtensionRequests.insert(made, terms, at: now, connection)
            return news
        }
        guard let made = try await database.read({ try ExtensionRequests.find(terms.identifier, of: original, $0) })
        else { throw StoreError(.internalError, "The new extension is not in the database.") }
        return made
    }

    private static func checkExtension(_ days: Int) throws {
        guard (1...mostExtensionDays).contains(days) else {
            throw StoreError(.invalidRequest, "A subscription can be extended by 1 to \(mostExtensionDays) days.")
        }
    }

    /// Extends a subscription, and its period in the ledger. The caller saves the subscription.
    /// - Parameter date: when the extension is made, in milliseconds since 1970.
    /// - Throws: ``ExtensionObstacle``, before anything changed; ``DatabaseError``.
    private static func extend(
        _ subscription: inout Subscription, days: Int, at date: Int64, _ policy: RenewalPolicy, _ recorder: Recorder,
        _ connection: Connection
    ) throws -> [SubscriptionNews] {
        guard subscription.isInPeriod(at: date) else { throw ExtensionObstacle.notActive }
        guard try Transactions.find(subscription.transactionID, connection)?.price.milliunits ?? 0 > 0 else {
            throw ExtensionObstacle.freePeriod
        }
        let yearBefore = SubscriptionPeriod(unit: .day, count: -365).end(from: date)
        guard
            try SubscriptionFeed.count(.extended, of: subscription.originalTransactionID, since: yearBefore, connection)
                < mostExtensions
        else { throw ExtensionObstacle.extendedOften }
        let end = subscription.rate.end(
            of: SubscriptionPeriod(unit: .day, count: days), from: subscription.expiresDate)
        try Transactions.setEnd(
            of: subscription.transactionID, subscription.accountID, to: end, recorder, connection)
        return subscription.moveEnd(to: end, at: date, isExtension: true, policy: policy)
    }

    // MARK: All subscriptions of a product

    /// The most requests to extend all subscriptions that are not complete, of an app and of a product. Those of a
    /// product are carried out one after the other.
    static let (mostOpenExtensions, mostOpenExtensionsOfProduct) = (100, 10)

    /// The result of ``extendAll(of:in:days:)``.
    public struct MassExtension: Sendable, Equatable {
        /// The subscriptions that were extended.
        public var succeeded = 0
        /// The subscriptions of the product that are active and cannot be extended.
        public var failed = 0
    }

    /// Extends all active subscriptions of a product. Those that cannot be extended have the news `RENEWAL_EXTENSION`
    /// with `FAILURE`. After a crash in between, the store extends the rest when it runs again; calling this again
    /// would be another extension.
    /// - Throws: ``StoreError`` `invalid_request` for another number of days than 1 to 90; `unavailable` when the
    ///   payment processor cannot be reached, or when 100 extensions of the app or 10 of the product are not complete;
    ///   ``DatabaseError``.
    public func extendAll(of productID: ProductID, in bundleID: BundleID, days: Int) async throws -> MassExtension {
        try Self.checkExtension(days)
        // Nothing is accepted while renewals that are due cannot be charged.
        try await settleSubscriptions()
        let key = UUID().uuidString.lowercased()
        let request = MassExtensionRequest(
            bundleID: bundleID, productID: productID,
            terms: ExtensionTerms(days: days, reason: 0, identifier: ExtensionIdentifier(text: key, key: key)),
            storefronts: nil, acceptedAt: clock.milliseconds)
        try await accept(request)
        try await settleSubscriptions()
        let done = try await database.read { try MassExtensions.find(request, $0) } ?? request
        return MassExtension(succeeded: done.succeeded, failed: done.failed)
    }

    /// Accepts a request to extend all subscriptions of a product. ``settleSubscriptions()`` carries it out. A repeated
    /// request, by its identifier and product, changes nothing.
    /// - Throws: ``StoreError`` `unavailable` when ``mostOpenExtensions`` requests of the app, or
    ///   ``mostOpenExtensionsOfProduct`` of the product, are not complete; ``DatabaseError``.
    func accept(_ request: MassExtensionRequest) async throws {
        try await database.write { connection in
            guard try MassExtensions.find(request, connection) == nil else { return }
            guard try MassExtensions.countOpen(in: request.bundleID, connection) < Self.mostOpenExtensions else {
                throw StoreError(
                    .unavailable,
                    "\(Self.mostOpenExtensions) extensions of all subscriptions are not complete. Try again later.")
            }
            guard
                try MassExtensions.countOpen(in: request.bundleID, of: request.productID, connection)
                    < Self.mostOpenExtensionsOfProduct
            else {
                throw StoreError(
                    .unavailable,
                    "\(Self.mostOpenExtensionsOfProduct) extensions of all subscriptions of this product are not "
                        + "complete. Try again later.")
            }
            try MassExtensions.save(request, connection)
            try connection.announce("due")
        }
        schedule.add(request.acceptedAt)
    }

    /// Carries out a part of the first open request to extend all subscriptions of a product.
    ///
    /// Everything happens as of the date of the request, also when the clock has moved on: first the events due until
    /// then for all subscriptions, then the extensions. An event that became due for a subscription later follows its
    /// extension, because the extension is made early when that comes first (``extendEarly(_:)``).
    /// - Parameters:
    ///   - now: the last date of a request; later ones stay to be done.
    ///   - limit: the most subscriptions.
    /// - Returns: whether a request was open.
    /// - Throws: ``StoreError`` `unavailable` when the payment processor cannot be reached; ``DatabaseError``. The rest
    ///   stays to be done.
    func carryOutExtensions(at now: Int64, limit: Int = Store.mostSettledAtOnce) async throws -> Bool {
        guard let request = try await database.read({ try MassExtensions.next(at: now, $0) }) else { return false }
        try await settle(nil, until: request.acceptedAt)
        _ = try await carryOutBatch(of: request, limit: limit)
        changed(.transactions)
        return true
    }

    /// Makes extensions before their requests come to the subscriptions, and records that they are made. Those of
    /// subscriptions that changed meanwhile are left out.
    /// - Throws: ``DatabaseError``.
    func extendEarly(_ extensions: [PendingExtension]) async throws {
        let (recorder, policy) = (recorder, policy)
        let due = try await database.write { connection -> Int64? in
            var due: [Int64] = []
            for pending in extensions {
                let original = pending.subscription.originalTransactionID
                guard let request = try MassExtensions.find(pending.request, connection),
                    let subscription = try Subscriptions.find(original, connection),
                    subscription == pending.subscription, request.awaits(subscription),
                    try !EarlyExtensions.contain(original, of: request, connection)
                else { continue }
                let date = try Self.extend(subscription, for: request, policy, recorder, connection)
                try EarlyExtensions.insert(original, of: request, succeeded: date != nil, connection)
                if let date { due.append(date) }
            }
            return due.min()
        }
        schedule.add(due)
    }

    /// Extends the next subscriptions of a request, in the database transaction that records its progress. A crash
    /// before or after leaves each subscription extended once or not yet.
    /// - Parameters:
    ///   - request: the request with its progress. When another process was faster, nothing changes.
    ///   - limit: the most subscriptions.
    /// - Returns: the request with its new progress.
    /// - Throws: ``DatabaseError``.
    func carryOutBatch(
        of request: MassExtensionRequest, limit: Int = Store.mostSettledAtOnce
    ) async throws -> MassExtensionRequest {
        // The search can take long, and other changes must not wait for it.
        let part = try await database.read { try Subscriptions.active(for: request, limit: limit, $0) }
        let (recorder, policy) = (recorder, policy)
        let (now, appID) = (clock.milliseconds, apps[request.bundleID]?.appID)
        let (after, due) = try await database.write { connection -> (MassExtensionRequest, Int64?) in
            guard var current = try MassExtensions.find(request, connection) else {
                throw StoreError(.internalError, "An extension of all subscriptions is not in the database.")
            }
            guard current == request else { return (current, nil) }
            let due = try Self.extend(part.originals, for: &current, policy, recorder, connection)
            let early = try EarlyExtensions.take(upTo: part.end, of: current, connection)
            current.succeeded += early.succeeded
            current.failed += early.failed
            if let end = part.end {
                current.last = end
            } else {
                let date = max(now, current.acceptedAt)
                current.completedAt = date
                try SubscriptionFeed.add(
                    summary: current.summary(recorder.environment, appID: appID), of: current.bundleID, at: date,
                    recorder, connection)
            }
            try MassExtensions.save(current, connection)
            return (current, due)
        }
        schedule.add(due)
        return after
    }

    /// Extends those of the subscriptions that the request is still for, and counts them.
    /// - Returns: the earliest due date of those that were extended; nil for none.
    private static func extend(
        _ originals: [TransactionID], for request: inout MassExtensionRequest, _ policy: RenewalPolicy,
        _ recorder: Recorder, _ connection: Connection
    ) throws -> Int64? {
        var due: [Int64] = []
        for original in originals {
            guard let subscription = try Subscriptions.find(original, connection), request.awaits(subscription),
                try request.includesPeriod(of: subscription, connection),
                try !EarlyExtensions.contain(original, of: request, connection)
            else { continue }
            if let date = try extend(subscription, for: request, policy, recorder, connection) {
                request.succeeded += 1
                due.append(date)
            } else {
                request.failed += 1
            }
        }
        return due.min()
    }

    /// Extends a subscription as of the date of a request, or writes the news that it cannot be extended.
    /// - Returns: when something is due for the subscription that was extended; nil when it cannot be extended.
    private static func extend(
        _ before: Subscription, for request: MassExtensionRequest, _ policy: RenewalPolicy, _ recorder: Recorder,
        _ connection: Connection
    ) throws -> Int64? {
        var subscription = before
        do {
            let news = try extend(
                &subscription, days: request.terms.days, at: request.acceptedAt, policy, recorder, connection)
            try Subscriptions.save(subscription, news, recorder, connection)
            return subscription.dueAt ?? subscription.expiresDate
        } catch is ExtensionObstacle {
            let news = before.extensionFailed(at: request.acceptedAt)
            try SubscriptionFeed.add([news], of: before, recorder, connection)
            return nil
        }
    }
}
