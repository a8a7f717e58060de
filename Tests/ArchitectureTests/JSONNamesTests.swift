import Testing

@Suite("The names of identifiers in JSON", .timeLimit(.minutes(1)))
struct JSONNamesTests {
    /// Swift writes `productID`, and JSON `productId` as Apple's formats do, on every port. Both write
    /// `notificationUUID`.
    @Test func everyIdentifierOfAMessageIsRenamed() throws {
        var count = 0
        let folders = ["Sources/StoreWire/", "Sources/MerchantWire/", "Sources/ControlWire/"]
        for source in try SourceTree.sources() where folders.contains(where: source.path.hasPrefix) {
            let declared = source.lines.compactMap { $0.wholeMatch(of: /\s*public var (\w*[a-z]ID)(s?): [^{]+/) }
                .map { "\($0.1)\($0.2)" }
            let renamed = source.lines.compactMap { $0.wholeMatch(of: /\s*case (\w+)ID(s?) = "(\w+)Id(s?)"/) }
            #expect(declared.sorted() == renamed.map { "\($0.1)ID\($0.2)" }.sorted(), "\(source.path)")
            #expect(renamed.allSatisfy { $0.1 == $0.3 && $0.2 == $0.4 }, "\(source.path)")
            count += declared.count
        }
        #expect(count > 30)
    }
}
