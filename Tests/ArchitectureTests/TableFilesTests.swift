import Testing

@Suite("One file has the SQL of a table", .timeLimit(.minutes(1)))
struct TableFilesTests {
    private static let joins: [(join: TableFiles.Join, reason: String)] = [
        (
            .init(table: "credit_lots", file: "Merchant/Ledger/Ledger.swift"),
            "a spend reads the balance and the next expiry in one statement; the audit compares lots with entries"
        ),
        (
            .init(table: "redemptions", file: "Merchant/Ledger/Ledger.swift"),
            "the audit finds grants without a redemption"
        ),
        (
            .init(table: "subscriptions", file: "Merchant/Entitlements/Rights.swift"),
            "a user's rights are listed with the renewal of their subscriptions"
        ),
        (
            .init(table: "ledger_entries", file: "Merchant/Ledger/UserNames.swift"),
            "there is no table of users: the next user has the least name in three tables"
        ),
        (
            .init(table: "entitlements", file: "Merchant/Ledger/UserNames.swift"),
            "there is no table of users: the next user has the least name in three tables"
        ),
        (
            .init(table: "redemptions", file: "Merchant/Ledger/UserNames.swift"),
            "there is no table of users: the next user has the least name in three tables"
        ),
        (
            .init(table: "hosted_products", file: "Store/Content/HostedVersion.swift"),
            "only versions of products whose hosting is on can be downloaded"
        ),
        (
            .init(table: "purchases", file: "Store/Attempts/Attempts.swift"),
            "an attempt is listed with the purchase that it asked for"
        ),
        (
            .init(table: "item_requests", file: "Store/Attempts/Attempts.swift"),
            "an attempt is listed with the request for an item that was not bought at once"
        ),
        (
            .init(table: "item_purchases", file: "Store/Attempts/Attempts.swift"),
            "an attempt is listed with the purchase that a request for an item led to"
        ),
        (
            .init(table: "subscriptions", file: "Store/Families/FamilyShares.swift"),
            "what a member sees changes with the purchasers' subscriptions"
        ),
        (
            .init(table: "transactions", file: "Store/Accounts/Accounts.swift"),
            "an account is listed with the date of its last purchase"
        ),
        (
            .init(table: "transactions", file: "Store/Purchases/Purchase.swift"),
            "a restore finds paid purchases without a transaction"
        ),
    ]

    /// The index of items is a file that its builder writes once, and that is only read afterwards.
    private static let indexJoins = ["about", "common_countries", "items", "names", "words"].map {
        TableFiles.Join(table: $0, file: "Store/Items/Index/ItemIndex.swift")
    }

    /// - Parameter least: fewer tables would mean that the statements were not found.
    @Test(arguments: [("Database", 4), ("Merchant", 10), ("Store", 60), ("StoreKit", 3)])
    func everyTableHasItsFile(_ module: String, least: Int) throws {
        let files = TableFiles(try SourceTree.sources().filter { $0.path.hasPrefix("Sources/\(module)/") })
        #expect(files.tables.count >= least)
        let joins = Set((Self.joins.map(\.join) + Self.indexJoins).filter { $0.file.hasPrefix("\(module)/") })
        for violation in files.violations(allowing: joins) { Issue.record("\(violation)") }
        for join in files.unused(joins) { Issue.record("\(join.file) does not read \(join.table)") }
    }

    private static let schema = SwiftSource(
        path: "Sources/Shop/Schema/Shop.swift", text: #""CREATE TABLE goods (id TEXT)"; "INSERT INTO goods (id)""#)

    @Test(arguments: [
        (["INSERT INTO goods (id)", "SELECT id FROM notes"], 0), (["INSERT INTO goods (id)", "UPDATE goods SET"], 1),
        (["DELETE FROM goods", "SELECT id FROM goods"], 1), (["SELECT FROM goods", "JOIN goods ON"], 1),
        (["SELECT id FROM goods UPDATE\n    goods SET", "// UPDATE goods SET"], 0),
    ])
    func theRuleFindsSecondFiles(statements: [String], count: Int) {
        let sources = statements.enumerated().map {
            SwiftSource(path: "Sources/Shop/\($0.offset).swift", text: $0.element)
        }
        let files = TableFiles([Self.schema] + sources)
        #expect(files.violations(allowing: []).count == count)
        let join = TableFiles.Join(table: "goods", file: "Shop/1.swift")
        let isReader = statements[1].contains(/FROM goods|JOIN goods/) && !statements[1].contains("DELETE")
        #expect(files.unused([join]).isEmpty == isReader)
        if isReader { #expect(files.violations(allowing: [join]).isEmpty) }
    }
}
