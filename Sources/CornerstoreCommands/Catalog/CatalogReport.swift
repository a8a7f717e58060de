import Store

/// The apps and products in catalog files, or the errors in them.
struct CatalogReport: Encodable {
    struct App: Encodable {
        var bundleId: String
        var name: String?
        var products: [Product]
    }

    struct Product: Encodable {
        var productId: String
        var kind: String
        var name: String
        /// The price and currency in the app's default storefront; nil when the product is not sold there.
        var price: String?
    }

    struct Item: Encodable {
        var number: Int64
        var kind: String
        var name: String
        /// The price and currency in the United States; nil when the item is not sold there.
        var price: String?

        init(_ item: CatalogItem) {
            number = item.number
            kind = item.kind.rawValue
            name = item.text(for: []).name
            price = item.price(in: .unitedStates).map { "\($0.decimal) \($0.currency)" }
        }
    }

    struct Problem: Encodable {
        var file: String
        var line: Int?
        var column: Int?
        var keyPath: String?
        var message: String

        var text: String {
            CatalogProblem(file: file, line: line, column: column, keyPath: keyPath ?? "", message: message).description
        }
    }

    var valid: Bool
    var apps: [App] = []
    /// The items of the storefront.
    var items: [Item] = []
    var notes: [String] = []
    var problems: [Problem] = []

    init(_ files: [CatalogFile]) {
        do {
            let (catalog, notes) = try Catalog.load(files: files)
            valid = true
            apps = catalog.apps.map(App.init)
            items = catalog.items.map(Item.init)
            self.notes = notes
        } catch {
            valid = false
            problems = error.problems.map { problem in
                Problem(
                    file: problem.file, line: problem.line, column: problem.column,
                    keyPath: problem.keyPath.isEmpty ? nil : problem.keyPath, message: problem.message)
            }
        }
    }

    func text(_ style: Style) -> String {
        var blocks: [String] = []
        for app in apps {
            let title = style.bold(app.bundleId) + (app.name.map { "  \(Style.printable($0))" } ?? "")
            let rows = app.products.map { [$0.productId, $0.kind, $0.price ?? "not sold", $0.name] }
            let table =
                rows.isEmpty
                ? "no products" : Table(heading: ["product", "kind", "price", "name"], rows: rows).text(style)
            blocks.append(title + "\n" + table)
        }
        if !items.isEmpty {
            let rows = items.map { [String($0.number), $0.kind, $0.price ?? "not sold", Style.printable($0.name)] }
            blocks.append(
                style.bold("Items of the storefront") + "\n"
                    + Table(heading: ["number", "kind", "price", "name"], rows: rows).text(style))
        }
        if !notes.isEmpty {
            blocks.append(notes.map { style.dim("note: \(Style.printable($0))") }.joined(separator: "\n"))
        }
        return blocks.joined(separator: "\n\n")
    }
}

extension CatalogReport.App {
    init(_ app: CatalogApp) {
        bundleId = app.bundleID.rawValue
        name = app.name
        products = app.products.map { product in
            CatalogReport.Product(
                productId: product.productID.rawValue, kind: product.kind.rawValue,
                name: product.localizations.first?.displayName ?? product.referenceName ?? "",
                price: product.price(in: app.storefront).map { "\($0.decimal) \($0.currency)" })
        }
    }
}
