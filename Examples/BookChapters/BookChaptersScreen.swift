import ConsolePages
import DeviceScreen
import StoreKit

/// The app on a page in a browser. A pressed button calls what a typed line calls.
extension BookChaptersApp: ScreenApp {
    /// The app's name.
    public var name: String { "Book Chapters" }

    /// Whether a purchase or a restore is in progress. The page shows a download's progress, and does not wait for it.
    public var isBusy: Bool { store.isAsking }

    /// The chapters, with the bars of downloads, and the chapter that is read.
    public var content: ScreenContent {
        var content = ScreenContent()
        content.items = Chapter.allCases.map(item)
        content.buttons = [
            ConsoleButton(press: "update", "Get new content", about: "Get new content, and restore earlier purchases")
        ]
        guard let open, let owned = shelf.newest(of: open.productIdentifier), let text = try? ChapterText(owned) else {
            return content
        }
        content.pictures = [
            ScreenPicture(
                ScreenAddress.picture("chapter\(open.rawValue)"), about: "The picture of chapter \(open.rawValue)")
        ]
        content.read(text.text, heading: "\(open.name), version \(text.version)")
        return content
    }

    private func item(_ chapter: Chapter) -> ScreenItem {
        let product = store.product(of: chapter)
        var item = ScreenItem(product?.localizedTitle ?? chapter.name, text: store.label(of: chapter))
        let owned = shelf.newest(of: chapter.productIdentifier)
        if owned != nil { item.buttons.append(button("read", "Read", chapter)) }
        if let download = downloads[chapter], [.waiting, .active, .paused, .failed].contains(download.state) {
            item.progress = ScreenProgress(
                "Download of \(chapter.name)", percent: Int(download.progress * 100),
                text: DownloadLine.words(chapter, download))
            item.buttons.append(
                [.paused, .failed].contains(download.state)
                    ? button("resume", "Resume", chapter) : button("pause", "Pause", chapter))
        } else if owned == nil {
            if !SKPaymentQueue.canMakePayments() {
                item.text = "AppStore disabled"
            } else if product?.isDownloadable == false {
                item.text = "Not out yet"
            } else if product != nil {
                (item.text, item.price) = (nil, store.label(of: chapter))
                item.buttons = [button("buy", "Buy", chapter)]
            }
        }
        return item
    }

    private func button(_ verb: String, _ label: String, _ chapter: Chapter) -> ConsoleButton {
        ConsoleButton(press: "\(verb)-\(chapter.rawValue)", label, about: "\(label) \(chapter.name)")
    }

    /// Buys, reads, pauses or resumes a chapter, or gets new content.
    public func press(_ press: ScreenPress) {
        let words = press.button.split(separator: "-")
        guard let chapter = words.last.flatMap({ Int($0) }).flatMap(Chapter.init(rawValue:)) else {
            if press.button == "update" { update() }
            return
        }
        switch words.first {
        case "buy": buy(chapter)
        case "read": open = chapter
        case "pause": store.pause()
        case "resume": resume(chapter)
        default: break
        }
    }

    private func resume(_ chapter: Chapter) {
        let queue = SKPaymentQueue.default()
        let downloads = queue.transactions.flatMap(\.downloads).filter {
            $0.contentIdentifier == chapter.productIdentifier
        }
        queue.resume(downloads.filter { $0.state == .paused })
        queue.start(downloads.filter { $0.state == .failed })
    }

    /// Downloads newer versions, and chapters bought on another device.
    public func restore() { store.restore() }

    /// The picture of a chapter that is on the shelf.
    public func picture(_ name: String) -> [UInt8]? {
        guard let chapter = Chapter.allCases.first(where: { name == "chapter\($0.rawValue)" }),
            let item = shelf.newest(of: chapter.productIdentifier), let text = try? ChapterText(item)
        else { return nil }
        return (try? Data(contentsOf: text.picture)).map(Array.init)
    }
}
