import Database
import ServiceLifecycle
import Store

/// Tells the other processes of a store which topics change here, and records those that change there, so that pages of
/// operators refresh and notifications are sent soon. A hint can be lost.
struct ChangeHints: Service {
    let membership: Membership
    let changes: Changes

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await names in membership.hints() { changes.hear(names) }
                }
                var last = changes.ownSnapshot
                while (try? await Task.sleep(for: Changes.pause)) != nil {
                    let now = changes.ownSnapshot
                    let topics = Changes.names(changedFrom: last, to: now)
                    if !topics.isEmpty { membership.hint(topics) }
                    last = now
                }
                group.cancelAll()
            }
        }
    }
}
