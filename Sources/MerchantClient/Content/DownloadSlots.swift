/// Lets a few in at a time, the others in the order in which they came.
actor DownloadSlots {
    private var free: Int
    private var queue: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = max(1, count) }

    func take() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { queue.append($0) }
    }

    func give() {
        if queue.isEmpty { free += 1 } else { queue.removeFirst().resume() }
    }
}
