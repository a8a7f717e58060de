import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct SpanTests {
    @Test(arguments: [
        ("3d12h", 302_400_000), ("90m", 5_400_000), ("1w", 604_800_000), ("500ms", 500), ("1s500ms", 1_500),
        ("-2h", -7_200_000),
        ("1D", 86_400_000), ("0s", 0),
    ])
    func reads(_ text: String, _ milliseconds: Int64) {
        #expect(Span(argument: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [("1mo", 1, 0), ("1y", 12, 0), ("-1y6mo", -18, 0), ("2mo3d1m", 2, 259_260_000)])
    func readsMonths(_ text: String, _ months: Int64, _ milliseconds: Int64) {
        #expect(Span(argument: text)?.months == months && Span(argument: text)?.milliseconds == milliseconds)
    }

    /// As an argument it would be read as the flags -1 and -h, and -h is a cry for help.
    @Test func aNegativeDurationIsNotReadAsAFlag() async throws {
        #expect(Span.shielded(["clock", "advance", "-1h", "--json"]) == ["clock", "advance", "\u{2212}1h", "--json"])
        #expect(Span(argument: "\u{2212}1h")?.milliseconds == -3_600_000)
        for untouched in [["clock", "-h"], ["clock", "-1", "-", "-1x", "-e", "production"], ["buy", "-1h"]] {
            #expect(Span.shielded(untouched) == untouched)
        }
        try await RunningStore.with { store in
            for line in ["clock advance -1h --json", "clock advance --json -- -1h"] {
                let result = await store.run(line)
                let offset = try result.output.object()["offset"] as? Int
                #expect(result.status == 0 && (offset ?? 0) <= -3_599_000, "\(result)")
            }
        }
    }

    @Test(arguments: [
        "", "-", "3", "d", "3d12", "3x", "--3d", "3 d", "3.5d", "９d", "9223372036854775807w", "106751991168d", "1o",
        "99999999y",
    ])
    func refuses(_ text: String) {
        #expect(Span(argument: text) == nil)
    }

    @Test(arguments: [
        (0, "0s"), (302_400_000, "3d12h"), (-61_000, "-1m1s"), (999, "0s"), (Int64.min, "-106751991167d7h12m55s"),
    ])
    func writes(_ milliseconds: Int64, _ text: String) {
        #expect(Span.text(milliseconds) == text)
    }
}
