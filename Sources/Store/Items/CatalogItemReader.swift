import CornerstoreEncoding
import Foundation
import StoreWire

/// Reads the `items` of a catalog in our own format.
struct CatalogItemReader {
    let files: ItemFiles

    /// Elements of an item's lists, such as its versions.
    private static let list = 500
    /// Items of one file.
    static let items = 20_000

    /// Reads all items. Problems go to the reading of `reader`, the catalog's top level.
    func items(of reader: ObjectReader) -> [CatalogItem] {
        let readers = reader.objects("items", kind: "item", limit: Self.items)
        var (numbers, names) = (Set<Int64>(), [Int64: String]())
        var items: [(item: CatalogItem, reader: ObjectReader)] = []
        for reader in readers {
            guard let item = item(reader) else { continue }
            if !numbers.insert(item.number).inserted {
                reader.problem("number", "\(item.number) appears twice; give one item another number")
            }
            if let name = names.updateValue(item.creator.name, forKey: item.creator.number), name != item.creator.name {
                reader.problem("creator", "number \(item.creator.number) is also \(name)'s; give one another number")
            }
            items.append((item, reader))
        }
        let kinds = Dictionary(items.map { ($0.item.number, $0.item.kind) }, uniquingKeysWith: { first, _ in first })
        for (item, reader) in items {
            guard let place = item.place else { continue }
            let wanted: ItemKind = item.kind == .song ? .album : .season
            if kinds[place.collection] != wanted {
                reader.problem(
                    "collection",
                    "\(place.collection) is not the number of \(wanted == .album ? "an album" : "a season") in this file"
                )
            }
        }
        return items.map(\.item)
    }

    private func item(_ reader: ObjectReader) -> CatalogItem? {
        let number = number(reader, "number", "write the item's number, such as 1400000001")
        let kind = kind(reader)
        let bundleID = kind == .app ? reader.identifier("bundleID", "an app's item names its app") : nil
        if kind != .app, reader.member("bundleID") != nil { reader.problem("bundleID", "only an app has one") }
        let platforms = values(reader, "platforms", ItemPlatform.self)
        let creator = creator(reader)
        let (seller, sellerURL, supportURL) = (
            reader.string("seller"), link(reader, "sellerURL"), link(reader, "supportURL")
        )
        let genres = reader.objects("genres", kind: "genre", limit: 20).compactMap(genre)
        let texts = reader.objects("texts", kind: "itemText", limit: 100).compactMap(text)
        let versions = reader.objects("versions", kind: "version", limit: Self.list).compactMap(version)
        let released = date(reader, "releaseDate") ?? versions.last?.releaseDate
        let artwork = picture(reader, "artwork")
        let screenshots = reader.objects("screenshots", kind: "screenshot", limit: 100).compactMap(screenshot)
        let (preview, file) = (file(reader, "preview"), file(reader, "file"))
        let prices = reader.prices()
        let availability = reader.availability()
        let explicitness =
            reader.member("explicitness") == nil ? ItemExplicitness.notExplicit : value(reader, "explicitness")
        let place = place(reader, kind)
        let duration = reader.int("duration", in: 1...1_000_000_000).map(Int64.init)
        let rating = reader.string("contentRating")
        let (advisories, languages) = (strings(reader, "advisories"), strings(reader, "languages"))
        let system = reader.string("minimumSystemVersion")
        let related = strings(reader, "relatedItems").compactMap { text -> Int64? in
            guard let number = Self.number(text) else {
                reader.problem("relatedItems", "“\(text.prefix(40))” is not an item's number")
                return nil
            }
            return number
        }
        let copyright = reader.string("copyright")
        reader.refuseUnread()
        guard let number, let kind, let creator else { return nil }
        check(reader, kind, platforms, versions, prices, file)
        if genres.isEmpty { reader.missing("genres", "every item has at least one, the primary one first") }
        if texts.isEmpty { reader.missing("texts", "every item has a name in at least one language") }
        if released == nil { reader.missing("releaseDate", "write a day such as 2026-05-31") }
        return CatalogItem(
            number: number, kind: kind, bundleID: bundleID.map { BundleID($0) }, platforms: platforms,
            creator: creator, seller: seller, sellerURL: sellerURL, supportURL: supportURL, genres: genres,
            texts: texts, versions: versions, releaseDate: released ?? 0, artwork: artwork, screenshots: screenshots,
            preview: preview, file: file, prices: prices, availability: availability, contentRating: rating,
            advisories: advisories, explicitness: explicitness ?? .notExplicit, minimumSystemVersion: system,
            languages: languages, relatedItems: related, copyright: copyright, place: place, duration: duration)
    }

    /// Checks the members that one kind needs and another cannot have.
    private func check(
        _ reader: ObjectReader, _ kind: ItemKind, _ platforms: [ItemPlatform], _ versions: [ItemVersion],
        _ prices: CatalogPrices?, _ file: ItemFile?
    ) {
        if kind == .app {
            if platforms.isEmpty { reader.missing("platforms", "write one or more of iphone, ipad and mac") }
            if versions.isEmpty { reader.missing("versions", "an app has at least one version, the newest first") }
            if zip(versions, versions.dropFirst()).contains(where: { $0.releaseDate < $1.releaseDate }) {
                reader.problem("versions", "are not in order; write the newest first")
            }
        } else {
            if !platforms.isEmpty { reader.problem("platforms", "only an app has them") }
            if !versions.isEmpty { reader.problem("versions", "only an app has them") }
        }
        if kind.isCollection {
            if file != nil { reader.problem("file", "a collection has no file of its own; remove it") }
        }
    }

    private func genre(_ reader: ObjectReader) -> ItemGenre? {
        let number = number(reader, "number", "write the genre's number, such as 6014")
        let name = words(reader, "name", "write the genre's English name")
        reader.refuseUnread()
        guard let number, let name else { return nil }
        return ItemGenre(number: number, name: name)
    }

    private func creator(_ reader: ObjectReader) -> ItemCreator? {
        guard let object = reader.object("creator", kind: "creator") else {
            if reader.member("creator") == nil { reader.missing("creator", "write its number and name") }
            return nil
        }
        let number = number(object, "number", "write the creator's number")
        let name = words(object, "name", "write the creator's name")
        object.refuseUnread()
        guard let number, let name else { return nil }
        return ItemCreator(number: number, name: name)
    }

    private func text(_ reader: ObjectReader) -> ItemText? {
        let locale = locale(reader)
        let name = words(reader, "name", "it is the name that customers see")
        let (description, short) = (reader.string("description"), reader.string("shortDescription"))
        reader.refuseUnread()
        guard let locale, let name else { return nil }
        return ItemText(locale: locale, name: name, description: description, shortDescription: short)
    }

    private func version(_ reader: ObjectReader) -> ItemVersion? {
        let version = words(reader, "version", "write one such as 1.2.1")
        let released = date(reader, "releaseDate")
        if released == nil, reader.member("releaseDate") == nil {
            reader.missing("releaseDate", "write a day such as 2026-05-31")
        }
        let notes = reader.objects("notes", kind: "note", limit: 100).compactMap { reader -> ItemNote? in
            let locale = locale(reader)
            let text = words(reader, "text", "it is the text that customers see")
            reader.refuseUnread()
            guard let locale, let text else { return nil }
            return ItemNote(locale: locale, text: text)
        }
        reader.refuseUnread()
        guard let version, let released else { return nil }
        return ItemVersion(version: version, releaseDate: released, notes: notes)
    }

    private func screenshot(_ reader: ObjectReader) -> ItemScreenshot? {
        let platform: ItemPlatform? = value(reader, "platform")
        if platform == nil, reader.member("platform") == nil { reader.missing("platform", "write iphone, ipad or mac") }
        let picture = picture(reader, "picture")
        if picture == nil, reader.member("picture") == nil { reader.missing("picture", "write the file's path") }
        reader.refuseUnread()
        guard let platform, let picture else { return nil }
        return ItemScreenshot(platform: platform, picture: picture)
    }

    private func place(_ reader: ObjectReader, _ kind: ItemKind?) -> ItemPlace? {
        let disc = reader.int("disc", in: 1...1_000)
        let track = reader.int("track", in: 1...10_000)
        guard reader.member("collection") != nil else {
            if track != nil || disc != nil { reader.missing("collection", "a place is one in an album or a season") }
            return nil
        }
        guard kind == .song || kind == .episode else {
            reader.problem("collection", "only a song or an episode is in a collection")
            return nil
        }
        guard let collection = number(reader, "collection", "write the album's or season's number") else { return nil }
        guard let track else {
            reader.missing("track", "write the place in the collection, from 1")
            return nil
        }
        return ItemPlace(collection: collection, disc: disc ?? 1, track: track)
    }

    // MARK: Values

    private func kind(_ reader: ObjectReader) -> ItemKind? {
        let kind: ItemKind? = value(reader, "kind")
        if kind == nil, reader.member("kind") == nil {
            reader.missing("kind", "write \(ItemKind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return kind
    }

    private func value<Value: RawRepresentable & CaseIterable>(_ reader: ObjectReader, _ key: String) -> Value?
    where Value.RawValue == String {
        guard let text = reader.string(key) else { return nil }
        guard let value = Value(rawValue: text) else {
            let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
            reader.problem(key, "“\(text.prefix(40))” is not known; write one of \(known)")
            return nil
        }
        return value
    }

    private func values<Value: RawRepresentable & CaseIterable>(
        _ reader: ObjectReader, _ key: String, _ type: Value.Type
    ) -> [Value] where Value.RawValue == String {
        strings(reader, key).compactMap { text in
            if let value = Value(rawValue: text) { return value }
            let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
            reader.problem(key, "“\(text.prefix(40))” is not known; write one of \(known)")
            return nil
        }
    }

    private func strings(_ reader: ObjectReader, _ key: String) -> [String] {
        let strings = reader.strings(key) ?? []
        guard strings.count <= Self.list else {
            reader.problem(key, "has more than \(Self.list) elements")
            return []
        }
        return strings
    }

    /// Reads a text in any language that is not blank.
    private func words(_ reader: ObjectReader, _ key: String, _ advice: String) -> String? {
        guard let text = reader.string(key) else {
            if reader.member(key) == nil { reader.missing(key, advice) }
            return nil
        }
        guard !text.allSatisfy(\.isWhitespace) else {
            reader.problem(key, "is empty; \(advice)")
            return nil
        }
        return text
    }

    private func locale(_ reader: ObjectReader) -> String? {
        let locale = reader.locale("locale")
        if locale == nil, reader.member("locale") == nil { reader.missing("locale", "write one such as en_US") }
        return locale
    }

    private func number(_ reader: ObjectReader, _ key: String, _ advice: String) -> Int64? {
        guard let text = reader.identifier(key, advice) else { return nil }
        guard let number = Self.number(text) else {
            reader.problem(key, "is not a number from 1 to 999999999999999")
            return nil
        }
        return number
    }

    private static func number(_ text: String) -> Int64? {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text), number > 0
        else { return nil }
        return number
    }

    /// Reads `2026-05-31`, or `2026-05-31T07:00:00Z`, as milliseconds since 1970. A day begins at midnight in UTC.
    private func date(_ reader: ObjectReader, _ key: String) -> Int64? {
        guard let text = reader.string(key) else { return nil }
        let parts = text.split(separator: "T", omittingEmptySubsequences: false)
        let day = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        var time: [Substring] = ["00", "00", "00"]
        if parts.count == 2, parts[1].hasSuffix("Z") {
            time = parts[1].dropLast().split(separator: ":", omittingEmptySubsequences: false)
        }
        let digits = (day + time).map { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil }
        guard parts.count == 1 || (parts.count == 2 && parts[1].hasSuffix("Z")),
            day.map(\.utf8.count) == [4, 2, 2], time.map(\.utf8.count) == [2, 2, 2],
            let year = digits[0], year > 0, let month = digits[1], let date = digits[2],
            let hour = digits[3], let minute = digits[4], let second = digits[5],
            let moment = CivilTime(year: year, month: month, day: date, hour: hour, minute: minute, second: second)
        else {
            reader.problem(key, "“\(text.prefix(40))” is not a date; write one such as 2026-05-31")
            return nil
        }
        return moment.secondsSince1970 * 1000
    }

    /// Reads an address for customers.
    private func link(_ reader: ObjectReader, _ key: String) -> String? {
        guard let text = reader.string(key) else { return nil }
        guard text.utf8.count <= 2048, let url = URL(string: text), ["http", "https"].contains(url.scheme ?? ""),
            url.host?.isEmpty == false
        else {
            reader.problem(key, "is not an address; write one such as https://example.com/help")
            return nil
        }
        return text
    }

    private func picture(_ reader: ObjectReader, _ key: String) -> ItemPicture? {
        guard let name = reader.string(key) else { return nil }
        do { return try files.picture(name) } catch {
            reader.problem(key, "“\(name.prefix(100))” \(error.message)")
            return nil
        }
    }

    private func file(_ reader: ObjectReader, _ key: String) -> ItemFile? {
        guard let name = reader.string(key) else { return nil }
        do { return try files.file(name) } catch {
            reader.problem(key, "“\(name.prefix(100))” \(error.message)")
            return nil
        }
    }
}
