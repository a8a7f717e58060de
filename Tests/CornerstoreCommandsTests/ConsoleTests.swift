import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct ConsoleTests {
    @Test func tablesAlignAndLeaveEmptyColumnsOut() {
        let table = Table(heading: ["id", "note", "name"], rows: [["1", "", "a"], ["1000", "", "bb"]])
        #expect(table.text(Style(isColored: false)) == "id    name\n1     a\n1000  bb")
    }

    @Test func textFromOutsideContainsNoControlCharacters() {
        let table = Table(heading: ["id"], rows: [["\u{1B}[31mred\u{7}\r\n"]])
        #expect(table.text(Style(isColored: false)) == "id\n[31mred")
        #expect(Table.fields([("name", "a\u{1B}[2Jb"), ("none", nil)], Style(isColored: false)) == "name  a[2Jb")
    }

    @Test func colourIsUsedOnlyWhenWanted() {
        #expect(Style(isColored: true).good("yes") == "\u{1B}[32myes\u{1B}[0m")
        #expect(Style(isColored: false).good("yes") == "yes")
        // The tests' output is no terminal.
        #expect(!Console.standard(["TERM": "xterm", "NO_COLOR": "1"]).style.isColored)
    }

    @Test(arguments: [
        ("anna@example.com", "anna@example.com"), ("Anna@Example.com", "anna@example.com"),
        ("../../etc", "%2e./..%2fetc"),
        ("a/b", "a%2fb"), (".", "%2e"),
    ])
    func folderNamesStayInside(_ email: String, _ name: String) {
        let made = BuyCommand.folderName(email)
        #expect(made == name.replacing("%2e./..%2fetc", with: "%2e.%2f..%2fetc"))
        #expect(!made.contains("/"))
        #expect(made != ".." && made != ".")
    }
}
