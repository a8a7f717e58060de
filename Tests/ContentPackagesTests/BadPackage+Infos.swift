import ContentPackages
import Foundation

extension BadPackage {
    /// `ContentInfo.plist` missing or wrong, or not the one that is expected.
    static let infos: [BadPackage] = [
        BadPackage("no plist", .infoMissing) {
            XarForge(members: [.folder("Contents", [.file("a", "a")])]).package()
        },
        info("an empty plist", ""),
        info("a plist of noise", "\u{1}\u{2}\u{3}\u{4}"),
        info("a plist that is a list", "<plist version=\"1.0\"><array/></plist>"),
        info("a plist a thousand deep", "<plist>" + String(repeating: "<array>", count: 1000)),
        BadPackage("a binary plist whose lists repeat one another", .infoKeys) {
            var forge = XarForge.content()
            forge.members[0] = XarForge.Member(name: "ContentInfo.plist", contents: repeatingPlist)
            return forge.package()
        },
        info("no product", plist("<key>ContentVersion</key><string>1.0</string>")),
        info("no version", plist("<key>IAPProductIdentifier</key><string>a.b</string>")),
        info(
            "the product under the misprinted key",
            plist("<key>ContentVersion</key><string>1.0</string><key>IAPProductionIdentifier</key><string>a.b</string>")
        ),
        info("a product with a slash", XarForge.info(product: "a/b")),
        info("a product of 300 letters", XarForge.info(product: String(repeating: "a", count: 300))),
        info("a version in words", XarForge.info(version: "first")),
        info("an empty version", XarForge.info(version: "")),
        info(
            "a version that is a number",
            plist("<key>ContentVersion</key><real>1.0</real><key>IAPProductIdentifier</key><string>a.b</string>")),
        info(
            "a plist of a hundred thousand bytes",
            XarForge.info(more: "<key>a</key><string>\(String(repeating: "a", count: 100_000))</string>")),
        BadPackage("another product", .product, expecting: ContentExpectation(productID: "com.example.app.other")) {
            XarForge.content().package()
        },
        BadPackage("the live version again", .version, expecting: ContentExpectation(above: ContentVersion("1"))) {
            XarForge.content().package()
        },
        BadPackage("a lower version", .version, expecting: ContentExpectation(above: ContentVersion("1.10"))) {
            XarForge.content(info: XarForge.info(version: "1.9")).package()
        },
    ]

    private static func info(_ name: String, _ text: String) -> BadPackage {
        BadPackage(name, .infoKeys) { XarForge.content(info: text).package() }
    }

    /// A valid binary plist with one more key. Its value is an array of the same array twice, and so on 18 times, which
    /// stands for 2^18 values.
    private static var repeatingPlist: [UInt8] {
        func text(_ text: String) -> [UInt8] { [0x5F, 0x10, UInt8(text.utf8.count)] + Array(text.utf8) }
        var objects: [[UInt8]] = [
            [0xD3, 1, 2, 3, 4, 5, 6], text("IAPProductIdentifier"), text("ContentVersion"), text("a"),
            text(XarForge.product), text("1.0"),
        ]
        for _ in 0..<18 {
            let next = UInt8(objects.count + 1)
            objects.append([0xA2, next, next])
        }
        objects.append([0xA0])
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += XarForge.bigEndian(UInt16(bytes.count))
            bytes += object
        }
        let table = UInt64(bytes.count)
        bytes += offsets
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        bytes += XarForge.bigEndian(UInt64(objects.count))
        bytes += XarForge.bigEndian(UInt64(0))
        bytes += XarForge.bigEndian(table)
        return bytes
    }

    private static func plist(_ keys: String) -> String { "<plist version=\"1.0\"><dict>\(keys)</dict></plist>" }
}
