import KillTestApp

/// What the store's ledger and the app's own log say about one device when all is over.
public struct Verdict: Sendable, Equatable {
    /// Paid purchases.
    public var purchases = 0
    /// Restores that ended well.
    public var restores = 0
    /// What was paid and not delivered, or asked for and journaled and not bought.
    public var lost: [String] = []
    /// What was bought twice for one order, delivered again after it was finished, or granted without a purchase.
    public var doubled: [String] = []
    /// Anything else that is wrong: not finished, of another product, a restore that brought too little.
    public var wrong: [String] = []

    /// Whether nothing is wrong.
    public var isGood: Bool { lost.isEmpty && doubled.isEmpty && wrong.isEmpty }

    /// A transaction of the ledger.
    public struct Transaction: Sendable, Equatable {
        /// The transaction's identifier.
        public var id: String
        /// The identifier of the original transaction.
        public var original: String
        /// The product's identifier.
        public var product: String
        /// How many were bought.
        public var quantity: Int
        /// Whether the app finished the transaction.
        public var isFinished: Bool

        /// Creates a transaction.
        public init(id: String, original: String, product: String, quantity: Int, isFinished: Bool) {
            self.id = id
            self.original = original
            self.product = product
            self.quantity = quantity
            self.isFinished = isFinished
        }
    }

    /// Compares them.
    ///
    /// - Parameters:
    ///   - kept: the products that are bought once and can be restored.
    ///   - contents: the SHA-256 of the file of each product that has hosted content.
    public init(ledger: [Transaction], log: [AppLog.Event], kept: Set<String>, contents: [String: String] = [:]) {
        purchases = ledger.count
        compareGrants(ledger, log)
        compareOrders(log)
        followDeliveries(log)
        followRestores(log, ledger, kept, hosted: Set(contents.keys))
        followContent(log, contents)
    }

    /// What has hosted content is given once all of it is there, and nothing else has any.
    private mutating func followContent(_ log: [AppLog.Event], _ contents: [String: String]) {
        var read: [String: String] = [:]
        for event in log {
            switch event {
            case .content(let transaction, let sha256): read[transaction] = sha256
            case .granted(let transaction, let order):
                if read[transaction] != contents[order.product] {
                    wrong.append("\(transaction) (\(order.product)) was granted with other content than its own")
                }
            case .regranted(let transaction, _, let product):
                if read[transaction] != contents[product] {
                    wrong.append("\(transaction) (\(product)) was restored with other content than its own")
                }
            case .downloadFailed(let transaction): wrong.append("the download of \(transaction) failed")
            default: break
            }
        }
    }

    private mutating func compareGrants(_ ledger: [Transaction], _ log: [AppLog.Event]) {
        var grants: [String: [Order]] = [:]
        for case .granted(let transaction, let order) in log { grants[transaction, default: []].append(order) }
        for row in ledger {
            let granted = grants.removeValue(forKey: row.id) ?? []
            if granted.isEmpty { lost.append("\(row.id) (\(row.product)) was paid and never delivered") }
            if granted.count > 1 { doubled.append("\(row.id) was granted \(granted.count) times") }
            for order in granted where order.product != row.product || order.quantity != row.quantity {
                wrong.append("\(row.id) is \(row.quantity) \(row.product), and was granted as \(order.argument)")
            }
            if !row.isFinished { wrong.append("\(row.id) is not finished") }
        }
        for transaction in grants.keys.sorted() { doubled.append("\(transaction) was granted and never bought") }
    }

    private mutating func compareOrders(_ log: [AppLog.Event]) {
        var asked: [String: Order] = [:]
        var journaled: Set<String> = []
        var bought: [String: Int] = [:]
        for event in log {
            switch event {
            case .asked(let order): asked[order.name] = order
            case .journaled(let name): journaled.insert(name)
            case .failed(let name, let code): lost.append("\(name) failed with \(code)")
            case .granted(let transaction, let order):
                bought[order.name, default: 0] += 1
                if asked[order.name] != order { wrong.append("\(transaction) answers no order: \(order.argument)") }
            default: break
            }
        }
        for (name, count) in bought.sorted(by: { $0.key < $1.key }) where count > 1 {
            doubled.append("\(name) was bought \(count) times")
        }
        for name in journaled.subtracting(bought.keys).sorted() {
            lost.append("\(name) was journaled and never bought")
        }
        for name in journaled.subtracting(asked.keys).sorted() {
            wrong.append("\(name) was journaled and never asked for")
        }
    }

    private mutating func followDeliveries(_ log: [AppLog.Event]) {
        var inThisLaunch: Set<String> = []
        var over: Set<String> = []
        for event in log {
            switch event {
            case .launched: inThisLaunch = []
            case .finished(let transaction), .removed(let transaction): over.insert(transaction)
            case .delivered(let transaction):
                if over.contains(transaction) { doubled.append("\(transaction) came again after it was finished") }
                if !inThisLaunch.insert(transaction).inserted {
                    doubled.append("\(transaction) came twice in one launch")
                }
            default: break
            }
        }
    }

    private mutating func compare(_ brought: [String]?, _ owned: Set<String>, _ isMeant: (String) -> Bool) {
        let (products, all) = ((brought ?? []).filter(isMeant).sorted(), owned.filter(isMeant).sorted())
        if products != all { wrong.append("a restore brought \(products) of \(all)") }
    }

    /// A restore begins when everything is finished: it brings each kept product that was bought before, once.
    ///
    /// What has hosted content is given when that is there, by the end of the launch.
    private mutating func followRestores(
        _ log: [AppLog.Event], _ ledger: [Transaction], _ kept: Set<String>, hosted: Set<String>
    ) {
        let rows = Dictionary(ledger.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var owned: Set<String> = []
        var brought: [String]?
        var hasEnded = false
        var ids: Set<String> = []
        for event in log {
            switch event {
            case .launched: (brought, hasEnded) = (nil, false)
            case .granted(_, let order): if kept.contains(order.product) { owned.insert(order.product) }
            case .restoring: brought = []
            case .regranted(let transaction, let original, let product):
                if !ids.insert(transaction).inserted { doubled.append("\(transaction) was granted twice") }
                if rows[transaction] != nil { wrong.append("\(transaction), restored, has the id of a purchase") }
                if rows[original]?.product != product || rows[original]?.original != original {
                    wrong.append("\(transaction) restores \(original), which is no first purchase of \(product)")
                }
                brought?.append(product)
            case .restored:
                restores += 1
                hasEnded = true
                compare(brought, owned) { !hosted.contains($0) }
            case .ended where hasEnded: compare(brought, owned) { hosted.contains($0) }
            default: break
            }
        }
    }
}
