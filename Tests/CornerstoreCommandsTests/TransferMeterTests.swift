import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct TransferMeterTests {
    @Test func progressShowsPartRateAndTimeLeft() {
        var meter = TransferMeter(total: 1_000_000_000, done: 0)
        #expect(meter.text == "0 %  0 bytes of 1.0 GB" && meter.rate == nil && meter.secondsLeft == nil)
        for second in 0...10 { meter.note(Int64(second) * 20_000_000, at: .seconds(second)) }
        #expect(meter.rate == 20_000_000)
        #expect(meter.text == "20 %  200.0 MB of 1.0 GB  20.0 MB/s  40 s left")
        #expect(meter.bar == "[####                    ]")
        // Slower from now on, it is soon known.
        for second in 11...16 { meter.note(200_000_000 + Int64(second - 10) * 1_000_000, at: .seconds(second)) }
        #expect(meter.rate == 1_000_000 && meter.secondsLeft == 794)
        meter.note(1_000_000_000, at: .seconds(17))
        #expect(
            meter.percent == 100 && !meter.text.contains("left")
                && meter.bar == "[\(String(repeating: "#", count: 24))]")
    }

    @Test func earlierBytesDoNotCountForTheRate() {
        var meter = TransferMeter(total: 100_000, done: 90_000)
        #expect(meter.percent == 90 && meter.rate == nil)
        meter.note(90_000, at: .zero)
        meter.note(95_000, at: .seconds(1))
        #expect(meter.rate == 5000 && meter.secondsLeft == 1)
        // The other side lost some.
        meter.note(10_000, at: .seconds(2))
        #expect(meter.rate == nil && meter.percent == 10)
    }

    @Test func `A file that is longer than announced fills the bar`() {
        var meter = TransferMeter(total: 100, done: 0)
        meter.note(250, at: .zero)
        #expect(meter.percent == 100 && meter.bar == "[\(String(repeating: "#", count: 24))]")
        meter.note(250, of: 500, at: .seconds(1))
        #expect(meter.percent == 50 && meter.text.contains("250 bytes of 500 bytes"))
    }

    @Test func sizesAndTimesAreFormatted() {
        #expect(TransferMeter.size(999) == "999 bytes" && TransferMeter.size(1000) == "1.0 kB")
        #expect(TransferMeter.size(999_949) == "999.9 kB" && TransferMeter.size(999_950) == "1.0 MB")
        #expect(TransferMeter.size(2_000_000_000) == "2.0 GB")
        #expect(TransferMeter.time(59) == "59 s" && TransferMeter.time(61) == "1 min 1 s")
        #expect(TransferMeter.time(3660) == "1 h 1 min")
    }
}
