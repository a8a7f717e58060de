import CornerstoreEncoding

/// Writes dates in the three forms of a `verifyReceipt` answer: `name`, `name_ms` and `name_pst`.
///
/// A purchase contains the same date twice, and many purchases are made on one day, so the last texts are kept.
struct DateMembers {
    /// The last date in milliseconds; initially a value that no date has.
    private var milliseconds = Int64.min
    private var gmt = CivilText(zone: " Etc/GMT")
    private var pacific = CivilText(zone: " America/Los_Angeles")
    /// The period of Los Angeles time that contains the last date.
    private var period = PacificTime.Period(seconds: 0..<0, offset: 0)

    /// Writes the three members of a date.
    @inline(__always)
    mutating func write(_ name: StaticString, _ date: ReceiptDate, to json: inout JSONBytes) {
        if date.milliseconds != milliseconds { keep(date) }
        json.member(name, ascii: gmt.bytes.span)
        json.member(name, suffix: "_ms", quotedNumber: date.milliseconds)
        json.member(name, suffix: "_pst", ascii: pacific.bytes.span)
    }

    @inline(never)
    private mutating func keep(_ date: ReceiptDate) {
        milliseconds = date.milliseconds
        let seconds = date.seconds
        if !period.seconds.contains(seconds) { period = PacificTime.period(secondsSince1970: seconds) }
        gmt.set(seconds)
        pacific.set(seconds + period.offset)
    }

    /// A text such as `2018-07-15 08:25:37 Etc/GMT`, in which only the parts that changed are written.
    private struct CivilText {
        private(set) var bytes: [UInt8]
        /// The day in the text, in days since 1970; initially a value that no date has.
        private var day = Int64.min

        init(zone: String) { bytes = Array("0000-00-00 00:00:00\(zone)".utf8) }

        /// Sets the time from seconds that were shifted into the zone.
        mutating func set(_ seconds: Int64) {
            let newDay = seconds.flooredQuotient(86_400)
            let isNewDay = newDay != day
            bytes.withUnsafeMutableBytes { bytes in
                guard let text = bytes.baseAddress else { return }
                if isNewDay { CivilTime(secondsSince1970: seconds).writeDay(to: text) }
                CivilTime.writeTime(ofDay: Int(seconds - newDay * 86_400), to: text + 11)
            }
            day = newDay
        }
    }
}
