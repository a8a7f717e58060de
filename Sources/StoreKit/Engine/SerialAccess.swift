/// Admits one caller at a time, in the order of the calls.
actor SerialAccess {
    private var isTaken = false
    private var queue: [CheckedContinuation<Void, Never>] = []

    /// Waits until no other caller is inside, then enters. Each call needs one ``leave()``.
    func enter() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { queue.append($0) }
    }

    /// Leaves, and admits the caller that has waited longest.
    func leave() {
        if queue.isEmpty { isTaken = false } else { queue.removeFirst().resume() }
    }
}
