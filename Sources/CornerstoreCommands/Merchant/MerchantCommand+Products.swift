import ArgumentParser
import Foundation
import Merchant
import MerchantWire
import StoreWire

extension MerchantCommand {
    struct Products: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List and change the products. A running server applies changes within a second.",
            discussion: """
                A product defines what one unit grants. Its price and name come from the store. If a file given to the server with --products \
                contains the product, that file overrides your changes when the server starts again.

                  cornerstore merchant products list
                  cornerstore merchant products put com.example.books.coins100 --kind consumable --credits 100:coins
                  cornerstore merchant products remove com.example.books.coins100
                  cornerstore merchant products load Books.yaml
                """,
            subcommands: [List.self, Show.self, Put.self, Remove.self, Load.self], defaultSubcommand: List.self)

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "List the products and their grants.",
                discussion: "  cornerstore merchant products list --json")

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let list = try await place.withMerchant { try await $0.allProducts() }
                try Console.current.report(list, json: output.json) { style in
                    list.products.isEmpty
                        ? "No products. Add one with “cornerstore merchant products put” or “load”."
                        : ProductText.table(list.products, style)
                }
            }
        }

        struct Show: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Show a product.",
                discussion: "  cornerstore merchant products show com.example.books.coins100")

            @OptionGroup var target: ProductTarget
            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let product = try await place.withMerchant { merchant in
                    let list = try await merchant.allProducts().products
                    let app = try target.known(in: list)
                    return list.first { $0.bundleID == app && $0.productID == target.productID }
                }
                guard let product else { return }
                try Console.current.report(product, json: output.json) { ProductText.fields(product, $0) }
            }
        }

        struct Put: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Add a product, or change an existing one.",
                discussion: """
                    For an existing product, only the given settings change. --credits, --entitlement and --content together replace all its grants. \
                    Earlier redemptions do not change. A product's kind cannot change, because its purchases depend on it.

                      cornerstore merchant products put com.example.books.coins100 --kind consumable --credits 100:coins
                      cornerstore merchant products put com.example.books.bonus --kind consumable --credits 5:coins:30d
                      cornerstore merchant products put com.example.books.issue12 --kind nonConsumable --content issue-12 --entitlement reader
                      cornerstore merchant products put com.example.books.issue12 --shelf magazines
                      cornerstore merchant products put com.example.books.coins100 --off-sale
                    """)

            @OptionGroup var target: ProductTarget
            @OptionGroup var change: ProductChange
            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                try change.checkIsNamed()
                let (target, change, console) = (target, change, Console.current)
                let product = try await place.withMerchant(orNew: target.app != nil) { merchant in
                    let list = try await merchant.allProducts().products
                    let app = try target.seller(in: list)
                    if !list.isEmpty, !list.contains(where: { $0.bundleID == app }) {
                        console.remark(
                            console.style.dim(
                                "note: \(Style.printable(app.rawValue)) is a new app on this list"))
                    }
                    try await Products.remarkFile(app, target.productID, merchant)
                    let product = try await merchant.edit(app, target.productID) { old in
                        try change.applied(to: old, app, target.productID)
                    }
                    try await remarkContent(of: product, merchant)
                    return product
                }
                try console.report(product, json: output.json) { ProductText.fields(product, $0) }
            }

            /// Prints a note for each content item that the product grants and that does not exist yet.
            private func remarkContent(of product: MerchantProduct, _ merchant: Merchant) async throws {
                let given = product.grants.compactMap { if case .content(let item) = $0 { item } else { nil } }
                guard !given.isEmpty else { return }
                let there = Set(try await merchant.contentList().items.map(\.item))
                let console = Console.current
                for item in given where !there.contains(item) {
                    let name = Style.printable(item.rawValue)
                    console.remark(
                        console.style.dim(
                            "note: content \(name) does not exist yet; add it with “cornerstore merchant content put \(name) FILE”"
                        ))
                }
            }
        }

        struct Remove: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Take a product off sale. Its purchases can still be redeemed.",
                discussion: """
                    --delete removes the product from the list. Its purchases can then no longer be redeemed. Use it for products added by mistake.

                      cornerstore merchant products remove com.example.books.coins100
                      cornerstore merchant products remove com.example.books.misspelt --delete
                    """)

            @OptionGroup var target: ProductTarget
            @Flag(help: "Remove the product from the list. Its purchases can no longer be redeemed.")
            var delete = false
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let (target, delete) = (target, delete)
                let app = try await place.withMerchant { merchant in
                    let app = try target.known(in: try await merchant.allProducts().products)
                    try await Products.remarkFile(app, target.productID, merchant)
                    if delete {
                        try await merchant.deleteProduct(app, target.productID)
                    } else {
                        try await merchant.edit(app, target.productID) { old in
                            guard var product = old else {
                                throw MerchantError(.notFound, "The product does not exist.")
                            }
                            product.isOnSale = false
                            return product
                        }
                    }
                    return app
                }
                let name = "\(Style.printable(target.product)) of \(Style.printable(app.rawValue))"
                Console.current.print(delete ? "\(name) is deleted." : "\(name) is off sale.")
            }
        }

        struct Load: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Load an app's products from a file.",
                discussion: """
                    A product that was loaded from a file before and is missing from this file goes off sale. Its purchases can still be redeemed. \
                    Products added with “products put” stay unchanged, unless the file contains them.

                      cornerstore merchant products load Books.yaml
                    """)

            @Argument(
                help: ArgumentHelp("The YAML file of products.", valueName: "file"),
                completion: .file(extensions: ["yaml", "yml"]))
            var file: String
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let bytes = try BoundedInput.read(file, limit: ProductsFile.largest, what: "products")
                let products = try ProductsFile(yaml: bytes, file: file)
                let changed = try await place.withMerchant(orNew: true) { try await $0.importProducts(from: products) }
                Console.current.print(changed ? "Loaded." : "No changes.")
            }
        }

        /// Prints a note when the product came from a file, because that file overrides the change at the server's next
        /// start.
        private static func remarkFile(_ app: BundleID, _ productID: ProductID, _ merchant: Merchant) async throws {
            guard try await merchant.product(app, productID)?.isFromFile == true else { return }
            let console = Console.current
            console.remark(
                console.style.dim(
                    "note: \(Style.printable(productID.rawValue)) came from a file, which overrides this change when the server starts with it again; "
                        + "change the file, too"))
        }
    }
}
