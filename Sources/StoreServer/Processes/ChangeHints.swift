import Database
import ServiceLifecycle
import Store
import StoreWire

/// Tells the other processes of a store what changes here, and records what changes there. After a change of a topic,
/// operators' pages refresh and notifications are sent soon. After news of an account, its running apps learn of it. A
/// hint can be lost; pages and apps then learn of the change when they next ask.
struct ChangeHints: Service {
    let membership: Membership
    let changes: Changes
    let stores: [Store]

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for store in stores { store.accountNews.share() }
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await names in membership.hints() {
                        changes.hear(names)
                        for store in stores { store.accountNews.hear(accounts(in: names, of: store)) }
                    }
                }
                var last = changes.ownSnapshot
                while (try? await Task.sleep(for: Changes.pause)) != nil {
                    let now = changes.ownSnapshot
                    let topics = Changes.names(changedFrom: last, to: now)
                    if !topics.isEmpty { membership.hint(topics) }
                    for store in stores {
                        let accounts = store.accountNews.takeUntold()
                        if !accounts.isEmpty { membership.hint(accounts.map { prefix(of: store) + $0.rawValue }) }
                    }
                    last = now
                }
                group.cancelAll()
            }
        }
    }

    /// The start of a hint that names an account of a store.
    private func prefix(of store: Store) -> String { "\(store.environment.name).account." }

    private func accounts(in names: [String], of store: Store) -> [AccountID] {
        let prefix = prefix(of: store)
        return names.filter { $0.hasPrefix(prefix) }.map { AccountID(String($0.dropFirst(prefix.count))) }
    }
}
