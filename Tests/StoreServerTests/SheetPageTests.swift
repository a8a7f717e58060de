import AsyncHTTPClient
import ControlWire
import Foundation
import NIOHTTP1
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("A payment sheet's page", .timeLimit(.minutes(1)))
struct SheetPageTests {
    /// A browser that stays where an answer leads it from.
    private static let client = HTTPClient(
        eventLoopGroupProvider: .singleton, configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))

    struct Page {
        var status: Int
        var headers: HTTPHeaders
        var text: String

        var location: String? { headers.first(name: "Location") }
        /// The values of the buttons.
        var choices: [String] { text.matches(of: /<button name="choice" value="([a-z]+)"/).map { String($0.1) } }
        /// The value of a field.
        func value(_ name: String) -> String? {
            text.matches(of: /<input id="([a-z]+)" [^>]*value="([^"]*)"[^>]*>/).first { $0.1 == name }
                .map { String($0.2) }
        }
    }

    /// A store with the pages of its sheets.
    struct Sheets {
        let server: RunningServer

        func post(_ question: SheetQuestion) async throws -> SheetPosted {
            try await server.control("POST", SheetRoute.post.path, try JSON.text(question)).decoded(SheetPosted.self)
        }

        func reply(_ sheet: SheetPosted) async throws -> SheetReply? {
            let reply = try await server.control("GET", SheetRoute.outcome(sheet.id, wait: nil).path)
            return reply.status == 200 ? try reply.decoded(SheetReply.self) : nil
        }

        func get(_ path: String) async throws -> Page { try await send(HTTPClientRequest(url: base + path)) }

        /// Sends a page's form.
        func answer(_ sheet: SheetPosted, _ form: String) async throws -> Page {
            var request = HTTPClientRequest(url: base + SheetRoute.answer(sheet.id).path)
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(Array(form.utf8))
            return try await send(request)
        }

        private var base: String { server.addresses.control }

        private func send(_ request: HTTPClientRequest) async throws -> Page {
            let response = try await SheetPageTests.client.execute(request, timeout: .seconds(60))
            let body = try await response.body.collect(upTo: 1 << 20)
            return Page(
                status: Int(response.status.code), headers: response.headers, text: String(buffer: body))
        }
    }

    private enum JSON {
        static func text(_ value: some Encodable) throws -> String {
            String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        }
    }

    private func with(_ body: @escaping @Sendable (Sheets) async throws -> Void) async throws {
        try await withServer { try await body(Sheets(server: $0)) }
    }

    private static func question(
        _ kind: SheetQuestion.Kind, _ lines: [String] = [], after previous: SheetPosted? = nil
    ) -> SheetQuestion {
        var question = SheetQuestion(kind: kind, title: "Hats", lines: lines)
        question.previous = previous?.id
        question.environment = .sandbox
        return question
    }

    @Test func thePageIsAFormWithoutScripts() async throws {
        try await with { sheets in
            let sheet = try await sheets.post(Self.question(.confirm, ["$2.99", "Account: a@example.com"]))
            let page = try await sheets.get(sheet.path)
            #expect(page.status == 200 && page.choices == ["accept", "decline"])
            #expect(page.text.contains("<p class=\"amount\">$2.99</p>") && page.text.contains("Account: a@example.com"))
            #expect(page.text.contains("<body class=\"sandbox\">") && page.text.contains("<strong>Sandbox</strong>"))
            #expect(!page.text.contains("<script") && !page.text.contains("<style") && !page.text.contains(" style="))
            #expect(page.text.contains("<form method=\"post\" action=\"\(sheet.path)/answer\">"))
            #expect(
                page.headers.first(name: "Content-Security-Policy")
                    == "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            )
            #expect(page.headers.first(name: "Cache-Control") == "no-store")
            #expect(page.headers.first(name: "X-Content-Type-Options") == "nosniff")
            #expect(page.headers.first(name: "Referrer-Policy") == "same-origin")
        }
    }

    @Test func theEnvironmentIsNamed() async throws {
        try await with { sheets in
            var question = Self.question(.confirm)
            question.environment = .production
            let production = try await sheets.get(try await sheets.post(question).path)
            #expect(production.text.contains("<body class=\"production\">"))
            #expect(production.text.contains("<strong>Production</strong>") && !production.text.contains("Sandbox"))
            question.environment = nil
            let unknown = try await sheets.get(try await sheets.post(question).path)
            #expect(!unknown.text.contains("<strong>") && unknown.text.contains("<body>"))
        }
    }

    /// By its name if the catalog has one.
    @Test func theAppIsNamed() async throws {
        try await with { sheets in
            var question = Self.question(.confirm)
            for (app, shown) in [
                ("com.example.monkeys", "Monkeys"), ("com.example.<other>", "com.example.&lt;other&gt;"),
            ] {
                question.app = app
                let page = try await sheets.get(try await sheets.post(question).path)
                #expect(page.text.contains("<p class=\"dim\" dir=\"auto\">\(shown)</p>"), "\(page.text)")
            }
        }
    }

    /// The sign-in, a wrong password, the price and a declined card, each an answered form that leads to the next.
    @Test func eachStepLeadsToTheNext() async throws {
        try await with { sheets in
            let first = try await sheets.post(Self.question(.signIn))
            let form = try await sheets.get(first.path)
            #expect(form.choices == ["accept", "decline"] && form.value("email") == "" && form.value("password") == "")
            let taken = try await sheets.answer(first, "choice=accept&email=+a%40example.com+&password=wrong+%26+")
            #expect(taken.status == 303 && taken.location == first.path)
            let reply = try await sheets.reply(first)
            #expect(reply == SheetReply(choice: .accept, email: "a@example.com", password: "wrong & "))

            var again = Self.question(.signIn, ["The password is not right."], after: first)
            again.enteredEmail = "a@example.com"
            let second = try await sheets.post(again)
            let led = try await sheets.get(first.path)
            #expect(led.status == 303 && led.location == second.path)
            let repeated = try await sheets.get(second.path)
            #expect(repeated.value("email") == "a@example.com" && !repeated.text.contains("wrong"))
            #expect(
                repeated.text.contains(
                    " required aria-invalid=\"true\" aria-describedby=\"password-problem\">"
                        + "<p class=\"message problem\" role=\"alert\" id=\"password-problem\">"
                        + "The password is not right.</p></div>"))
            #expect(repeated.text.matches(of: /aria-invalid/).count == 1)
            _ = try await sheets.answer(second, "choice=accept&email=a%40example.com&password=right")

            let price = try await sheets.post(Self.question(.confirm, ["$2.99"], after: second))
            #expect(try await sheets.get(first.path).location == second.path)
            #expect(try await sheets.get(second.path).location == price.path)
            #expect(try await sheets.answer(price, "choice=accept").location == price.path)
            let notice = try await sheets.post(Self.question(.notice, ["The payment was declined."], after: price))
            #expect(try await sheets.get(price.path).location == notice.path)
            let read = try await sheets.get(notice.path)
            #expect(read.choices == ["accept"] && read.text.contains("The payment was declined."))
            #expect(try await sheets.answer(notice, "choice=accept").status == 303)
            // Nothing is open any more, so every page says what was answered.
            let end = try await sheets.get(notice.path)
            #expect(end.status == 200 && end.text.contains("You answered “OK”.") && end.choices.isEmpty)
        }
    }

    /// Answers, and the sentences about them.
    private static let answers: [(kind: SheetQuestion.Kind, choice: String, sentence: String)] = [
        (.confirm, "decline", "Nothing was bought."),
        (.signIn, "decline", "Nobody was signed in."), (.code, "decline", "No code was redeemed."),
        (.notice, "accept", "Return to the app."), (.refund, "decline", "No refund was requested."),
        (.priceIncrease, "accept", "The subscription renews at the new price."),
        (.priceIncrease, "decline", "The subscription ends with its period."),
        (.priceIncrease, "later", "The app asks again at its next launch."),
    ]

    @Test func anAnsweredPageSaysSo() async throws {
        try await with { sheets in
            for (kind, choice, sentence) in Self.answers {
                let sheet = try await sheets.post(Self.question(kind))
                #expect(try await sheets.get(sheet.path).choices.contains(choice), "\(kind)")
                #expect(try await sheets.answer(sheet, "choice=\(choice)").location == sheet.path)
                let page = try await sheets.get(sheet.path)
                #expect(page.status == 200 && page.text.contains("You answered “"), "\(kind) \(choice)")
                #expect(page.text.contains(sentence))
                #expect(page.choices.isEmpty && !page.text.contains("<form"))
                // A double click is as good as one click; another answer comes too late.
                #expect(try await sheets.answer(sheet, "choice=\(choice)").location == sheet.path)
                let other = try await sheets.answer(sheet, "choice=\(choice == "accept" ? "decline" : "accept")")
                #expect(other.status == 409 && other.text.contains("The first answer counts: “"))
                #expect(try await sheets.reply(sheet)?.choice.rawValue == choice)
            }
        }
    }

    /// Forms that are not complete, and what their pages say then.
    private static let incomplete: [(kind: SheetQuestion.Kind, form: String, problem: String)] = [
        (.signIn, "choice=accept&email=a%40example.com&password=", "Type the password."),
        (.signIn, "choice=accept&email=a%40example.com", "Type the password."),
        (.signIn, "choice=accept&email=++&password=secret", "Type an e-mail address."),
        (.signIn, "choice=later&email=a%40example.com&password=secret", "Press one of the buttons."),
        (.signIn, "email=a%40example.com&password=secret", "Press one of the buttons."),
        (.signIn, "choice=accept&password=secret&email=" + String(repeating: "a", count: 255), "at most 254 bytes"),
        (.code, "choice=accept&code=+", "Type the code."), (.refund, "choice=accept&option=x", "Choose a reason."),
        (.confirm, "choice=later", "Press one of the buttons."),
        (.notice, "choice=decline", "Press one of the buttons."), (.confirm, "", "Press one of the buttons."),
    ]

    @Test func anIncompleteFormIsShownAgain() async throws {
        try await with { sheets in
            for (kind, form, problem) in Self.incomplete {
                let sheet = try await sheets.post(Self.question(kind))
                let page = try await sheets.answer(sheet, form)
                #expect(page.status == 422 && page.text.contains("role=\"alert\""), "\(kind) \(form)")
                #expect(page.text.contains(problem) && !page.text.contains("secret"))
                // A problem of a field stands at the field.
                #expect(page.text.contains("aria-invalid=\"true\"") == !problem.hasPrefix("Press"))
                if form.contains("a%40example.com") { #expect(page.value("email") == "a@example.com") }
                // It still waits.
                #expect(try await sheets.reply(sheet) == nil)
                #expect(try await sheets.get(sheet.path).choices.count == kind.choices.count)
            }
        }
    }

    @Test func anAccountThatMustSignInStays() async throws {
        try await with { sheets in
            var question = Self.question(.signIn)
            question.email = "a@example.com"
            let sheet = try await sheets.post(question)
            #expect(try await sheets.get(sheet.path).text.contains("value=\"a@example.com\""))
            #expect(try await sheets.get(sheet.path).text.contains(" readonly>"))
            _ = try await sheets.answer(sheet, "choice=accept&email=b%40example.com&password=x")
            #expect(
                try await sheets.reply(sheet) == SheetReply(choice: .accept, email: "a@example.com", password: "x"))
        }
    }

    @Test func aCodeIsTyped() async throws {
        try await with { sheets in
            let sheet = try await sheets.post(Self.question(.code))
            _ = try await sheets.answer(sheet, "choice=accept&code=+SUMMER+&email=x&password=y")
            #expect(try await sheets.reply(sheet) == SheetReply(choice: .accept, code: "SUMMER"))
        }
    }

    @Test func aReasonIsChosen() async throws {
        try await with { sheets in
            var question = Self.question(.refund, ["$0.99", "Account: a@example.com"])
            question.options = [
                SheetQuestion.Option(value: "LEGAL", label: "A legal <b>reason"),
                SheetQuestion.Option(value: "OTHER", label: "Another reason"),
            ]
            let sheet = try await sheets.post(question)
            let page = try await sheets.get(sheet.path)
            #expect(page.text.contains("<p class=\"amount\">$0.99</p>") && page.text.contains("<select id=\"option\""))
            #expect(page.text.contains("<option value=\"LEGAL\">A legal &lt;b&gt;reason</option>"))
            let wrong = try await sheets.answer(sheet, "choice=accept&option=legal")
            #expect(wrong.status == 422 && wrong.text.contains("Choose a reason."))
            _ = try await sheets.answer(sheet, "choice=accept&option=OTHER&email=x")
            #expect(try await sheets.reply(sheet) == SheetReply(choice: .accept, option: "OTHER"))
        }
    }

    @Test func otherAddressesAndFormsAreRefused() async throws {
        try await with { sheets in
            let nothing = SheetPosted(id: String(repeating: "0", count: 32), path: "")
            for path in [SheetRoute.page(nothing.id).path, "/sheets/%00", "/sheets/..%2f..", "/sheets/%F0%9F%90%92"] {
                let page = try await sheets.get(path)
                #expect(page.status == 404 && page.text.contains("There is no question at this address:"), "\(path)")
            }
            let answered = try await sheets.answer(nothing, "choice=accept")
            #expect(answered.status == 404 && answered.text.contains("<h1 dir=\"auto\">This question is gone</h1>"))
            let sheet = try await sheets.post(Self.question(.signIn))
            let password = String(repeating: "x", count: 16 << 10)
            let long = try await sheets.answer(sheet, "choice=accept&password=\(password)")
            #expect(long.status == 413)
            #expect(try await sheets.get(SheetRoute.answer(sheet.id).path).status == 404)
            #expect(try await sheets.reply(sheet) == nil)
        }
    }

    private static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "{{heading}}{{{heading}}}",
        "\u{202E}gnp.\u{0}\u{7}", String(repeating: "<b>&", count: 300),
    ]

    @Test func hostileTextStaysText() async throws {
        try await with { sheets in
            for text in Self.hostile {
                for kind in SheetQuestion.Kind.allCases {
                    var question = SheetQuestion(kind: kind, title: text, lines: [text, text])
                    question.enteredEmail = String(text.prefix(100))
                    let sheet = try await sheets.post(question)
                    let page = try await sheets.get(sheet.path)
                    #expect(page.status == 200 && page.choices.count == kind.choices.count)
                    let shown = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
                        .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
                        .replacing("\u{0}", with: " ").replacing("\u{7}", with: " ")
                    #expect(page.text.contains(shown.prefix(200)), "\(kind)")
                    for markup in ["<script", "<img", "<b>", "\u{0}", "\u{7}"] {
                        #expect(!page.text.contains(markup), "\(kind) \(markup)")
                    }
                }
                let sheet = try await sheets.post(Self.question(.signIn))
                let typed = text.utf8.prefix(200).map { "%" + String($0, radix: 16).leftPadded }.joined()
                let again = try await sheets.answer(sheet, "choice=accept&password=&email=\(typed)")
                #expect(again.status == 422 && !again.text.contains("<img") && !again.text.contains("<script"))
            }
        }
    }

    @Test func theAnswerLeadsBackToTheProgramOnThisMachine() async throws {
        try await with { sheets in
            var question = Self.question(.confirm, ["$2.99"])
            question.returnAddress = "http://monkey-credits.localhost:8123/bought?of=1&x=%3Cb%3E"
            let sheet = try await sheets.post(question)
            let page = try await sheets.get(sheet.path)
            #expect(
                page.headers.first(name: "Content-Security-Policy")?.contains(
                    "; form-action 'self' http://monkey-credits.localhost:8123; ") == true)
            #expect(try await sheets.answer(sheet, "choice=accept").location == question.returnAddress)
            #expect(try await sheets.answer(sheet, "choice=accept").location == question.returnAddress)
            let after = try await sheets.get(sheet.path)
            #expect(after.text.contains("href=\"http://monkey-credits.localhost:8123/bought?of=1&amp;x=%3Cb%3E\""))
            #expect(after.text.contains("Back to the app"))
            for address in [
                "http://example.com/", "javascript:alert(1)", "//localhost/", "http://localhost\\@x.example",
            ] {
                question.returnAddress = address
                let refused = try await sheets.server.control("POST", SheetRoute.post.path, try JSON.text(question))
                #expect(refused.status == 400 && refused.text.contains("“returnAddress”"), "\(address)")
            }
        }
    }

    @Test func questionsHaveBounds() async throws {
        try await with { sheets in
            let long = String(repeating: "a", count: 255)
            for (name, value) in [("email", long), ("enteredEmail", long), ("previous", long)] {
                let body = #"{"kind":"signIn","title":"","lines":[],"\#(name)":"\#(value)"}"#
                let reply = try await sheets.server.control("POST", SheetRoute.post.path, body)
                #expect(reply.status == 400 && reply.text.contains("“\(name)”"), "\(name)")
            }
        }
    }
}

extension String {
    /// Two digits of a byte.
    fileprivate var leftPadded: String { count == 1 ? "0" + self : self }
}
