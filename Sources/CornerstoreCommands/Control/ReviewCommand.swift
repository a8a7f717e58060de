import ArgumentParser
import ControlWire
import Foundation

/// `cornerstore review`: lists, answers and hides the customers' reviews.
struct ReviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "List, answer and hide the customers' ratings and reviews of items.",
        discussion: """
            The commands show the reviews of both environments, as the storefront does.

              cornerstore review list --item 1400000001
              cornerstore review answer 8C5B3A5E-… "Version 1.2 corrects this."
              cornerstore review hide 8C5B3A5E-… --reason "Insults the developer."
            """,
        subcommands: [List.self, Show.self, Answer.self, Hide.self, Unhide.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func report(_ review: ControlAPI.Review, _ text: (Style) -> String) throws {
            try Console.current.report(review, json: output.json, text)
        }
    }

    struct Target: ParsableArguments {
        @Argument(help: ArgumentHelp("The review's id, as shown by “cornerstore review list”.", valueName: "review-id"))
        var id: PurchaseCommand.Key
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List ratings and reviews, the last changed first.",
            discussion: """
                  cornerstore review list --item 1400000001 --limit 10
                  cornerstore review list --hidden --json
                """)
        @Option(parsing: .unconditional, help: ArgumentHelp("List only reviews of this item.", valueName: "number"))
        var item: Int64?
        @Flag(help: "List only hidden reviews.")
        var hidden = false
        @Option(
            help: ArgumentHelp(
                "Continue after this “cursor” of the JSON document, for the next page.", valueName: "cursor"))
        var after: String?
        @Option(parsing: .unconditional, help: "The maximum number of reviews, 1 to 200.")
        var limit = 20
        @OptionGroup var options: Options

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            let reviews: [ControlAPI.Review] = try await options.control.client().send(
                .reviews(item: item, hidden: hidden ? true : nil, after: after, limit: limit))
            try Console.current.report(reviews, json: options.output.json) { style in
                guard !reviews.isEmpty else { return hidden ? "No hidden reviews." : "No reviews." }
                return Table(
                    heading: ["review", "edited", "item", "storefront", "stars", "title", "state"],
                    rows: reviews.map { review in
                        [
                            review.reviewId.uuidString, String(review.editedDate.prefix(19)), "\(review.item)",
                            review.storefront, "\(review.stars)", Style.printable(review.title ?? ""),
                            ReviewCommand.state(review),
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a review with its text and the developer's answer.",
            discussion: """
                  cornerstore review show 8C5B3A5E-…
                """)
        @OptionGroup var target: Target
        @OptionGroup var options: Options

        func run() async throws {
            let review: ControlAPI.Review = try await options.control.client().send(.review(target.id.uuid))
            try options.report(review) { ReviewCommand.text(review, $0) }
        }
    }

    struct Answer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Answer a review as the developer, or change or remove the answer.",
            discussion: """
                  cornerstore review answer 8C5B3A5E-… "Version 1.2 corrects this."
                  cornerstore review answer 8C5B3A5E-… --remove
                """)
        @OptionGroup var target: Target
        @Argument(help: "The answer, at most 5,970 characters.")
        var text: String?
        @Flag(help: "Remove the answer.")
        var remove = false
        @OptionGroup var options: Options

        func validate() throws {
            guard (text != nil) != remove else { throw ValidationError("Give either the answer's text or --remove.") }
        }

        func run() async throws {
            let client = try options.control.client()
            let review: ControlAPI.Review =
                if let text {
                    try await client.send(.answerReview(target.id.uuid), ControlAPI.ReviewAnswer(text: text))
                } else {
                    try await client.send(.removeReviewAnswer(target.id.uuid))
                }
            try options.report(review) { $0.good(remove ? "The answer is removed." : "Answered.") }
        }
    }

    struct Hide: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Hide a review. Pages leave it out, and its stars do not count.",
            discussion: """
                  cornerstore review hide 8C5B3A5E-… --reason "Insults the developer."
                """)
        @OptionGroup var target: Target
        @Option(help: "The reason, for the operator and the developer.")
        var reason: String
        @OptionGroup var options: Options

        func run() async throws {
            let review: ControlAPI.Review = try await options.control.client().send(
                .hideReview(target.id.uuid), ControlAPI.ReviewHiding(reason: reason))
            try options.report(review) { $0.good("Hidden.") }
        }
    }

    struct Unhide: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show and count a hidden review again.",
            discussion: """
                  cornerstore review unhide 8C5B3A5E-…
                """)
        @OptionGroup var target: Target
        @OptionGroup var options: Options

        func run() async throws {
            let review: ControlAPI.Review = try await options.control.client().send(.unhideReview(target.id.uuid))
            try options.report(review) { $0.good("The review is shown.") }
        }
    }

    private static func state(_ review: ControlAPI.Review) -> String {
        if review.hiddenReason != nil { return "hidden" }
        return review.answer == nil ? "shown" : "answered"
    }

    /// A review as a person reads it.
    private static func text(_ review: ControlAPI.Review, _ style: Style) -> String {
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n", omittingEmptySubsequences: false).map { "  " + Style.printable(String($0)) }
        }
        var report = [
            "\(review.stars) of 5 stars for item \(review.item)"
                + (review.version.map { ", version \(Style.printable($0))" } ?? "")
                + ", in \(review.storefront) (\(review.environment))",
            "written \(review.createdDate.prefix(19)), edited \(review.editedDate.prefix(19)) by \(review.accountId)",
        ]
        if let title = review.title, let text = review.text {
            report += ["", style.bold(Style.printable(title))] + lines(text)
        }
        if let answer = review.answer {
            report += ["", "Answered \((review.answeredDate ?? "").prefix(19)):"] + lines(answer)
        }
        if let reason = review.hiddenReason {
            report += ["", style.bad("Hidden \((review.hiddenDate ?? "").prefix(19)): ") + Style.printable(reason)]
        }
        return report.joined(separator: "\n")
    }
}
