import ContentPackages
import Foundation
import TestSupport
import Testing

@Suite("Packages of other tools can be read", .timeLimit(.minutes(1)))
struct ReadTests {
    private let text = Array(String(repeating: "Chapter one. ", count: 50).utf8)

    private func unpacked(_ package: [UInt8], _ directory: TemporaryDirectory) throws -> [String: [UInt8]] {
        let file = directory.url.appending(path: "some.pkg")
        try Data(package).write(to: file)
        guard case .passed(let checked) = try ContentCheck.check(package: file) else {
            Issue.record("refused: \(try ContentCheck.findings(inPackage: file))")
            return [:]
        }
        #expect(checked.info.productID == XarForge.product)
        #expect(checked.info.version == ContentVersion("1.0"))
        #expect(checked.length == Int64(package.count))
        let folder = directory.url.appending(path: "content")
        try checked.package.unpack(into: folder)
        let found = try ContentFolder.read(folder)
        #expect(
            checked.unpackedLength
                == found.values.filter { !$0.starts(with: Array("->".utf8)) }.reduce(0) { $0 + Int64($1.count) })
        return found
    }

    @Test(arguments: [
        ("sha256", 3, ""), ("sha256", 4, ""), ("SHA256", 3, ""), ("sha1", 1, ""), ("SHA1", 1, ""), ("md5", 2, ""),
        ("MD5", 2, ""), ("sha512", 4, ""), ("SHA-512", 4, ""), ("sha512", 3, "sha512\0\0"), ("sha1", 99, ""),
        ("none", 0, ""),
    ])
    func sumsOfAllKinds(style: String, number: Int, name: String) async throws {
        try await TemporaryDirectory.with { directory in
            var forge = XarForge.content()
            (forge.style, forge.headerStyle, forge.headerName) = (style, UInt32(number), Array(name.utf8))
            let found = try unpacked(forge.package(), directory)
            #expect(found["Contents/a.txt"] == text)
        }
    }

    @Test func anArchiveWithoutChecksums() async throws {
        try await TemporaryDirectory.with { directory in
            var forge = XarForge.content()
            (forge.style, forge.headerStyle, forge.hasTableChecksum) = ("none", 0, false)
            let found = try unpacked(forge.package(), directory)
            #expect(found["Contents/a.txt"] == text)
        }
    }

    @Test func theTreeInAFolderWithThePackagesName() async throws {
        try await TemporaryDirectory.with { directory in
            var forge = XarForge.content()
            forge.members = [.folder("Library", [.folder("chapter", forge.members)])]
            let found = try unpacked(forge.package(), directory)
            #expect(Set(found.keys) == ["ContentInfo.plist", "Contents/", "Contents/a.txt"])
        }
    }

    @Test(arguments: [false, true])
    func aProductArchive(isNew: Bool) async throws {
        try await TemporaryDirectory.with { directory in
            var forge = CpioForge.content([
                .folder("./Contents/sub"), .file("./Contents/sub/b", "bb"),
                CpioForge.Entry(path: "./Contents/link", mode: 0o120755, contents: Array("sub/b".utf8)),
            ])
            forge.isNew = isNew
            let found = try unpacked(forge.product().package(), directory)
            #expect(found["Contents/a.txt"] == text)
            #expect(found["Contents/sub/b"] == Array("bb".utf8))
            #expect(found["Contents/link"] == Array("-> sub/b".utf8))
        }
    }

    @Test func aProductArchiveWithThePlaceOfInstallation() async throws {
        try await TemporaryDirectory.with { directory in
            let inner = CpioForge.content().entries.dropFirst()
            let place = "./Library/InAppPurchaseContent/chapter/"
            let forge = CpioForge(
                entries: [.folder("./Library"), .folder("./Library/InAppPurchaseContent")]
                    + inner.map {
                        CpioForge.Entry(path: place + $0.path.dropFirst(2), mode: $0.mode, contents: $0.contents)
                    })
            let found = try unpacked(forge.product().package(), directory)
            #expect(found["Contents/a.txt"] == text)
        }
    }

    @Test(arguments: ["./", "./Library/chapter/"])
    func aProductArchiveWithManyFilesNamedLikeThePropertyListBeforeIt(place: String) async throws {
        try await TemporaryDirectory.with { directory in
            let info = XarForge.info()
            let others = (0..<9).map { CpioForge.Entry.file("\(place)Contents/\($0)/ContentInfo.plist", info) }
            let forge = CpioForge(entries: others + [.file("\(place)ContentInfo.plist", info)])
            let found = try unpacked(forge.product().package(), directory)
            #expect(found["ContentInfo.plist"] == Array(info.utf8))
            #expect(found["Contents/8/ContentInfo.plist"] == Array(info.utf8))
        }
    }

    @Test func aComponentByItself() async throws {
        try await TemporaryDirectory.with { directory in
            let forge = XarForge(members: CpioForge.content().component())
            let found = try unpacked(forge.package(), directory)
            #expect(found["Contents/a.txt"] == text)
        }
    }

    @Test func aPayloadThatIsCompressedTwiceAndOneThatIsNotCompressed() async throws {
        for isPacked in [true, false] {
            try await TemporaryDirectory.with { directory in
                var forge = CpioForge.content()
                if !isPacked {
                    forge.editPayload = { [archive = forge] payload in
                        var copy = archive
                        var plain: [UInt8] = []
                        copy.editArchive = { plain = $0 }
                        _ = copy.payload()
                        payload = plain
                    }
                }
                var component = forge.component()
                component[2].isPacked = isPacked
                let found = try unpacked(XarForge(members: component).package(), directory)
                #expect(found["Contents/a.txt"] == text)
            }
        }
    }

    @Test func aBinaryPlistWithUnknownKeys() async throws {
        try await TemporaryDirectory.with { directory in
            let keys: [String: Any] = [
                "ContentVersion": "1.0", "IAPProductIdentifier": XarForge.product, "Folder": "chapter", "Pages": 12,
                "Bound": true, "Price": 1.5, "List": ["a", ["b": Data([1])]],
            ]
            let plist = try PropertyListSerialization.data(fromPropertyList: keys, format: .binary, options: 0)
            var forge = XarForge.content()
            forge.members[0].contents = [UInt8](plist)
            let file = directory.url.appending(path: "some.pkg")
            try Data(forge.package()).write(to: file)
            let package = try ContentPackage.open(file: file)
            #expect(
                package.info.otherKeys == [
                    "Folder": .string("chapter"), "Pages": .integer(12), "Bound": .boolean(true), "Price": .real(1.5),
                    "List": .array([.string("a"), .dictionary(["b": .data(Data([1]))])]),
                ])
            #expect(try ContentInfo(propertyList: package.info.propertyList()) == package.info)
        }
    }

    @Test func hardLinksAreTwoFiles() async throws {
        try await TemporaryDirectory.with { directory in
            var forge = XarForge.content([
                XarForge.Member(name: "b", type: "hardlink", typeAttributes: " link=\"3\"")
            ])
            forge.members[1].children[0].type = "hardlink"
            forge.members[1].children[0].typeAttributes = " link=\"original\""
            let found = try unpacked(forge.package(), directory)
            #expect(found["Contents/a.txt"] == text)
            #expect(found["Contents/b"] == text)
        }
    }

    @Test func namesAndElementsOfOtherWriters() async throws {
        try await TemporaryDirectory.with { directory in
            var forge = XarForge.content([
                XarForge.Member(name: "w6QudHh0", nameAttributes: " enctype=\"base64\"", contents: [1]),
                .file("a &amp; &#98; &#x63;", "x"), .file("<![CDATA[<d>]]>", "y"),
            ])
            forge.members[1].children[0].extra =
                "<ea id=\"1\"><name>com.apple.x</name><data><length>5</length></data></ea><FinderCreateTime/><!-- <name> -->"
            forge.editXML = {
                $0 = $0.replacing(
                    "<toc>",
                    with: "<toc><creation-time>x</creation-time><signature style='RSA'><size>1</size></signature>")
            }
            let found = try unpacked(forge.package(), directory)
            #expect(found["Contents/ä.txt"] == [1])
            #expect(found["Contents/a & b c"] == Array("x".utf8))
            #expect(found["Contents/<d>"] == Array("y".utf8))
        }
    }

    @Test(arguments: [false, true])
    func openingEndsAtTheLargestSizeAndWhenItIsCancelled(isProduct: Bool) async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appending(path: "some.pkg")
            let bytes = (isProduct ? CpioForge.content().product() : XarForge.content()).package()
            try Data(bytes).write(to: file)
            var limits = ContentLimits()
            limits.packedBytes = Int64(bytes.count)
            #expect(try ContentPackage.open(file: file, limits: limits).length == limits.packedBytes)
            limits.packedBytes -= 1
            let large = #expect(throws: ContentPackageError.self) {
                try ContentPackage.open(file: file, limits: limits)
            }
            #expect(ContentFolder.rules(large?.findings ?? []) == ["size"])
            let cancelled = #expect(throws: ContentPackageError.self) {
                try ContentPackage.open(file: file, isCancelled: { true })
            }
            #expect(cancelled?.code == .cancelled)
        }
    }

    @Test func aMissingFileIsAnErrorAndNotAFinding() {
        let error = #expect(throws: ContentPackageError.self) {
            try ContentCheck.findings(inPackage: URL(filePath: "/nonexistent/a.pkg"))
        }
        #expect(error?.code == .unreadable)
        let folder = #expect(throws: ContentPackageError.self) {
            try ContentCheck.findings(inPackage: FileManager.default.temporaryDirectory)
        }
        #expect(folder?.code == .unreadable)
    }
}
