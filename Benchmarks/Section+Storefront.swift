import Foundation
import Store

extension Section {
    /// The index of many items, and searches, lookups and pages that read it.
    static let storefront = Section(name: "storefront") { setting in
        let storefront = try await StorefrontUnderLoad.start(items: setting.items)
        defer { storefront.stop() }
        let index = storefront.index
        let cores = Double((Processors.forServers ?? .all).numbers.count)
        let items = Double(setting.items)
        print(
            String(
                format: "  index of %d items: %.1f s, %.1f s of processor time (%.1f s more to make the items), "
                    + "at most %.0f MiB resident, file of %.0f MiB",
                setting.items, index.seconds, index.processorSeconds, index.itemSeconds, index.mebibytes,
                index.fileMebibytes))
        print(String(format: "  reading them from YAML catalogs: %.0f s", try yamlSeconds() * items))

        let lookups = storefront.lookups()
        let bare = try await lookups.bareEqual(samples: 200)
        defer { bare.child.stop() }
        let (bareRate, lookup) = try await pair(setting, bare, lookups)
        var few = setting
        few.clients = customers
        let search = try await alone(few, storefront.searches())
        let page = try await alone(few, storefront.pages())
        return [
            .indexItemsPerSecond(items / index.seconds), .indexMebibytes(index.mebibytes),
            .lookupOverBare(lookup.over(bareRate)), .searchesPerSecond(search.rate / cores),
            .searchMilliseconds(search.all.percentile(0.99)), .itemPageMilliseconds(page.all.percentile(0.99)),
        ]
    }

    /// The number of clients that search, or read pages, without a pause. More would only wait for each other.
    private static let customers = 8

    /// The seconds to read one item from a catalog in YAML.
    private static func yamlSeconds() throws -> Double {
        let items = SampleItems(count: 2_000)
        let yaml = Array(items.yaml().utf8)
        let start = ContinuousClock.now
        let read = try CornerstoreCatalogFile.read(yaml, file: "items.yaml").items
        guard read.count == items.count else { throw BenchmarkError("the catalog lacks items") }
        return (ContinuousClock.now - start).seconds / Double(items.count)
    }
}
