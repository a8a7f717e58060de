/// The bytes around a feed's rows: separators, header and trailer. `Documentation/PartnerFeed.md` has the facts.
enum FeedGrammar: Sendable {
    /// Files of tables: fields end with 0x01, records with 0x02 and a line feed.
    case relational
    /// Files for spreadsheets: tabs and line feeds.
    case flat

    var fieldEnd: UInt8 { self == .relational ? 0x01 : 0x09 }
    var recordEnd: [UInt8] { self == .relational ? [0x02, 0x0A] : [0x0A] }

    /// The records before the rows.
    func header(of table: FeedTable, _ mode: FeedMode) -> [UInt8] {
        var columns = table.columns
        if self == .flat { columns.removeFirst() }
        var bytes = record("#", columns.map(\.name))
        if self == .relational { bytes += record("#primaryKey:", table.key) }
        bytes += record("#dbTypes:", columns.map(\.type))
        if self == .relational { bytes += record("#exportMode:", [table.isWhole ? FeedMode.full.word : mode.word]) }
        for line in Self.legal { bytes += record("##legal: ", [line]) }
        return bytes
    }

    /// The last record.
    func trailer(rows: Int) -> [UInt8] { record("#recordsWritten:", [String(rows)]) }

    /// A comment that readers drop. It keeps the end of a file within ASCII when no row does.
    var filler: [UInt8] { record("##legal: ", [Self.legal[0]]) }

    private func record(_ start: String, _ fields: [String]) -> [UInt8] {
        Array(start.utf8) + Array(fields.map { Array($0.utf8) }.joined(separator: [fieldEnd])) + recordEnd
    }

    /// How many bytes at a file's end readers decode at once. A character that began before them would be cut.
    static let footer = 40

    /// Some readers take eleven records for the header without looking, so there are at least ten of these.
    static let legal = [
        "This feed lists the items of a store that runs on Cornerstore, with their prices and ranks.",
        "The operator of the store gives it to partners, who may load it into databases of their own.",
        "Partners use it to find the numbers of items and to link to the items' pages.",
        "The operator decides how long partners may keep the data, and with whom they may share it.",
        "Names, descriptions and pictures belong to the creators of the items.",
        "Prices are the amounts that customers of a storefront paid on the day of the feed.",
        "Ranks count the purchases of the seven days before the day of the feed.",
        "An incremental feed has the items that were added or changed since the last full feed.",
        "An item that a full feed does not have is no longer sold.",
        "The feed is provided as it is, without warranties of any kind.",
        "Neither the operator nor the authors of Cornerstore answer for damage from its use.",
        "Apple Inc. has nothing to do with this feed.",
    ]
}
