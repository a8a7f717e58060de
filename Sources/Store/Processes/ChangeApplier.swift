import CornerstoreEncoding
import Database
import StoreWire

/// Applies the changes that other processes of the store announce to the values that this process keeps in memory.
public struct ChangeApplier: Sendable {
    private let sandbox: Store
    private let production: Store
    private let apps: AppRegistry
    private let keys: APIKeys
    private let partners: Partners
    private let managed: ManagedCatalog
    private let reviews: Reviews
    private let content: ContentLibrary?
    private let authority: @Sendable () async throws -> Void
    private let changes: Changes

    /// Creates an applier for the parts of the store that keep values in memory.
    /// - Parameters:
    ///   - content: the hosted content; nil for none.
    ///   - authority: reads the certificate authority again.
    ///   - changes: counts what changes, so that operators' pages follow too.
    public init(
        sandbox: Store, production: Store, apps: AppRegistry, keys: APIKeys, partners: Partners,
        managed: ManagedCatalog, reviews: Reviews, content: ContentLibrary?,
        authority: @escaping @Sendable () async throws -> Void, changes: Changes
    ) {
        self.sandbox = sandbox
        self.production = production
        self.apps = apps
        self.keys = keys
        self.partners = partners
        self.managed = managed
        self.reviews = reviews
        self.content = content
        self.authority = authority
        self.changes = changes
    }

    /// A part of the store whose changes are announced.
    private struct Part: Hashable {
        enum Topic: String {
            case accounts, clock, rules, faults, limits, due
            case apps, keys, authority, partners, managed, reviews, content
        }

        var topic: Topic
        /// The environment of the first six topics; nil for the others, which both environments share.
        var environment: StoreEnvironment?
        /// The part of the topic; empty for all of it.
        var detail = ""
    }

    /// Reads the announced parts again. If one part cannot be read, the others are read nevertheless.
    /// - Parameter heard: the announcements; nil when some may have been missed, so that everything is read again.
    /// - Throws: the first error: ``DatabaseError``, ``StoreError`` `unknown_app` for a managed app that the database
    ///   does not have, and the errors of `authority`. Then call it again with nil.
    public func apply(_ heard: [Announcement]?) async throws {
        let parts: [Part?] = heard?.map { Self.part(of: $0) } ?? [nil]
        var failure: (any Error)?
        var applied: Set<Part> = []
        let wanted = parts.contains(nil) ? Self.all : parts
        for case let part? in wanted where applied.insert(part).inserted {
            do { try await apply(part) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// The part that an announcement is about; nil for a topic of a newer program.
    private static func part(of announcement: Announcement) -> Part? {
        let words = announcement.topic.split(separator: ".", maxSplits: 1)
        guard words.count == 2, let topic = Part.Topic(rawValue: String(words[1])) else { return nil }
        switch words[0] {
        case "sandbox": return Part(topic: topic, environment: .sandbox, detail: announcement.detail)
        case "production": return Part(topic: topic, environment: .production, detail: announcement.detail)
        case "apps": return Part(topic: topic, detail: announcement.detail)
        default: return nil
        }
    }

    /// All parts. The apps come before the catalogs that name them.
    private static let all: [Part?] = {
        let shared: [Part.Topic] = [.apps, .keys, .authority, .partners, .managed, .reviews, .content]
        let own: [Part.Topic] = [.clock, .accounts, .rules, .faults, .limits, .due]
        var all = shared.map { Part(topic: $0) }
        for environment in StoreEnvironment.allCases {
            all += own.map { Part(topic: $0, environment: environment) }
        }
        return all
    }()

    private func apply(_ part: Part) async throws {
        switch part.topic {
        case .apps: try await apps.reload()
        case .keys: try await keys.reload()
        case .authority: try await authority()
        case .partners:
            partners.forget()
            changes.record(ChangeTopic(.feeds, nil))
        case .managed:
            try await managed.reload(ManagedPart(detail: part.detail))
            changes.record(ChangeTopic(.catalog, nil))
        case .reviews:
            try await reviews.recount(Int64(part.detail))
            changes.record(ChangeTopic(.reviews, nil))
        case .content:
            try await content?.refresh(ManagedPart(detail: part.detail))
            changes.record(ChangeTopic(.content, nil))
        case .accounts, .clock, .rules, .faults, .limits, .due:
            try await apply(part, to: part.environment == .production ? production : sandbox)
        }
    }

    private func apply(_ part: Part, to store: Store) async throws {
        switch part.topic {
        case .accounts:
            store.accounts.forget(Hexadecimal.decoded(part.detail).flatMap { $0.isEmpty ? nil : $0 })
            store.changed(.accounts)
        case .clock: try await store.reloadClock()
        case .rules:
            try await store.payments.reload()
            store.changed(.faults)
        case .faults:
            try await store.faults.reload()
            store.changed(.faults)
        case .limits: try await store.rateLimits.reload()
        case .due: store.forgetDueDates()
        case .apps, .keys, .authority, .partners, .managed, .reviews, .content: break
        }
    }
}
