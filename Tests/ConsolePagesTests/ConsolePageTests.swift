import Foundation
import Testing

@testable import ConsolePages

@Suite(.timeLimit(.minutes(1))) struct ConsolePageTests {
    /// A page in which every field has a value, with the same text everywhere.
    static func full(_ x: String) -> ConsolePage {
        var frame = ConsoleFrame()
        frame.title = x
        frame.homeLink = x
        frame.environment = x
        frame.environmentClass = x
        frame.environmentNote = x
        frame.environments = [ConsoleLink(x, x, isCurrent: true)]
        frame.navigation = [ConsoleLink(x, x, isCurrent: true, key: x)]
        frame.apps = [ConsoleOption(x, x, isChosen: true)]
        frame.filterAction = x
        frame.filterHidden = [ConsoleHidden(x, x)]
        frame.clockText = x
        frame.clockTime = x
        frame.clockNote = x
        frame.isClockMoved = true
        frame.isClockFrozen = true
        frame.clockLink = x
        frame.findLink = x
        frame.term = x
        frame.events = x
        frame.topics = x
        frame.stylesheet = x
        frame.script = x
        frame.uploadScript = x
        frame.icon = x
        frame.signOut = button(x)
        var section = ConsoleSection(x, x, text: x, isLive: true)
        section.warning = x
        section.numbers = [ConsoleNumber(x, x, link: x, note: x, tone: .warn), ConsoleNumber(x, x)]
        section.steps = [ConsoleStep(x, isDone: true, link: x, command: x), ConsoleStep(x, isDone: false)]
        section.facts = [
            ConsoleFact(x, x, link: x, note: x, tone: .bad, isID: true), ConsoleFact(x, x, isID: true),
            ConsoleFact(x, x),
        ]
        section.bars = [ConsoleBar(x: 1, y: 2, width: 3, height: 4, label: x)]
        section.barsLabel = x
        section.axis = [x]
        section.links = [ConsoleLink(x, x)]
        section.filter = form(x)
        section.forms = [form(x)]
        section.codes = [ConsoleCode(x, x)]
        var table = ConsoleTable(x, [ConsoleColumn(x), ConsoleColumn(x, isNumber: true)], nothing: x, command: x)
        var time = ConsoleCell(x, link: x, note: x, tone: .good, isID: true)
        time.time = x
        table.add([time, ConsoleCell(x, isID: true)], tone: .dim)
        table.add([ConsoleCell(buttons: [button(x)]), ConsoleCell(x)])
        table.first = x
        table.firstLabel = x
        table.next = x
        table.nextLabel = x
        section.table = table
        var group = ConsoleEvent(x, at: x, text: x, ago: x, detail: x, link: x, note: x, tone: .good)
        group.steps = [group]
        var gap = ConsoleEvent(x, at: nil)
        gap.isGap = true
        section.events = [group, gap]
        var empty = ConsoleSection(x, x)
        empty.table = ConsoleTable(x, [], nothing: x, command: x)
        var page = ConsolePage(x, frame: frame)
        page.text = x
        page.message = x
        page.problem = x
        page.requestID = x
        page.leave = x
        page.trail = [ConsoleLink(x, x)]
        page.sections = [section, empty]
        page.commands = [ConsoleCode(x, x)]
        page.finish { _ in x }
        return page
    }

    private static func button(_ x: String) -> ConsoleButton {
        ConsoleButton(x, about: x, action: x, hidden: [ConsoleHidden(x, x)], tone: .bad)
    }

    private static func form(_ x: String) -> ConsoleForm {
        var form = ConsoleForm(
            x, action: x,
            fields: ConsoleField.Kind.allCases.map {
                ConsoleField(
                    x, x, $0, value: x, options: [ConsoleOption(x, x, isChosen: true)], hint: x, isRequired: true,
                    isOn: true)
            }, hidden: [ConsoleHidden(x, x)], button: x, tone: .bad, text: x, cancel: x, isLine: true)
        form.problem = x
        form.fields[0].problem = x
        return form
    }

    @Test(arguments: [
        "<script>alert(1)</script>\"'&", "\u{202E}gnp.<img src=x onerror=alert(1)>",
        String(repeating: "<b>&", count: 250),
    ])
    func hostileTextStaysTextInEveryField(_ hostile: String) throws {
        let html = try PageTemplates.embedded.get().html(Self.full(hostile))
        #expect(html.hasPrefix("<!DOCTYPE html>") && html.hasSuffix("</html>\n"))
        #expect(!html.contains("<script>") && !html.contains("<img src=x") && !html.contains("<b>"))
        #expect(html.components(separatedBy: "<script src=").count == 3)
        #expect(html.components(separatedBy: "<script").count == 3)
        #expect(html.components(separatedBy: "&lt;").count > 150)
    }

    /// Each field of each part reaches the page.
    @Test func everyFieldIsShown() throws {
        let templates = PageTemplates.files.filter {
            ["console", "section", "table", "form", "button", "code", "layout", "timeline", "event"].contains(
                $0.key.prefix { $0 != "." })
                && $0.key.hasSuffix(".mustache")
        }
        let text = templates.values.map { String(decoding: $0, as: UTF8.self) }.joined()
        let page = Self.full("x")
        let section = page.sections[0]
        let parts: [Any?] = [
            page, page.frame, section, section.numbers[0], section.steps[0], section.facts[0], section.bars[0],
            section.links[0], section.filter, section.forms[0].fields[0], section.codes[0], section.table,
            section.table?.rows[0], section.table?.rows[0].cells[0], section.table?.columns[0],
            section.table?.rows[1].cells[0].buttons[0], page.frame.apps[0], page.frame.filterHidden[0],
            section.events[0],
        ]
        for part in parts.compactMap({ $0 }) {
            for (label, _) in Mirror(reflecting: part).children {
                guard let label, !["frame", "kind", "codesHaveCommands"].contains(label) else { continue }
                #expect(text.contains(label), "\(type(of: part)).\(label)")
            }
        }
    }

    /// A field that an inner part leaves out must not show the outer one's.
    @Test func aMissingInnerFieldShowsNothing() throws {
        var page = ConsolePage("Heading")
        page.text = "OUTER"
        page.problem = "PROBLEM"
        var section = ConsoleSection("a", "A")
        section.forms = [
            ConsoleForm(action: "/a", fields: [ConsoleField("f", "F")], button: "Send")
        ]
        var table = ConsoleTable("T", [ConsoleColumn("C")], nothing: "")
        table.add([ConsoleCell("cell")])
        section.table = table
        page.sections = [section]
        let html = try PageTemplates.embedded.get().html(page)
        #expect(html.components(separatedBy: "OUTER").count == 2)
        #expect(html.components(separatedBy: "PROBLEM").count == 2)
    }

    @Test func aRefusedFormTakesWhatWasTypedExceptPasswords() {
        var page = ConsolePage("Heading")
        var section = ConsoleSection("a", "A")
        section.forms = [
            ConsoleForm(
                action: "/a",
                fields: [
                    ConsoleField("t", "T", value: "old"), ConsoleField("p", "P", .password),
                    ConsoleField("k", "K", .tick, isOn: true),
                    ConsoleField(
                        "c", "C", .choice, options: [ConsoleOption("1", "1", isChosen: true), ConsoleOption("2", "2")]),
                ], button: "Send")
        ]
        page.sections = [section]
        let typed = ["t": "new", "p": "secret", "c": "2"]
        #expect(!page.fill(action: "/b", problem: "no", field: nil) { typed[$0] })
        #expect(page.fill(action: "/a", problem: "no", field: "t") { typed[$0] })
        let form = page.sections[0].forms[0]
        #expect(form.problem == "no" && form.fields[0].value == "new" && form.fields[0].problem == "no")
        #expect(form.fields[1].value.isEmpty && !form.fields[2].isOn)
        #expect(form.fields[3].options.map(\.isChosen) == [false, true])
    }

    @Test(
        arguments: [
            ("2", ["1", "2"], "2"), ("eleventh", ["1", "2", "eleventh"], "eleventh"), (nil, ["1", "2"], "1"),
        ] as [(String?, [String], String)])
    func `A choice stays, also one that the page does not offer`(
        _ sent: String?, _ offered: [String], _ chosen: String
    ) {
        var field = ConsoleField(
            "c", "C", .choice, options: [ConsoleOption("1", "1", isChosen: true), ConsoleOption("2", "2")])
        field.take(sent)
        #expect(field.options.map(\.value) == offered)
        #expect(field.options.filter(\.isChosen).map(\.value) == [chosen])
    }

    @Test func `Of several forms with one address the one that was sent is filled`() {
        var page = ConsolePage("Heading")
        var section = ConsoleSection("a", "A")
        section.forms = ["products", "purchases"].map {
            ConsoleForm(
                action: "/a", fields: [ConsoleField("count", "Requests")],
                hidden: [ConsoleHidden("operation", $0), ConsoleHidden("key", "new"), ConsoleHidden("revision", "6")],
                button: "Order")
        }
        page.sections = [section]
        let sent = ["operation": "purchases", "key": "old", "revision": "5", "count": "0"]
        #expect(page.fill(action: "/a", problem: "no", field: "count") { sent[$0] })
        #expect(page.sections[0].forms.map(\.problem) == [nil, "no"])
        #expect(page.sections[0].forms.map { $0.fields[0].value } == ["", "0"])
        #expect(page.sections[0].forms.map { $0.hidden.map(\.value).last } == ["6", "5"])
        // The form is gone. What was typed belongs into no other.
        let gone = ["operation": "restores", "count": "0"]
        page.sections = [section]
        #expect(!page.fill(action: "/a", problem: "no", field: "count") { gone[$0] })
        #expect(page.sections[0].forms.map(\.problem) == [nil, nil])
    }

    /// The script puts what was typed back by the ids of fields.
    @Test func `The ids of a form's fields stay when other forms come`() {
        func section(_ id: String, _ versions: [String], revision: Int) -> ConsoleSection {
            var section = ConsoleSection(id, "Versions", isLive: true)
            section.forms = versions.map {
                ConsoleForm(
                    "Reject version \($0)", action: "/reject", fields: [ConsoleField("reason", "Reason")],
                    hidden: [ConsoleHidden("version", $0), ConsoleHidden("revision", "\(revision)")], button: "Reject")
            }
            return section
        }
        func ids(_ sections: [ConsoleSection]) -> [String] {
            var page = ConsolePage("Heading")
            page.sections = sections
            page.finish { $0 }
            return page.sections.flatMap { $0.forms.map { $0.fields[0].id } }
        }
        let before = ids([section("versions", ["1.0"], revision: 1)])
        let after = ids([
            section("others", ["1.0"], revision: 2), section("versions", ["2.0", "1.0", "1.0"], revision: 2),
        ])
        #expect(before.count == 1 && after[2] == before[0])
        #expect(Set(after).count == 4 && after.allSatisfy { $0.hasSuffix("-reason") })
    }

    @Test func theFirstPageIsSmall() throws {
        let templates = try PageTemplates.embedded.get()
        #expect(templates.consoleScript.bytes.count <= 8_000)
        #expect(templates.uploadScript.bytes.count <= 2_500)
        let assets = [templates.consoleStylesheet, templates.consoleScript, templates.consoleIcon]
        #expect(assets.map(\.bytes.count).reduce(0, +) < 30_000)
        #expect(assets.allSatisfy { $0.path.contains("/assets/console-") })
    }

    @Test func tokensAndSessionsEnd() {
        let time = Time()
        let sessions = ConsoleSessions(now: { time.now })
        let (one, other) = (sessions.begin(), sessions.begin())
        #expect(one != other && one.count == 64 && sessions.use(one) && !sessions.use("x"))
        let token = sessions.token(one, action: "/a")
        #expect(sessions.accepts(token, one, action: "/a"))
        #expect(!sessions.accepts(token, one, action: "/b") && !sessions.accepts(token, other, action: "/a"))
        #expect(
            !sessions.accepts("", one, action: "/a") && !sessions.accepts("é" + token.dropFirst(2), one, action: "/a"))
        sessions.end(one)
        #expect(!sessions.use(one) && sessions.use(other))
        #expect(sessions.message(sessions.keep("done")) == "done" && sessions.message("x") == nil)
    }

    private final class Time: Sendable {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
    }
}
