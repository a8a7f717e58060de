import Foundation

extension Section {
    /// The time until `serve` answers, in an empty folder, where it creates its keys, and in an existing one.
    static let startUp = Section(name: "start-up") { setting in
        let catalog = try setting.catalog ?? StoreUnderLoad.catalog()
        var first: [Double] = []
        var later: [Double] = []
        var highest = 0
        for _ in 0..<setting.rounds {
            let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: data) }
            for isFirst in [true, false] {
                let store = try await StoreProcess.start(catalog: catalog, data: data)
                defer { store.child.stop() }
                if isFirst { first.append(store.secondsToAnswer) } else { later.append(store.secondsToAnswer) }
                highest = max(highest, try store.child.memory().highest)
            }
        }
        func list(_ seconds: [Double]) -> String { seconds.map(Figure.format).joined(separator: " ") + " s" }
        print("  first starts: \(list(first))")
        print("  later starts: \(list(later)); at most \(highest >> 20) MiB resident")
        // The slowest, not the median: the time to create RSA keys varies, and the goal is for every start.
        return [.firstStartSeconds(first.max() ?? .nan), .laterStartSeconds(later.max() ?? .nan)]
    }
}
