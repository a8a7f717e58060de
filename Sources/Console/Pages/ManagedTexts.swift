import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The texts of a managed product by language, which are in versions.
enum ManagedTexts {
    /// The texts by language, which are a version.
    static func languages(
        _ request: PageRequest, _ product: ControlAPI.ManagedProduct, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection(
            "languages", "Languages",
            text:
                "Texts are a version. Changing those of an approved product begins a new version, which is reviewed while the old one stays on sale. Texts cannot change during a review."
        )
        let texts = ControlAPI.DocumentTexts(product.document["localizations"]).all
        let revision = ConsoleHidden("revision", "\(product.revision)")
        var table = ConsoleTable(
            "Texts of version \(product.versions.first?.number ?? 1)",
            [
                ConsoleColumn("Language"), ConsoleColumn("Name"), ConsoleColumn("Description"), ConsoleColumn("Do"),
            ], nothing: "No texts yet. A product needs a name and a description in at least one language:",
            command:
                "cornerstore product set \(product.productId.shellWord) --app \(product.bundleId.shellWord) --name en_US=Name --description en_US=Text"
        )
        for text in texts.prefix(50) {
            table.add([
                ConsoleCell(text.locale, link: request.link(path, [("locale", text.locale)]) + "#languages"),
                ConsoleCell(text.displayName.nonEmpty ?? "—"), ConsoleCell(text.description?.nonEmpty ?? "—"),
                ConsoleCell(buttons: [
                    ConsoleButton(
                        "Remove", about: "Remove the texts in \(text.locale)",
                        action: request.action(path + "/language-remove"),
                        hidden: [ConsoleHidden("locale", text.locale), revision], tone: .bad)
                ]),
            ])
        }
        section.table = table
        let chosen = request.filter("locale")
        let known = texts.first { $0.locale == chosen }
        section.forms = [
            ConsoleForm(
                known.map { "Change \($0.locale)" } ?? "Add or change a language",
                action: request.action(path + "/language"),
                fields: [
                    ConsoleField(
                        "locale", "Language", value: chosen ?? "", hint: "Such as en_US or de.", isRequired: true),
                    ConsoleField("name", "Name that customers read", value: known?.displayName ?? "", isRequired: true),
                    ConsoleField("description", "Description", value: known?.description ?? ""),
                ], hidden: [revision], button: "Save the language")
        ]
        return section
    }

    /// The texts with the name and description of one language replaced.
    static func setting(
        _ texts: ControlAPI.DocumentTexts, _ locale: String, _ name: String, _ description: String?
    ) -> ControlAPI.DocumentTexts {
        var texts = texts
        texts.set("displayName", name, in: locale)
        texts.set("description", description ?? "", in: locale)
        return texts
    }

    @Sendable static func change(_ action: ActionRequest) async throws -> ActionOutcome {
        let locale = try action.required("locale", "Language")
        let name = try action.required("name", "Name that customers read")
        return try await ManagedPages.change(action) { known in
            let old = ControlAPI.DocumentTexts(known.document["localizations"])
            return ["localizations": setting(old, locale, name, action.text("description")).value]
        }
    }

    @Sendable static func remove(_ action: ActionRequest) async throws -> ActionOutcome {
        let locale = try action.required("locale", "Language")
        return try await ManagedPages.change(action) { known in
            var texts = ControlAPI.DocumentTexts(known.document["localizations"])
            guard texts.remove(locale) else { throw FormProblem("", "The product has no texts in \(locale).") }
            return ["localizations": texts.value]
        }
    }

    /// The versions of the texts, newest first.
    static func versions(_ product: ControlAPI.ManagedProduct, _ moments: Moments) -> ConsoleSection {
        var section = ConsoleSection("versions", "Versions of the texts", isLive: true)
        var table = ConsoleTable(
            "Versions, newest first",
            [
                ConsoleColumn("Version"), ConsoleColumn("State"), ConsoleColumn("Submitted"), ConsoleColumn("Decided"),
                ConsoleColumn("Reason"),
            ],
            nothing: "No versions yet. Add the product's texts first.")
        for version in product.versions.prefix(50) {
            let words = version.state.split(separator: "_").map { $0.prefix(1) + $0.dropFirst().lowercased() }
            table.add([
                ConsoleCell("\(version.number)", note: version.appVersion.map { "with app \($0)" }),
                ManagedPages.state(version.state, words.joined(separator: " ")),
                moments.cell(version.submittedDate),
                moments.cell(version.decidedDate), ConsoleCell(version.reason ?? "—"),
            ])
        }
        section.table = table
        return section
    }
}
