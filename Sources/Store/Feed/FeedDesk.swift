import Foundation
import StoreWire
import Synchronization

/// Builds the full and incremental feeds, one at a time, and lists those that are complete.
public final class FeedDesk: Sendable {
    /// The state of a desk.
    public struct State: Sendable {
        /// Whether a feed is being built.
        public var isBuilding = false
        /// The reason why the last build failed; nil when it did not.
        public var failure: String?
    }

    private struct Guarded {
        var folder: FeedFolder
        var shelf: FeedShelf
        var state = State()
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The storefronts of the flat feed.
    private let countries: [Storefront]
    private let layouts: Set<FeedLayout>
    private let store: Store
    private let items: CurrentItemIndex
    private let base: @Sendable () -> String
    private let onStep: @Sendable (FeedStep) throws -> Void
    private let workers: Int
    private let guarded: Mutex<Guarded>
    /// Not Swift's threads, which serve requests: a build takes minutes.
    private let queue = DispatchQueue(label: "cornerstore.feed", qos: .utility)

    /// The most items of a storefront that have ranks.
    public static let mostRanked = 5_000
    /// The number of days whose sales count for the ranks.
    static let rankedDays = 7

    /// Opens the folder of the feeds, and removes what interrupted builds left in it.
    /// - Parameters:
    ///   - folder: a folder that nothing else writes to.
    ///   - store: production's store, whose clock and sales count.
    ///   - items: the items of the storefront.
    ///   - base: the storefront's base URL.
    ///   - layouts: the layouts to build.
    ///   - countries: the storefronts of the flat feed, at most ``FeedOrder/mostCountries``.
    /// - Throws: ``StoreError`` when the folder cannot be written.
    public convenience init(
        folder: URL, store: Store, items: CurrentItemIndex, base: @escaping @Sendable () -> String,
        layouts: Set<FeedLayout> = Set(FeedLayout.allCases), countries: [Storefront] = [.unitedStates]
    ) throws {
        try self.init(
            folder: folder, store: store, items: items, base: base, layouts: layouts, countries: countries,
            onStep: { _ in })
    }

    init(
        folder: URL, store: Store, items: CurrentItemIndex, base: @escaping @Sendable () -> String,
        layouts: Set<FeedLayout>, countries: [Storefront], onStep: @escaping @Sendable (FeedStep) throws -> Void
    ) throws {
        let found = try FeedFolder(folder)
        (self.store, self.items, self.base, self.onStep) = (store, items, base, onStep)
        (self.layouts, self.countries) = (layouts, countries)
        workers = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 4)
        guarded = Mutex(Guarded(folder: found, shelf: FeedShelf(found)))
    }

    /// The paths that partners can open.
    public var shelf: FeedShelf { guarded.withLock { $0.shelf } }
    /// The feeds, oldest first.
    public var builds: [FeedBuild] { guarded.withLock { $0.folder.builds } }
    /// Whether a feed is being built, and how the last build ended.
    public var state: State { guarded.withLock { $0.state } }

    /// The feed that is due at the store's time: a full feed each week from Wednesday on, and after a change of the
    /// storefront's address; an incremental feed on each other day. Nil when no feed is missing.
    public func due() -> (mode: FeedMode, day: FeedDay)? {
        let (today, base) = (today, base())
        // The address is not known before the storefront's port is open.
        guard !base.isEmpty else { return nil }
        return guarded.withLock { guarded in
            guard let full = guarded.folder.current, full.manifest.storefront == base else { return (.full, today) }
            guard full.day <= today else { return nil }
            guard full.day >= today.lastWednesday else { return (.full, today) }
            let last = guarded.folder.incrementals(of: full).last?.day ?? full.day
            return last < today ? (.incremental, today) : nil
        }
    }

    /// The store's day.
    public var today: FeedDay { FeedDay(milliseconds: store.clock.milliseconds) }

    /// Builds a feed.
    /// - Parameters:
    ///   - mode: full or incremental; nil for what is due, else full.
    ///   - day: the feed's day; nil for the store's.
    /// - Throws: ``StoreError`` `wrong_state` while another is built, or for an incremental one without a full one
    ///   before it; `unavailable` when it cannot be written, and the previous feed remains; the index's and the
    ///   database's errors; `CancellationError` after ``close()``.
    @discardableResult
    public func build(_ mode: FeedMode? = nil, day: FeedDay? = nil) async throws -> FeedBuild {
        try begin()
        return try await finish(mode, day)
    }

    /// Begins to build a feed, and returns at once. ``state`` tells how it goes.
    /// - Throws: ``StoreError`` as ``build(_:day:)`` does before it builds.
    public func start(
        _ mode: FeedMode?, day: FeedDay?, onEnd: @escaping @Sendable (Result<FeedBuild, any Error>) -> Void
    )
        throws
    {
        _ = try order(mode, day)
        try begin()
        Task {
            do { onEnd(.success(try await finish(mode, day))) } catch { onEnd(.failure(error)) }
        }
    }

    private func begin() throws {
        try guarded.withLock { guarded in
            guard !guarded.isClosed else { throw CancellationError() }
            guard !guarded.state.isBuilding else {
                throw StoreError(.wrongState, "A feed is being built. Wait until it is complete.")
            }
            guarded.state = State(isBuilding: true)
        }
    }

    private func finish(_ mode: FeedMode?, _ day: FeedDay?) async throws -> FeedBuild {
        do {
            let (order, previous) = try order(mode, day)
            let sales = try await sales(before: order.day)
            let build = try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(with: Result { try run(order, previous, sales) })
                }
            }
            end(nil)
            return build
        } catch {
            end((error as? StoreError)?.detail ?? "\(error)")
            throw error
        }
    }

    private func end(_ failure: String?) {
        let waiting = guarded.withLock { guarded in
            guarded.state = State(isBuilding: false, failure: failure)
            defer { guarded.waiting = [] }
            return guarded.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Stops a build that is in progress, and allows no other.
    public func stop() { guarded.withLock { $0.isClosed = true } }

    /// Stops a build that is in progress, and waits until it has ended.
    public func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = guarded.withLock { guarded in
                guarded.isClosed = true
                if guarded.state.isBuilding { guarded.waiting.append(continuation) }
                return !guarded.state.isBuilding
            }
            if isIdle { continuation.resume() }
        }
    }

    /// The order for a build, and the full feed that an incremental one is based on.
    private func order(_ mode: FeedMode?, _ day: FeedDay?) throws -> (FeedOrder, previous: FeedBuild?) {
        let mode = mode ?? due()?.mode ?? .full
        guard !base().isEmpty else {
            throw StoreError(.unavailable, "The storefront is not open yet, so links have no address. Try again.")
        }
        let order = FeedOrder(mode, day ?? today, base: base(), layouts: layouts, countries: countries)
        guard mode == .incremental else { return (order, nil) }
        guard let full = guarded.withLock({ $0.folder.current }) else {
            throw StoreError(.wrongState, "There is no full feed. Build one first.")
        }
        guard full.day <= order.day else {
            throw StoreError(
                .wrongState,
                "The last full feed is of \(full.day), after \(order.day). Build a full feed, or give a later date.")
        }
        guard full.manifest.storefront == order.base else {
            throw StoreError(
                .wrongState, "Links have changed since the last full feed, so all items have. Build a full feed.")
        }
        return (order, full)
    }

    private func sales(before day: FeedDay) async throws -> [FeedSales] {
        var sales: [FeedSales] = []
        let first = day.milliseconds - Int64(Self.rankedDays) * FeedDay.length
        for storefront in Storefront.all {
            let items = try await store.itemSales(
                in: storefront, from: first, until: day.milliseconds, limit: Self.mostRanked)
            if !items.isEmpty { sales.append(FeedSales(storefront: storefront, items: items)) }
        }
        return sales
    }

    private func run(_ order: FeedOrder, _ previous: FeedBuild?, _ sales: [FeedSales]) throws -> FeedBuild {
        var folder = guarded.withLock { $0.folder }
        let build = try folder.build(
            order, previous, readers: try items.value.readers(3), sales: sales, workers: workers, onStep: onStep,
            isStopped: { [self] in try checkOpen() })
        let shelf = FeedShelf(folder)
        guarded.withLock { ($0.folder, $0.shelf) = (folder, shelf) }
        try onStep(.published)
        return build
    }

    /// Builds a feed without ranks from an index alone, to measure it.
    /// - Parameter folder: the folder of the feeds.
    package static func measure(_ order: FeedOrder, of index: ItemIndex, in folder: URL, workers: Int) throws
        -> FeedBuild
    {
        var folder = try FeedFolder(folder)
        return try folder.build(
            order, order.mode == .full ? nil : folder.current, readers: try index.readers(3), sales: [],
            workers: workers, onStep: { _ in }, isStopped: {})
    }

    private func checkOpen() throws {
        if guarded.withLock({ $0.isClosed }) { throw CancellationError() }
    }
}
