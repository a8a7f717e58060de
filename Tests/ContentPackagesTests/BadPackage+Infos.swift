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

    private static func plist(_ keys: String) -> String { "<plist version=\"1.0\"><dict>\(keys)</dict></plist>" }
}
