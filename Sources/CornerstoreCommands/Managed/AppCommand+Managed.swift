import ArgumentParser
import ControlWire

extension AppCommand {
    /// `cornerstore app register`: registers an app whose catalog the store manages.
    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an app whose catalog the store manages.",
            discussion: """
                  cornerstore app register com.example.monkeys --name "Monkey Credits"
                """)
        @Argument(help: ArgumentHelp("The app's bundle id.", valueName: "bundle-id"))
        var bundleId: String
        @Option(help: "The app's name for customers.")
        var name: String?
        @Flag(help: "Do not enable in-app purchases: all products are invalid identifiers.")
        var noInAppPurchase = false
        @OptionGroup var options: ManagedOptions

        func run() async throws {
            let new = ControlAPI.NewManagedApp(
                bundleId: bundleId, name: name, inAppPurchase: !noInAppPurchase, by: options.author)
            try options.report(
                try await options.control.client().send(.managed(.register), new) as ControlAPI.ManagedApp)
        }
    }

    /// `cornerstore app managed`: shows the state of a managed app.
    struct Managed: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the settings, groups and checklist of an app whose catalog the store manages.")
        @OptionGroup var target: ManagedTarget
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let client = try control.client()
            let app: ControlAPI.ManagedApp = try await client.send(.managed(.app(try await target.bundleID(client))))
            try Console.current.report(app, json: output.json) { ManagedText.text(app, $0) }
        }
    }

    /// `cornerstore app set`: changes a managed app.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change an app whose catalog the store manages. Settings that are not given keep their values.",
            discussion: """
                  cornerstore app set --in-app-purchase off
                  cornerstore app set --app com.example.monkeys --review manual --storefront DEU --locale de
                """)

        enum Review: String, ExpressibleByArgument, CaseIterable {
            case automatic
            case manual
        }

        @OptionGroup var target: ManagedTarget
        @Option(help: "The app's name for customers.")
        var name: String?
        @Option(help: "Whether the app may sell in-app purchases.")
        var inAppPurchase: AccountCommand.Switch?
        @Option(help: "How submitted products are reviewed.")
        var review: Review?
        @Option(help: ArgumentHelp("The default storefront's country code, three letters.", valueName: "country"))
        var storefront: String?
        @Option(help: "The default language of texts, such as en_US.")
        var locale: String?
        @Option(parsing: .unconditional, help: "The app's revision. The default is the newest.")
        var revision: Int64?
        @OptionGroup var options: ManagedOptions

        func validate() throws {
            guard name != nil || inAppPurchase != nil || review != nil || storefront != nil || locale != nil else {
                throw ValidationError(
                    "Give at least one of --name, --in-app-purchase, --review, --storefront and --locale.")
            }
        }

        func run() async throws {
            let client = try options.control.client()
            let bundleID = try await target.bundleID(client)
            let app: ControlAPI.ManagedApp = try await client.send(.managed(.app(bundleID)))
            let keys = [("name", name), ("storefront", storefront), ("locale", locale)].compactMap { key, value in
                value.map { (key, ControlAPI.CatalogValue.string($0)) }
            }
            let change = ControlAPI.ManagedAppChange(
                revision: revision ?? app.revision, inAppPurchase: inAppPurchase?.isOn, review: review?.rawValue,
                changes: keys.isEmpty ? nil : .object(Dictionary(keys, uniquingKeysWith: { $1 })), by: options.author)
            try options.report(
                try await client.send(.managed(.changeApp(bundleID)), change) as ControlAPI.ManagedApp)
        }
    }

    /// `cornerstore app group`: creates, changes or deletes a subscription group.
    struct Group: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create, change or delete a subscription group of an app whose catalog the store manages.",
            discussion: """
                  cornerstore app group 21000001 --name "Monkey Pro" --display-name "en_US=Pro"
                  cornerstore app group 21000001 --delete
                """)
        @Argument(help: ArgumentHelp("The group's identifier.", valueName: "group-id"))
        var groupID: String
        @Option(help: "The group's name for the developer.")
        var name: String?
        @Option(
            help: ArgumentHelp(
                "The group's name for customers in a language. Repeat the option for several languages.",
                valueName: "locale=text"))
        var displayName: [LocalText] = []
        @Flag(help: "Delete the group.")
        var delete = false
        @OptionGroup var target: ManagedTarget
        @OptionGroup var options: ManagedOptions

        func validate() throws {
            guard (name != nil) != delete else { throw ValidationError("Give either --name or --delete.") }
        }

        func run() async throws {
            let client = try options.control.client()
            let bundleID = try await target.bundleID(client)
            let app: ControlAPI.ManagedApp = try await client.send(.managed(.app(bundleID)))
            let changed: ControlAPI.ManagedApp
            if let name {
                let old = app.groups.first { $0.id == groupID }?.localizations
                var texts = ControlAPI.DocumentTexts(old)
                for text in displayName { texts.set("displayName", text.text, in: text.locale) }
                let change = ControlAPI.ManagedGroupChange(
                    revision: app.revision, name: name, localizations: texts.value, by: options.author)
                changed = try await client.send(.managed(.setGroup(bundleID, groupID)), change)
            } else {
                changed = try await client.send(
                    .managed(.deleteGroup(bundleID, groupID, revision: app.revision, by: options.author)))
            }
            try options.report(changed)
        }
    }

    /// `cornerstore app checklist`: shows and changes the checklist of agreement, tax and bank details.
    struct Checklist: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show or change the checklist of agreement, tax and bank details.",
            discussion: """
                While a required item is missing, all products of managed apps are invalid identifiers. The store keeps no account numbers.

                  cornerstore app checklist
                  cornerstore app checklist agreement --required yes
                  cornerstore app checklist agreement --done yes --by anna
                """)

        enum Item: String, ExpressibleByArgument, CaseIterable {
            case agreement
            case tax
            case bank
        }

        enum Answer: String, ExpressibleByArgument, CaseIterable {
            case yes
            case no

            var isYes: Bool { self == .yes }
        }

        @Argument(help: "The item to change.")
        var item: Item?
        @Option(help: "Whether managed apps sell nothing while the item is missing.")
        var required: Answer?
        @Option(help: "Whether the item is done.")
        var done: Answer?
        @OptionGroup var options: ManagedOptions

        func validate() throws {
            guard (item == nil) == (required == nil && done == nil) else {
                throw ValidationError("Give an item together with --required or --done.")
            }
        }

        func run() async throws {
            let client = try options.control.client()
            let checklist: ControlAPI.Checklist
            if let item {
                let change = ControlAPI.ChecklistChange(
                    item: item.rawValue, required: required?.isYes, done: done?.isYes, by: options.author)
                checklist = try await client.send(.managed(.changeChecklist), change)
            } else {
                checklist = try await client.send(.managed(.checklist))
            }
            try Console.current.report(checklist, json: options.output.json) { style in
                let rows = checklist.items.map { item in
                    [
                        item.item, item.required ? "required" : "not required",
                        item.doneDate.map {
                            "done \($0.prefix(10)) by \(Style.printable(item.doneBy ?? ""))"
                        } ?? (item.required ? "missing" : "-"),
                    ]
                }
                return Table(heading: ["item", "required", "state"], rows: rows).text(style)
            }
        }
    }
}
