import ConsolePages
import ControlWire
import Foundation
import StoreWire

/// Hosted content and its review, and the reviews of the storefront's items.
enum ContentPages {
    static let routes = [
        PageRoute(path: "content", area: .content, topics: [.content, .reviews], make: list),
        PageRoute(path: "content/{bundle}/{product}", area: .content, topics: [.content], make: one),
        PageRoute(path: "reviews", area: .content, topics: [.reviews], make: reviews),
    ]

    static let actions: [ConsoleAction] =
        [PackageUpload.action]
        + ControlRoute.ContentStepName.allCases.map { step in
            ConsoleAction(
                path: "content/{bundle}/{product}/\(step.rawValue)", routes: [.control(.step(step, version: UUID()))],
                page: "content/{bundle}/{product}", change: "\(step.rawValue) a version of hosted content"
            ) { action in
                guard let version = action.text("version").flatMap(UUID.init(uuidString:)) else {
                    throw FormProblem("", "The form has no version. Load the page again.")
                }
                let route = ControlRoute.step(step, version: version)
                if step == .reject {
                    let reason = try action.required("reason", "Reason")
                    try await action.api.perform(route, ControlAPI.Rejection(reason: reason))
                } else {
                    try await action.api.perform(route)
                }
                return .done(back(action), message: done(step))
            }
        } + [
            ConsoleAction(
                path: "content/{bundle}/{product}/rule", routes: [.control(.setContentRule)],
                page: "content/{bundle}/{product}", change: "change the review rule"
            ) { action in
                let rule = action.form["review"] == "manual" ? "manual" : "automatic"
                try await action.api.perform(
                    .setContentRule,
                    ControlAPI.ContentRule(
                        bundleId: action.page.parameter("bundle"), productId: action.page.parameter("product"),
                        review: rule))
                return .done(
                    back(action),
                    message:
                        "Submitted versions are reviewed \(rule == "manual" ? "by a person" : "automatically") now.")
            },
            ConsoleAction(
                path: "content/{bundle}/{product}/hosting", routes: [.control(.setHosting), .control(.content())],
                page: "content/{bundle}/{product}", change: "turn hosting on or off"
            ) { action in
                let isOn = action.form["hosted"] == "yes"
                if !isOn, !action.isOn("remove") {
                    let found: [ControlAPI.HostedProduct] = try await action.api.ask(
                        .content(
                            bundle: action.page.parameter("bundle"), product: action.page.parameter("product")))
                    if found.contains(where: hasFiles) {
                        throw FormProblem(
                            "remove", "Turning hosting off deletes the uploaded files. Select the check box to confirm."
                        )
                    }
                }
                try await action.api.perform(
                    .setHosting,
                    ControlAPI.Hosting(
                        bundleId: action.page.parameter("bundle"), productId: action.page.parameter("product"),
                        hosted: isOn))
                return .done(back(action), message: isOn ? "Hosting is on." : "Hosting is off.")
            },
            ConsoleAction(
                path: "reviews/answer", routes: [.control(.answerReview(UUID()))], page: "reviews",
                change: "answer a review"
            ) { action in
                let id = try reviewID(action)
                try await action.api.perform(
                    .answerReview(id), ControlAPI.ReviewAnswer(text: try action.required("text", "Answer")))
                return .done("reviews", message: "Answered.")
            },
            ConsoleAction(
                path: "reviews/hide", routes: [.control(.hideReview(UUID()))], page: "reviews", change: "hide a review"
            ) { action in
                let id = try reviewID(action)
                try await action.api.perform(
                    .hideReview(id), ControlAPI.ReviewHiding(reason: try action.required("reason", "Reason")))
                return .done("reviews", message: "Hidden. Its stars no longer count.")
            },
            ConsoleAction(
                path: "reviews/unhide", routes: [.control(.unhideReview(UUID()))], page: "reviews",
                change: "show a review"
            ) { action in
                try await action.api.perform(.unhideReview(try reviewID(action)))
                return .done("reviews", message: "Shown again.")
            },
        ]

    private static func back(_ action: ActionRequest) -> String {
        "content/\(action.page.parameter("bundle").percentEncoded)/\(action.page.parameter("product").percentEncoded)"
    }

    private static func reviewID(_ action: ActionRequest) throws -> UUID {
        guard let id = action.text("review").flatMap(UUID.init(uuidString:)) else {
            throw FormProblem("review", "Give the id of a review from the table.")
        }
        return id
    }

    private static func done(_ step: ControlRoute.ContentStepName) -> String {
        switch step {
        case .submit: "Submitted for review."
        case .review: "The review began."
        case .approve: "Approved. Production delivers the highest approved version."
        case .reject: "Rejected. The developer reads the reason."
        case .remove: "Removed from sale."
        }
    }

    /// A state of App Store Connect as a cell.
    static func state(_ state: String?) -> ConsoleCell {
        guard let state else { return ConsoleCell("—", tone: .dim) }
        // As App Store Connect writes them: Ready to Submit, Waiting for Review.
        let words = state.split(separator: "_").map {
            ["FOR", "FROM", "TO"].contains($0) ? $0.lowercased() : $0.prefix(1) + $0.dropFirst().lowercased()
        }.joined(separator: " ")
        return ConsoleCell(words, tone: tone(state))
    }

    private static func tone(_ state: String) -> ConsoleTone? {
        switch state {
        case "APPROVED", "READY_FOR_SALE": .good
        case "REJECTED", "DEVELOPER_REMOVED_FROM_SALE", "MISSING_METADATA", "WAITING_FOR_UPLOAD": .bad
        case "READY_TO_SUBMIT", "WAITING_FOR_REVIEW", "IN_REVIEW", "PROCESSING_CONTENT": .warn
        default: nil
        }
    }

    @Sendable private static func list(_ request: PageRequest) async throws -> ConsolePage {
        let products: [ControlAPI.HostedProduct] = try await request.api.ask(.content(bundle: request.app))
        var page = ConsolePage("Content & review")
        page.text =
            "The store hosts files for these products. The sandbox delivers a version from Ready to Submit on, production once it is approved."
        var section = ConsoleSection("list", "Products with hosted content", isLive: true)
        var table = ConsoleTable(
            "Hosted content",
            [
                ConsoleColumn("Product"), ConsoleColumn("State"), ConsoleColumn("Production"), ConsoleColumn("Sandbox"),
                ConsoleColumn("Review"), ConsoleColumn("Hosting"),
            ],
            nothing: "The store hosts no content yet. Turn hosting on:",
            command:
                "cornerstore content host \((request.apps.lazy.flatMap(\.productIds).first ?? "PRODUCT").shellWord)")
        for product in request.rows(products, of: &table, at: "content", in: "list", by: "from") {
            table.add([
                ConsoleCell(
                    product.productId,
                    link: request.link("content/\(product.bundleId.percentEncoded)/\(product.productId.percentEncoded)")
                ),
                state(product.state), ConsoleCell(product.productionVersion ?? "—"),
                ConsoleCell(product.sandboxVersion ?? "—"), ConsoleCell(product.review),
                ConsoleCell(product.hosted ? "on" : "off", tone: product.hosted ? .good : .dim),
            ])
        }
        section.table = table
        section.links = [ConsoleLink("Reviews by customers", request.link("reviews"))]
        page.sections = [section]
        page.commands = [
            ConsoleCode("Command", "cornerstore content status"),
            ConsoleCode("Control port", request.curl(.content())),
        ]
        return page
    }

    @Sendable private static func one(_ request: PageRequest) async throws -> ConsolePage {
        let (bundle, id) = (request.parameter("bundle"), request.parameter("product"))
        let found: [ControlAPI.HostedProduct] = try await request.api.ask(.content(bundle: bundle, product: id))
        guard let product = found.first else {
            throw APIProblem(status: 404, code: "not_found", message: "The store hosts no content for \(id).")
        }
        let path = "content/\(bundle.percentEncoded)/\(id.percentEncoded)/"
        let moments = try await request.productionMoments()
        var page = ConsolePage("Content of \(id)")
        page.trail = [ConsoleLink("Content & review", request.link("content"))]
        var versions = ConsoleSection("versions", "Versions", isLive: true)
        var table = ConsoleTable(
            "Versions, newest first",
            [
                ConsoleColumn("Version"), ConsoleColumn("State"), ConsoleColumn("Since"),
                ConsoleColumn("Size", isNumber: true), ConsoleColumn("Do"),
            ],
            nothing: "No versions yet. Upload a package:", command: "cornerstore content upload \(id.shellWord).pkg")
        for version in product.versions.prefix(50) {
            table.add([
                ConsoleCell(version.version), state(version.state),
                moments.cell(version.history.last?.date), ConsoleCell(size(version.length)),
                ConsoleCell(
                    buttons: steps(version.state).map { step, label in
                        ConsoleButton(
                            label, about: "\(label) version \(version.version)",
                            action: request.action(path + step.rawValue),
                            hidden: [ConsoleHidden("version", version.versionId.uuidString)],
                            tone: step == .remove ? .bad : nil)
                    }),
            ])
        }
        versions.table = table
        let waiting = product.versions.filter { $0.state == "IN_REVIEW" || $0.state == "WAITING_FOR_REVIEW" }
        versions.forms = waiting.prefix(3).map { version in
            ConsoleForm(
                "Reject version \(version.version)", action: request.action(path + "reject"),
                fields: [ConsoleField("reason", "Reason", hint: "The developer reads it.", isRequired: true)],
                hidden: [ConsoleHidden("version", version.versionId.uuidString)], button: "Reject", tone: .bad)
        }
        page.sections = [
            versions, PackageUpload.section(request, product), uploads(product, moments), history(product, moments),
            rules(request, product, path),
        ]
        page.commands = [
            ConsoleCode("Build", "cornerstore content build folder --output \(id.shellWord).pkg"),
            ConsoleCode("Upload", "cornerstore content upload \(id.shellWord).pkg"),
            ConsoleCode("Submit", "cornerstore content submit \(id.shellWord)"),
            ConsoleCode("Approve", "cornerstore content approve \(id.shellWord)"),
            ConsoleCode("Control port", request.curl(.content(bundle: bundle, product: id))),
        ]
        return page
    }

    /// The steps that a state allows.
    private static func steps(_ state: String) -> [(ControlRoute.ContentStepName, String)] {
        switch state {
        case "READY_TO_SUBMIT": [(.submit, "Submit")]
        case "WAITING_FOR_REVIEW": [(.review, "Begin the review"), (.approve, "Approve")]
        case "IN_REVIEW": [(.approve, "Approve")]
        // A rejected version is replaced by another upload.
        case "REJECTED": [(.remove, "Remove")]
        case "APPROVED": [(.remove, "Remove from sale")]
        default: []
        }
    }

    private static func size(_ bytes: Int64) -> String {
        bytes < 1_000_000 ? "\(max(1, bytes / 1_000)) kB" : "\(bytes / 1_000_000) MB"
    }

    private static func history(_ product: ControlAPI.HostedProduct, _ moments: Moments) -> ConsoleSection {
        var section = ConsoleSection("history", "History", isLive: true)
        var table = ConsoleTable(
            "Changes of the versions' states, the last first",
            [ConsoleColumn("When"), ConsoleColumn("Version"), ConsoleColumn("State"), ConsoleColumn("Reason")],
            nothing: "No events yet. Upload a package:",
            command: "cornerstore content upload \(product.productId.shellWord).pkg")
        let changes = product.versions.flatMap { version in version.history.reversed().map { (version.version, $0) } }
            .sorted { $0.1.date > $1.1.date }
        for (version, change) in changes.prefix(50) {
            table.add([
                moments.cell(change.date), ConsoleCell(version), state(change.state),
                ConsoleCell(change.reason ?? "—"),
            ])
        }
        section.table = table
        return section
    }

    private static func uploads(_ product: ControlAPI.HostedProduct, _ moments: Moments) -> ConsoleSection {
        var section = ConsoleSection("uploads", "Uploads", isLive: true)
        var table = ConsoleTable(
            "Uploads in progress, and those refused in the last 7 days",
            [ConsoleColumn("Begun"), ConsoleColumn("State"), ConsoleColumn("Arrived"), ConsoleColumn("Findings")],
            nothing: "No upload is in progress.",
            command: "cornerstore content upload \(product.productId.shellWord).pkg"
        )
        for upload in product.uploads.prefix(20) {
            let findings = (upload.findings ?? []).map {
                "\($0.path.map { "\($0): " } ?? "")\($0.message) \($0.advice)"
            }
            table.add([
                moments.cell(upload.createdDate), state(upload.state ?? "REJECTED"),
                upload.isElsewhere == true
                    ? ConsoleCell("at another process", note: size(upload.length))
                    : ConsoleCell("\(size(upload.offset)) of \(size(upload.length))"),
                ConsoleCell(
                    findings.isEmpty ? "—" : findings.prefix(5).joined(separator: " "),
                    tone: findings.isEmpty ? nil : .bad),
            ])
        }
        section.table = table
        return section
    }

    private static func rules(_ request: PageRequest, _ product: ControlAPI.HostedProduct, _ path: String)
        -> ConsoleSection
    {
        var section = ConsoleSection("rules", "Rules")
        section.forms = [
            ConsoleForm(
                "Review", action: request.action(path + "rule"),
                fields: [
                    ConsoleField(
                        "review", "Submitted versions are reviewed", .choice,
                        options: [
                            ConsoleOption("automatic", "automatically", isChosen: product.review == "automatic"),
                            ConsoleOption("manual", "by a person", isChosen: product.review == "manual"),
                        ])
                ], button: "Save")
        ]
        if product.hosted, product.wasLive {
            section.text = "A version was live, so hosting stays on."
        } else {
            section.forms.append(
                ConsoleForm(
                    "Hosting", action: request.action(path + "hosting"),
                    fields: product.hosted && hasFiles(product)
                        ? [ConsoleField("remove", "Delete the uploaded files", .tick)] : [],
                    hidden: [ConsoleHidden("hosted", product.hosted ? "no" : "yes")],
                    button: product.hosted ? "Turn hosting off" : "Turn hosting on"))
        }
        return section
    }

    /// Whether something was uploaded, which goes when hosting is turned off.
    @Sendable private static func hasFiles(_ product: ControlAPI.HostedProduct) -> Bool {
        !product.versions.isEmpty || !product.uploads.isEmpty
    }

    // MARK: Reviews by customers

    @Sendable private static func reviews(_ request: PageRequest) async throws -> ConsolePage {
        let hidden = request.filter("hidden") == "yes" ? true : nil
        let item = request.filter("item").flatMap { Int64($0) }
        let found: [ControlAPI.Review] = try await request.api.ask(
            .reviews(item: item, hidden: hidden, after: request.filter("after"), limit: 50))
        var page = ConsolePage("Reviews by customers")
        page.trail = [ConsoleLink("Content & review", request.link("content"))]
        var section = ConsoleSection("list", "Reviews", isLive: request.query["after"] == nil)
        section.filter = ConsoleForm(
            action: request.action("reviews"), method: "get",
            fields: [
                ConsoleField("item", "Item's number", .search, value: item.map(String.init) ?? ""),
                ConsoleField("hidden", "Hidden ones only", .tick, isOn: hidden != nil),
            ], button: "Filter", isLine: true)
        var table = ConsoleTable(
            "Reviews, the last changed first",
            [
                ConsoleColumn("Review"), ConsoleColumn("Item"), ConsoleColumn("Stars", isNumber: true),
                ConsoleColumn("Text"), ConsoleColumn("Changed"), ConsoleColumn("State"),
            ],
            nothing: "No reviews.")
        for review in found.prefix(50) {
            var state = ConsoleCell(
                review.hiddenReason.map { "Hidden: \($0)" } ?? (review.answer == nil ? "Shown" : "Answered"))
            if review.hiddenReason != nil {
                state.tone = ConsoleTone.bad.rawValue
                state.buttons = [
                    ConsoleButton(
                        "Show", about: "Show the review \(review.title ?? "")",
                        action: request.action("reviews/unhide"),
                        hidden: [ConsoleHidden("review", review.reviewId.uuidString)])
                ]
            }
            table.add([
                ConsoleCell(review.reviewId.uuidString.lowercased(), isID: true), ConsoleCell("\(review.item)"),
                ConsoleCell("\(review.stars)"),
                ConsoleCell(review.title ?? "—", note: review.text.map { String($0.prefix(300)) }),
                request.moments.cell(review.editedDate), state,
            ])
        }
        if found.count == 50, let cursor = found.last?.cursor {
            table.next = request.link(
                "reviews", [("after", cursor), ("item", item.map(String.init)), ("hidden", hidden.map { _ in "yes" })])
        }
        if request.query["after"] != nil {
            table.first = request.link(
                "reviews", [("item", item.map(String.init)), ("hidden", hidden.map { _ in "yes" })])
        }
        section.table = table
        let id = ConsoleField("review", "Review", hint: "An id from the table.", isRequired: true)
        section.forms = [
            ConsoleForm(
                "Answer", action: request.action("reviews/answer"),
                fields: [id, ConsoleField("text", "Answer", .area, isRequired: true)], button: "Answer"),
            ConsoleForm(
                "Hide", action: request.action("reviews/hide"),
                fields: [id, ConsoleField("reason", "Reason", isRequired: true)], button: "Hide", tone: .bad),
        ]
        page.sections = [section]
        page.commands = [
            ConsoleCode("Command", "cornerstore review list"), ConsoleCode("Control port", request.curl(.reviews())),
        ]
        return page
    }
}
