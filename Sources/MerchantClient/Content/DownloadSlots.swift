/// Limits the number of simultaneous downloads. Waiting downloads start in the order in which they arrived.
actor DownloadSlots {
    private var free: Int
    private var queue: [(number: Int, turn: CheckedContinuation<Bool, Never>)] = []
    private var nextNumber = 0

    init(_ count: Int) { free = max(1, count) }

    /// Waits for a slot. The caller gives it back with ``give()``.
    ///
    /// - Returns: false, without a slot, when the task was cancelled first.
    func take() async -> Bool {
        guard !Task.isCancelled else { return false }
        guard free == 0 else {
            free -= 1
            return true
        }
        nextNumber += 1
        let number = nextNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                if Task.isCancelled { turn.resume(returning: false) } else { queue.append((number, turn)) }
            }
        } onCancel: {
            Task { await leave(number) }
        }
    }

    func give() {
        if queue.isEmpty { free += 1 } else { queue.removeFirst().turn.resume(returning: true) }
    }

    private func leave(_ number: Int) {
        guard let index = queue.firstIndex(where: { $0.number == number }) else { return }
        queue.remove(at: index).turn.resume(returning: false)
    }
}
