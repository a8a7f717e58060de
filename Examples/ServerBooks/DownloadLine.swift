import MerchantClient

/// One line about a download: a bar on a terminal, words elsewhere.
public enum DownloadLine {
    private static let width = 24

    /// Such as `issue1  [#########---------------]  38 %  53 KB  2 s left`.
    public static func bar(_ download: MerchantDownload) -> String {
        let full = min(width, Int((Double(width) * download.progress).rounded(.down)))
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        let percent = String(Int(download.progress * 100))
        let padded = String(repeating: " ", count: max(0, 3 - percent.count)) + percent
        return "\(download.item)  [\(bar)]  \(padded) %  \(size(download.total))  \(rest(download))"
    }

    /// Such as `issue1: 38 %`.
    public static func words(_ download: MerchantDownload) -> String {
        "\(download.item): \(Int(download.progress * 100)) %"
    }

    private static func rest(_ download: MerchantDownload) -> String {
        download.secondsLeft.map { "\(Int(min($0, 86400).rounded(.up))) s left" } ?? "downloading"
    }

    /// Such as `53 KB`.
    static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1000: "\(bytes) bytes"
        case ..<1_000_000: "\(bytes / 1000) KB"
        default: "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
        }
    }
}
