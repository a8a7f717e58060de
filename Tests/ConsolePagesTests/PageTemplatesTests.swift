import Foundation
import Testing

@testable import ConsolePages

@Suite(.timeLimit(.minutes(1))) struct PageTemplatesTests {
    private static let hostile = "<script>alert(1)</script>\"'&\u{202E}"

    private static func frame() -> StoreFrame {
        StoreFrame(
            title: hostile, about: hostile, stylesheet: hostile, homeLink: hostile, findLink: hostile,
            subscriptionsLink: hostile, term: hostile, country: hostile, opensAside: true)
    }

    /// A page of subscriptions in which every field has a value.
    private static func subscriptions() -> SubscriptionsPage {
        let x = hostile
        let plan = PagePlan(name: x, price: x, begins: x, link: x, label: x)
        let subscription = PageSubscription(
            id: x, name: x, about: x, state: x, isActive: true, facts: [PageFact(name: x, value: x)], turnOff: x,
            turnOn: x, plansTitle: x, plans: [plan])
        return SubscriptionsPage(
            frame: frame(), message: x, problem: x, account: x, subscriptions: [subscription], nothing: x, next: x,
            closing: x)
    }

    private static func question() -> QuestionPage {
        let x = hostile
        return QuestionPage(
            frame: frame(), heading: x, lines: [x], action: x, hidden: [PageHidden(x, x)], label: x, cancel: x)
    }

    private static func signIn() -> SignInPage {
        let x = hostile
        return SignInPage(
            frame: frame(), heading: x, text: x, problem: x, action: x, email: x,
            choices: [SignInPage.Choice(value: x, label: x, isChosen: true)])
    }

    /// A page in which every field has a value.
    private static func full() -> ItemPage {
        let x = hostile
        let tile = PageTile(link: x, artwork: x, name: x, by: x, price: x)
        let version = PageVersion(version: x, date: x, dateText: x, note: x)
        let bar = PageBar(stars: 1, count: 2, most: 3)
        return ItemPage(
            frame: frame(), message: x, problem: x, artwork: x, largeArtwork: x, name: x, creator: x, creatorLink: x,
            kind: x, genre: x, collection: PageLink(name: x, link: x),
            rating: PageRating(average: x, starsText: x, countText: x, bars: [bar]), price: x,
            buying: PageBuying(isOwned: true, offer: PageOffer(link: x, label: x)), audio: x,
            video: PageVideo(link: x, poster: x),
            screenshots: [PageScreenshot(link: x, label: x, width: 1, height: 2)], description: x, contentsTitle: x,
            contents: [PageTrack(number: x, name: x, link: x, duration: x, price: x)], versions: [version],
            olderVersions: [version],
            purchases: [PagePurchase(name: x, price: x, text: x, isPromoted: true)],
            reviews: [
                PageReview(
                    stars: 1, starsText: x, title: x, text: x, date: x, dateText: x, version: x,
                    answer: PageAnswer(date: x, dateText: x, text: x))
            ], moreReviews: x,
            reviewing: PageReviewing(
                action: x, heading: x, button: x, choices: [PageStarChoice(stars: 1, label: x, isChosen: true)],
                title: x, text: x, removal: x),
            facts: [PageFact(name: x, value: x, link: x)], more: [tile], related: [tile], closing: x)
    }

    /// A payment sheet in which every field has a value.
    private static func sheet() -> SheetPage {
        let x = hostile
        var page = SheetPage(x, lines: [x], frame: SheetFrame(title: x, stylesheet: x))
        (page.environment, page.environmentClass, page.environmentNote) = (x, x, x)
        (page.price, page.problem, page.action, page.again, page.back) = (x, x, x, x, x)
        page.app = x
        var field = SheetField(x, x, type: x, autocomplete: x, value: x, isFixed: true)
        field.problem = x
        var choice = SheetField(x, x, options: [ConsoleOption(x, x, isChosen: true)])
        choice.problem = x
        page.fields = [field, choice]
        page.buttons = [SheetButton(x, x, isPlain: true)]
        return page
    }

    /// A device's screen in which every field has a value.
    private static func screen() -> ScreenPage {
        let x = hostile
        var frame = ScreenFrame()
        (frame.title, frame.stylesheet, frame.script, frame.icon) = (x, x, x, x)
        (frame.environment, frame.environmentClass, frame.events, frame.topics) = (x, x, x, x)
        var page = ScreenPage(x, frame: frame)
        (page.about, page.device, page.said, page.waiting) = (x, x, [x], x)
        (page.problem, page.on, page.saidTone) = (x, x, x)
        let picture = ScreenPicture(x, about: x, caption: x)
        var item = ScreenItem(x, text: x, price: x)
        (item.picture, item.identifier) = (picture, x)
        item.progress = ScreenProgress(x, percent: 7, text: x)
        item.buttons = [ConsoleButton(x, about: x, action: x)]
        item.forms = [ConsoleForm(x, action: x, fields: [ConsoleField(x, x, .number, value: x)], button: x)]
        page.question = item
        page.content = ScreenContent(headline: x, text: x)
        (page.content.pictures, page.content.items, page.content.forms) = ([picture], [item], item.forms)
        (page.content.buttons, page.content.readingHeading, page.content.reading) = (item.buttons, x, x)
        page.sections = [ConsoleSection(x, x, text: x)]
        page.finish { $0 }
        return page
    }

    @Test func noTemplateLeavesTextUnescaped() throws {
        for (name, bytes) in PageTemplates.files where name.hasSuffix(".mustache") {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("{{{") && !text.contains("{{&") && !text.contains("CONTENT_TYPE"), "\(name)")
            let own = text.replacing(/<script src="{{(script|\.)}}" defer><\/script>/, with: "")
            #expect(!own.contains(" style=") && !own.contains("<script"), "\(name)")
            #expect(own.firstMatch(of: /[ ]on[a-z]+=/) == nil, "\(name)")
        }
    }

    @Test func hostileTextStaysTextInEveryField() throws {
        let templates = try PageTemplates.embedded.get()
        let pages = [
            try templates.html(Self.full()),
            try templates.html(
                ItemsPage(
                    frame: Self.frame(), heading: Self.hostile,
                    items: [PageTile(link: Self.hostile, artwork: "a", name: "b", by: "c", price: nil)],
                    nothing: Self.hostile, next: Self.hostile)),
            try templates.html(
                NotePage(frame: Self.frame(), heading: Self.hostile, text: Self.hostile, closing: Self.hostile)),
            try templates.html(
                ConfirmPage(
                    frame: Self.frame(), artwork: Self.hostile, heading: Self.hostile, text: Self.hostile,
                    action: Self.hostile, key: Self.hostile, agreed: Self.hostile, label: Self.hostile,
                    cancel: Self.hostile)),
            try templates.html(Self.sheet()), try templates.html(Self.subscriptions()),
            try templates.html(Self.question()), try templates.html(Self.signIn()),
        ]
        for html in pages {
            #expect(!html.contains("<script"))
            #expect(!html.contains("\"'&"))
            #expect(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
            #expect(html.hasPrefix("<!DOCTYPE html>") && html.contains("</html>"))
        }
        // A screen has a script, whose address is hostile here.
        let screen = try templates.html(Self.screen()).replacing(/<script src="[^"]*" defer><\/script>/, with: "")
        #expect(!screen.contains("<script") && !screen.contains("\"'&"))
    }

    @Test func everyFieldIsShown() throws {
        let templates = try PageTemplates.embedded.get()
        let html = try templates.html(Self.full())
        for (label, value) in Mirror(reflecting: Self.full()).children {
            guard let label, label != "frame", value is String || value is String? else { continue }
            let text = ["item.mustache", "store.mustache"].map {
                String(decoding: PageTemplates.files[$0] ?? [], as: UTF8.self)
            }.joined()
            #expect(text.contains(label), "\(label)")
        }
        let screenFiles = ["screen.mustache", "picture.mustache", "layout.mustache"].map {
            String(decoding: PageTemplates.files[$0] ?? [], as: UTF8.self)
        }.joined()
        let screen = Self.screen()
        let screenParts: [Any] = [screen, screen.content, screen.content.items[0], screen.content.pictures[0]]
        for label in screenParts.flatMap({ Mirror(reflecting: $0).children.compactMap(\.label) }) where label != "frame"
        {
            #expect(screenFiles.contains(label), "\(label)")
        }
        let sheet = String(decoding: PageTemplates.files["sheet.mustache"] ?? [], as: UTF8.self)
        let parts: [Any] = [Self.sheet(), Self.sheet().fields[0], Self.sheet().buttons[0]]
        for label in parts.flatMap({ Mirror(reflecting: $0).children.compactMap(\.label) }) where label != "frame" {
            #expect(sheet.contains(label), "\(label)")
        }
        let (list, question, signIn) = (Self.subscriptions(), Self.question(), Self.signIn())
        for (name, parts) in [
            ("subscriptions", [list, list.subscriptions[0], list.subscriptions[0].plans[0]]),
            ("question", [question, question.hidden[0]]), ("signin", [signIn, signIn.choices[0]]),
        ] as [(String, [Any])] {
            let text = ["\(name).mustache", "store.mustache"].map {
                String(decoding: PageTemplates.files[$0] ?? [], as: UTF8.self)
            }.joined()
            for label in parts.flatMap({ Mirror(reflecting: $0).children.compactMap(\.label) }) where label != "frame" {
                #expect(text.contains(label), "\(label)")
            }
        }
        #expect(html.contains("target=\"_blank\"") && html.contains(" checked") && html.contains("class=\"promoted\""))
    }

    /// A field that an inner value leaves out must not show the outer one's.
    @Test func aMissingInnerFieldShowsNothing() throws {
        var page = Self.full()
        page.price = "OUTER"
        page.buying = nil
        page.related = [PageTile(link: "l", artwork: "a", name: "n", by: "b", price: nil)]
        page.more = []
        let html = try PageTemplates.embedded.get().html(page)
        #expect(html.components(separatedBy: "OUTER").count == 2)
    }

    @Test func anUnknownTemplateIsAnError() throws {
        struct Unknown: Page {
            static let template = "unknown"
            let frame = PageDate(date: "", dateText: "")
        }
        let templates = try PageTemplates.embedded.get()
        #expect(throws: PageTemplates.Failure.self) { try templates.html(Unknown()) }
    }
}
