import Foundation
import NIOCore
import Store
import StoreWire

/// `cornerstore serve` with an index of ``SampleItems``, and the requests to its storefront.
struct StorefrontUnderLoad: Sendable {
    let index: IndexProcess.Found
    private let items: SampleItems
    private let store: StoreProcess
    private let port: Int
    private let data: URL

    /// Builds the index in a new folder and starts the store in it.
    ///
    /// The index goes to the place where the server looks for the index of its catalog, which has no items. So the
    /// server need not read a catalog of a million items.
    static func start(items count: Int) async throws -> StorefrontUnderLoad {
        let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        do {
            let folder = data.appending(path: "storefront")
            for folder in [data, folder] {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
            let digest = try ItemIndexes(folder: folder).index(of: [CatalogItem]()).digest
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            guard let name = names.first, names.count == 1 else {
                throw BenchmarkError("the folder of the index holds \(names.count) files instead of one")
            }
            let index = try IndexProcess.found(count, folder.appending(path: name), digest: digest)
            let store = try await StoreProcess.start(catalog: try StoreUnderLoad.catalog(), data: data)
            return StorefrontUnderLoad(
                index: index, items: SampleItems(count: count), store: store, port: try store.port("storefront"),
                data: data)
        } catch {
            try? FileManager.default.removeItem(at: data)
            throw error
        }
    }

    /// Stops the store and removes its folder.
    func stop() {
        store.child.stop()
        try? FileManager.default.removeItem(at: data)
    }

    /// Lookups of an item by its number, in a storefront that has the item.
    func lookups() -> ServerUnderLoad {
        server("lookup by id", answer: "\"resultCount\":1,") { item, storefront, _ in
            "/lookup?id=\(item.number)&country=\(storefront.regionCode.lowercased())"
        }
    }

    /// Searches for two words of an item's title, as a customer of a storefront that has the item.
    func searches() -> ServerUnderLoad {
        server("search for two words", answer: "\"trackName\":\"", or: "\"collectionName\":\"") {
            item, storefront, chance in
            let words = item.texts[0].name.split(separator: " ")
            let first = Int(chance.next(below: UInt64(words.count - 1)))
            let term = words[first...(first + 1)].joined(separator: "+").lowercased()
            return "/search?term=\(term)&country=\(storefront.regionCode.lowercased())\(Self.media(item))"
        }
    }

    /// The parameters that find an item's kind. Without any, a search finds songs, films and episodes.
    private static func media(_ item: CatalogItem) -> String {
        switch item.kind {
        case .app: item.platforms == [.mac] ? "&entity=macSoftware" : "&media=software"
        case .album: "&entity=album"
        case .book: "&media=ebook"
        case .song, .film, .episode, .season: ""
        }
    }

    /// Pages of items.
    func pages() -> ServerUnderLoad {
        server("page of an item", answer: "<html") { item, storefront, _ in
            ItemLink.link(to: item, base: "", country: storefront.regionCode)
        }
    }

    /// The number of distinct requests of each kind.
    private static let requests = 20_000

    /// - Parameters:
    ///   - part: a text that every answer holds, unless it holds `other`.
    private func server(
        _ name: String, answer part: String, or other: String? = nil,
        path: (CatalogItem, Storefront, inout SampleChance) -> String
    ) -> ServerUnderLoad {
        var chance = SampleChance(seed: 7)
        let requests = (0..<Self.requests).map { _ -> ByteBuffer in
            let item = items[Int(chance.next(below: UInt64(items.count)))]
            let shown = SampleItems.storefronts.filter { item.availability.includes($0) }
            let storefront = shown[Int(chance.next(below: UInt64(shown.count)))]
            return LoadGenerator.get(path(item, storefront, &chance))
        }
        return ServerUnderLoad(
            name: name, child: store.child, port: port,
            requests: { client, sequence in requests[(client * 617 + sequence) % requests.count] },
            accepts: { body in
                let text = String(decoding: body, as: UTF8.self)
                return [part, other].compactMap { $0 }.contains { text.contains($0) }
            })
    }
}
