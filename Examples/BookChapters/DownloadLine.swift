import Foundation

/// Formats a download's progress as a line: a progress bar on a terminal, text elsewhere.
public enum DownloadLine {
    private static let width = 24

    /// Returns a progress bar, such as `Chapter 1  [#########---------------]  38 %  53 KB  2 s left`.
    public static func bar(_ chapter: Chapter, _ download: BookStore.Download) -> String {
        let full = Int((Float(width) * download.progress).rounded(.down))
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        let percent = String(Int(download.progress * 100))
        let padded = String(repeating: " ", count: max(0, 3 - percent.count)) + percent
        return "\(chapter.name)  [\(bar)]  \(padded) %  \(size(download.length))  \(state(download))"
    }

    /// Returns a text, such as `Chapter 1: 38 %, 2 s left`.
    public static func words(_ chapter: Chapter, _ download: BookStore.Download) -> String {
        "\(chapter.name): \(Int(download.progress * 100)) %, \(state(download))"
    }

    private static func state(_ download: BookStore.Download) -> String {
        switch download.state {
        case .waiting: "waits"
        case .active: download.secondsLeft.map { "\(Int($0.rounded(.up))) s left" } ?? "downloading"
        case .paused: "paused"
        case .finished: "finished"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Returns a size, such as `53 KB`.
    static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1000: "\(bytes) bytes"
        case ..<1_000_000: "\(bytes / 1000) KB"
        default: "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
        }
    }
}
