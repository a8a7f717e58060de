import StoreWire

/// Xcode's StoreKit configuration file, versions 1 to 5: JSON, one app, prices in the currency of the file's
/// storefront.
public enum StoreKitConfigurationFile {
    /// Reads a file. `file` is its name for messages. `bundleID` is the app's bundle id if it is known, because the
    /// file does not contain it.
    ///
    /// - Throws: ``CatalogError`` with all problems that were found.
    public static func read(_ bytes: [UInt8], file: String, bundleID: BundleID?) throws(CatalogError) -> CatalogContents
    {
        try checkSize(bytes, CatalogLimits.storeKitFile, file)
        let root = try JSONParser.parse(bytes, file: file)
        let reading = CatalogReading(file: file, dialect: .storeKit)
        let app = readApp(root, bundleID, reading)
        try reading.finish()
        guard let app else { return CatalogContents(apps: [], notes: []) }
        return CatalogContents(apps: [app], notes: reading.notes.map(\.description))
    }

    /// Writes an app in this format, with the layout and keys that Xcode uses for the file version in the app's
    /// settings.
    ///
    /// - Returns: the text, and a line for each property that the format cannot express and the text therefore omits.
    public static func text(of app: CatalogApp) -> (text: String, omitted: [String]) {
        (StoreKitFileWriter(app).document().xcodeText, StoreKitFileWriter.omitted(app))
    }

    static func checkSize(_ bytes: [UInt8], _ limit: Int, _ file: String) throws(CatalogError) {
        guard bytes.count > limit else { return }
        let message = "has \(bytes.count) bytes; at most \(limit) are read"
        throw CatalogError(
            code: .tooLarge,
            problems: [CatalogProblem(file: file, line: nil, column: nil, keyPath: "", message: message)]
        )
    }

    private static func readApp(_ root: SourceNode, _ given: BundleID?, _ reading: CatalogReading) -> CatalogApp? {
        guard let reader = ObjectReader(root, "", kind: "file", reading) else { return nil }
        guard let version = version(reader) else { return nil }
        let identifier = reader.string("identifier")
        let (products, groups) = CatalogReader(reading: reading).contents(of: reader)
        let settings = settings(reader, identifier, version)
        let (bundleID, origin) = BundleIDOrigin.bundleID(
            given: given, productIDs: products.map(\.productID), file: reading.file)
        if let given, !BundleIDOrigin.isBundleID(given.rawValue) {
            reading.problem(nil, "", "the given bundle id is not valid; write it as com.example.app")
        }
        noteOrigin(origin, bundleID, reading)
        return CatalogApp(
            bundleID: bundleID, name: nil, products: products, groups: groups, settings: settings,
            unknown: reader.unknown()
        ).completedForStoreKit
    }

    private static func version(_ reader: ObjectReader) -> StoreKitFileVersion? {
        guard let version = reader.object("version", kind: "version") else {
            if reader.member("version") == nil {
                reader.missing("version", "is this a StoreKit configuration file of Xcode?")
            }
            return nil
        }
        guard let major = version.int("major", in: 0...1_000_000) else {
            if version.member("major") == nil { version.missing("major", "it is a number from 1 to 5") }
            return nil
        }
        guard StoreKitFileVersion.majors.contains(major) else {
            version.problem(
                "major",
                "version \(major) is not supported; save the file with an Xcode that writes version 5 or lower"
            )
            return nil
        }
        return StoreKitFileVersion(major: major, minor: version.int("minor", in: StoreKitFileVersion.minors) ?? 0)
    }

    private static func settings(
        _ reader: ObjectReader, _ identifier: String?, _ version: StoreKitFileVersion
    ) -> CatalogSettings {
        var settings = CatalogSettings(
            identifier: identifier, version: version, storefront: nil, locale: nil, applicationInternalID: nil,
            unknown: [:]
        )
        guard let object = reader.object("settings", kind: "settings") else { return settings }
        settings.storefront = object.storefront("_storefront")
        settings.locale = object.locale("_locale")
        settings.unknown = object.unknown()
        if case .string(let id)? = settings.unknown["_applicationInternalID"] {
            settings.applicationInternalID = id
            settings.unknown["_applicationInternalID"] = nil
        }
        return settings
    }

    private static func noteOrigin(_ origin: BundleIDOrigin, _ bundleID: BundleID, _ reading: CatalogReading) {
        switch origin {
        case .given: break
        case .productIDs:
            reading.note(
                nil, "",
                "uses the common prefix of its product ids, \(bundleID), as the bundle id; give another if that is wrong"
            )
        case .fileName:
            let message =
                "its product ids share no prefix of two parts (as in com.example), so the bundle id is \(bundleID), made from "
            reading.note(nil, "", message + "the file's name; give the app's own")
        }
    }
}
