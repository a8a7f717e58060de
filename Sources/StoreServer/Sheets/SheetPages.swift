import ConsolePages
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import StoreWire

/// Makes the pages of payment sheets: a question with its form, or what became of it.
enum SheetPages {
    /// The page of a question.
    /// - Parameters:
    ///   - typed: the form that was refused.
    ///   - problem: what was wrong with it.
    static func question(
        _ question: SheetQuestion, _ id: String, typed: QueryParameters? = nil, problem: SheetFormProblem? = nil
    ) throws -> Response {
        var page = try page(shown(question.title), [], question)
        page.action = SheetRoute.answer(id).path
        page.fields = fields(question, typed?["email"] ?? question.enteredEmail, chosen: typed?["option"])
        page.buttons = question.kind.choices.map { choice, label in
            SheetButton(choice.rawValue, label, isPlain: choice != .accept)
        }
        let lines = question.lines.map(shown)
        var wrong = problem
        switch question.kind {
        case .confirm, .refund: (page.price, page.lines) = (lines.first, Array(lines.dropFirst()))
        case .notice, .priceIncrease: page.lines = lines
        case .signIn, .code:
            // The lines say what was wrong with the entry before.
            if problem == nil, !lines.isEmpty {
                wrong = SheetFormProblem(field: page.fields.last?.name, message: lines.joined(separator: " "))
            }
        }
        if let wrong, let index = page.fields.firstIndex(where: { $0.name == wrong.field }) {
            page.fields[index].problem = wrong.message
        } else {
            page.problem = wrong?.message
        }
        return try response(page, question, status: problem == nil ? .ok : .unprocessableContent)
    }

    /// The page of an answered question.
    static func answered(_ answered: SheetBoard.Answered, _ id: String) throws -> Response {
        let (heading, sentence) = result(answered)
        var page = try page(heading, ["You answered “\(label(answered))”.", sentence], answered.question)
        page.back = answered.question.returnAddress
        if page.back == nil, answered.question.kind.mayGoOn(after: answered.choice) {
            page.again = SheetRoute.page(id).path
        }
        return try response(page, answered.question)
    }

    /// The page for somebody who gives another answer than the first.
    static func conflict(_ answered: SheetBoard.Answered) throws -> Response {
        var page = try page(
            "Answered already", ["The first answer counts: “\(label(answered))”."], answered.question)
        page.back = answered.question.returnAddress
        return try response(page, answered.question, status: .conflict)
    }

    /// The page for an address without a question.
    static func gone() throws -> Response {
        let text =
            "There is no question at this address: it was answered long ago, it expired, or the address is wrong. "
            + "Return to the app and start there again."
        return try response(page("This question is gone", [text], nil), nil, status: .notFound)
    }

    /// The style sheet.
    /// - Throws: ``HTTPProblem`` 404 for another file.
    static func asset(_ path: String) throws -> Response {
        let asset = try PageTemplates.embedded.get().stylesheet
        guard asset.path == path else {
            throw HTTPProblem(.notFound, code: "not_found", message: "There is no such file. Load the page again.")
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable",
                .xContentTypeOptions: "nosniff",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
    }

    // MARK: Parts

    private static func page(_ heading: String, _ lines: [String], _ question: SheetQuestion?) throws -> SheetPage {
        let stylesheet = try PageTemplates.embedded.get().stylesheet.path
        var page = SheetPage(heading, lines: lines, frame: SheetFrame(title: heading, stylesheet: stylesheet))
        page.app = question?.app.map(shown)
        if let environment = question?.environment {
            page.environment = environment.rawValue
            page.environmentClass = environment.name
            page.environmentNote =
                environment == .sandbox ? "This is a test: no money moves." : "Purchases count as real ones."
        }
        return page
    }

    private static func fields(_ question: SheetQuestion, _ email: String?, chosen: String?) -> [SheetField] {
        switch question.kind {
        case .confirm, .notice, .priceIncrease: []
        case .code: [SheetField("code", "Code", type: "text", autocomplete: "off")]
        case .refund:
            [
                SheetField(
                    "option", "Reason",
                    options: (question.options ?? []).map {
                        ConsoleOption(shown($0.value), shown($0.label), isChosen: $0.value == chosen)
                    })
            ]
        case .signIn:
            [
                SheetField(
                    "email", "E-mail address", type: "email", autocomplete: "username",
                    value: shown(question.email ?? email ?? ""), isFixed: question.email != nil),
                SheetField("password", "Password", type: "password", autocomplete: "current-password"),
            ]
        }
    }

    /// The text without control characters, which are no characters of HTML.
    private static func shown(_ text: String) -> String {
        let space: Unicode.Scalar = " "
        let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? space : $0 }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func label(_ answered: SheetBoard.Answered) -> String {
        answered.question.kind.choices.first { $0.choice == answered.choice }?.label ?? answered.choice.rawValue
    }

    private static func result(_ answered: SheetBoard.Answered) -> (heading: String, sentence: String) {
        switch (answered.question.kind, answered.choice) {
        case (.confirm, .accept): ("Thank you", "Return to the app: it buys now.")
        case (.confirm, _): ("Cancelled", "Nothing was bought. Return to the app.")
        case (.signIn, .accept): ("Thank you", "Return to the app: it signs in now.")
        case (.signIn, _): ("Cancelled", "Nobody was signed in. Return to the app.")
        case (.notice, _): ("Thank you", "Return to the app.")
        case (.code, .accept): ("Thank you", "Return to the app: it redeems the code now.")
        case (.code, _): ("Cancelled", "No code was redeemed. Return to the app.")
        case (.refund, .accept): ("Thank you", "Return to the app: it requests the refund now.")
        case (.refund, _): ("Cancelled", "No refund was requested. Return to the app.")
        case (.priceIncrease, .accept): ("Thank you", "The subscription renews at the new price. Return to the app.")
        case (.priceIncrease, .decline): ("Declined", "The subscription ends with its period. Return to the app.")
        case (.priceIncrease, .later): ("Later", "Return to the app. The app asks again at its next launch.")
        }
    }

    /// Pages load the style sheet alone, run no script, and cannot be framed.
    private static func response(
        _ page: SheetPage, _ question: SheetQuestion?, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
        // Browsers also check where the answer to a form leads.
        let back = question?.returnAddress.flatMap { ReturnAddress($0) }.map { " " + $0.origin } ?? ""
        headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; form-action 'self'\(back); base-uri 'none'; frame-ancestors 'none'"
        headers[.xContentTypeOptions] = "nosniff"
        // The address is a secret to others. Without any referrer, a form's `Origin` would be `null`.
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "same-origin" }
        let html = try PageTemplates.embedded.get().html(page)
        return Response(
            status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }
}

extension SheetQuestion.Kind {
    /// The answers, each with its button's words.
    var choices: [(choice: SheetReply.Choice, label: String)] {
        switch self {
        case .confirm: [(.accept, "Buy"), (.decline, "Cancel")]
        case .signIn: [(.accept, "Sign in"), (.decline, "Cancel")]
        case .notice: [(.accept, "OK")]
        case .code: [(.accept, "Redeem"), (.decline, "Cancel")]
        case .refund: [(.accept, "Request the refund"), (.decline, "Cancel")]
        case .priceIncrease: [(.accept, "Agree"), (.decline, "Decline"), (.later, "Later")]
        }
    }

    /// Whether the app may ask something else after an answer.
    func mayGoOn(after choice: SheetReply.Choice) -> Bool {
        choice == .accept && [.signIn, .code, .confirm].contains(self)
    }
}

/// A problem with a form of a payment sheet.
struct SheetFormProblem: Error {
    /// The name of the field; nil for the whole form.
    var field: String?
    var message: String
}

extension SheetReply {
    /// Reads the form of a question's page.
    /// - Throws: ``SheetFormProblem`` when the customer must correct something.
    init(_ form: QueryParameters, to question: SheetQuestion) throws(SheetFormProblem) {
        guard let choice = form["choice"].flatMap({ Choice(rawValue: $0) }),
            question.kind.choices.contains(where: { $0.choice == choice })
        else { throw SheetFormProblem(field: nil, message: "Press one of the buttons.") }
        self.init(choice: choice)
        guard choice == .accept else { return }
        switch question.kind {
        case .confirm, .notice, .priceIncrease: break
        case .code:
            code = form["code"]?.trimmingCharacters(in: .whitespacesAndNewlines)
            if code?.isEmpty != false { throw SheetFormProblem(field: "code", message: "Type the code.") }
        case .refund:
            option = question.options?.first { $0.value == form["option"] }?.value
            if option == nil { throw SheetFormProblem(field: "option", message: "Choose a reason.") }
        case .signIn:
            email = question.email ?? form["email"]?.trimmingCharacters(in: .whitespacesAndNewlines)
            password = form["password"]
            if email?.isEmpty != false {
                throw SheetFormProblem(field: "email", message: "Type an e-mail address.")
            }
            if (email?.utf8.count ?? 0) > SheetController.longestEmail {
                throw SheetFormProblem(
                    field: "email", message: "An e-mail address has at most \(SheetController.longestEmail) bytes.")
            }
            if password?.isEmpty != false { throw SheetFormProblem(field: "password", message: "Type the password.") }
        }
    }
}
