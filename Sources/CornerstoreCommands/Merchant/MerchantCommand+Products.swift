import ArgumentParser
import Foundation
import Merchant
import MerchantWire
import StoreWire

extension MerchantCommand {
    struct Products: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "See and change what is sold; a running server follows within a second.",
            discussion: """
                A product says what one unit of it gives; its price and name are the store's. One that a file of the server's (--products) names \
                is that file's again when the server starts the next time.

                  cornerstore merchant products list
                  cornerstore merchant products put com.example.books.coins100 --kind consumable --credits 100:coins
                  cornerstore merchant products remove com.example.books.coins100
                  cornerstore merchant products load Books.yaml
                """,
            subcommands: [List.self, Show.self, Put.self, Remove.self, Load.self], defaultSubcommand: List.self)

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "List the products and what they give.",
                discussion: "  cornerstore merchant products list --json")

            @OptionGroup var place: PlaceOptions
            @OptionGroup var output: OutputOptions

            func run() async throws {
                let list = try await place.withMerchant { try await $0.allProducts() }
                try Console.current.report(list, json: output.json) { style in
                    list.products.isEmpty
                        ? "Nothing is sold yet. Begin with “cornerstore merchant products put” or “load”."
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
                abstract: "Put a product on the list, or change one that is there.",
                discussion: """
                    Of a product that is there only what is named changes; what it gives is one thing: name all of it, or nothing. What was \
                    redeemed before stays as it was. A kind cannot change, since purchases are known by it.

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
                                "note: \(Style.printable(app.rawValue)) is an app of which nothing was on the list"))
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

            /// Says which content it gives that is not there yet.
            private func remarkContent(of product: MerchantProduct, _ merchant: Merchant) async throws {
                let given = product.grants.compactMap { if case .content(let item) = $0 { item } else { nil } }
                guard !given.isEmpty else { return }
                let there = Set(try await merchant.contentList().items.map(\.item))
                let console = Console.current
                for item in given where !there.contains(item) {
                    let name = Style.printable(item.rawValue)
                    console.remark(
                        console.style.dim(
                            "note: there is no content \(name) yet; put it in with “cornerstore merchant content put \(name) FILE”"
                        ))
                }
            }
        }

        struct Remove: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Take a product off sale; what was bought of it is still redeemed.",
                discussion: """
                    With --delete it is taken off the list, and purchases of it can no longer be redeemed: for what was put there by mistake.

                      cornerstore merchant products remove com.example.books.coins100
                      cornerstore merchant products remove com.example.books.misspelt --delete
                    """)

            @OptionGroup var target: ProductTarget
            @Flag(help: "Take it off the list; purchases of it are then not redeemed any longer.")
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
                            guard var product = old else { throw MerchantError(.notFound, "There is no such product.") }
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
                abstract: "Make an app's products those of a file.",
                discussion: """
                    A product that came from a file and is not in it any longer is no longer on sale, and what was bought of it is still redeemed. One \
                    that was put on the list by hand stays, unless the file names it.

                      cornerstore merchant products load Books.yaml
                    """)

            @Argument(help: ArgumentHelp("YAML.", valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
            var file: String
            @OptionGroup var place: PlaceOptions

            func run() async throws {
                let bytes = try BoundedInput.read(file, limit: ProductsFile.largest, what: "products")
                let products = try ProductsFile(yaml: bytes, file: file)
                let changed = try await place.withMerchant(orNew: true) { try await $0.importProducts(from: products) }
                Console.current.print(changed ? "Loaded." : "Nothing has changed.")
            }
        }

        /// Says of a product that came from a file that it will come again.
        private static func remarkFile(_ app: BundleID, _ productID: ProductID, _ merchant: Merchant) async throws {
            guard try await merchant.product(app, productID)?.isFromFile == true else { return }
            let console = Console.current
            console.remark(
                console.style.dim(
                    "note: \(Style.printable(productID.rawValue)) came from a file; if the server is started with it again, the file decides. Change it "
                        + "there, too"))
        }
    }
}
