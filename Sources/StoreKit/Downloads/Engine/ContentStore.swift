import Foundation
import StoreWire

/// The store as the downloads see it: a question that is always answered, if with "not now".
protocol ContentStore: Sendable {
    func grant(for download: DownloadEntry) async -> ContentAnswer
}

/// How asking for a transaction's content ended.
enum ContentAnswer: Sendable {
    case granted(GrantedContent)
    case refused(PaymentFailure)
    case unreachable
}

/// Where the content is and what has to arrive, looked through: what the store says is not taken on trust.
struct GrantedContent: Sendable, Equatable {
    /// The largest package, and the most that one may hold: 2 GB (Apple's limit for hosted content).
    static let largest: Int64 = 2 << 30

    var address: URL
    var version: String
    /// Bytes of the package.
    var length: Int64
    /// Bytes of the files in it.
    var unpackedLength: Int64
    /// Of the package, in lower-case hexadecimal.
    var sha256: String
}

extension GrantedContent {
    /// Reads a grant of the store at `store` for the content of `product`; nil when it makes no sense.
    init?(_ grant: ContentGrant, at store: URL, for product: ProductID) {
        guard grant.contentID == product, (1...Self.largest).contains(grant.length),
            (0...Self.largest).contains(grant.unpackedLength), grant.url.utf8.count <= 8192,
            !grant.version.isEmpty, grant.version.utf8.count <= 128,
            let address = Self.address(grant.url, at: store)
        else { return nil }
        self.init(
            address: address, version: grant.version, length: grant.length, unpackedLength: grant.unpackedLength,
            sha256: grant.sha256.lowercased())
    }

    /// An absolute address, or a path at the store itself.
    private static func address(_ text: String, at store: URL) -> URL? {
        if text.hasPrefix("/"), !text.hasPrefix("//") {
            var base = store.absoluteString
            while base.hasSuffix("/") { base.removeLast() }
            return URL(string: base + text)
        }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""), url.host != nil
        else { return nil }
        return url
    }
}

/// The store over its protocol.
struct RemoteContentStore: ContentStore {
    let session: StoreSession
    let store: URL

    func grant(for download: DownloadEntry) async -> ContentAnswer {
        guard let account = download.account else { return .refused(.otherAccount) }
        let request = ContentRequest(bundleID: session.bundleID, version: download.isBegun ? download.version : nil)
        do {
            let grant = try await session.asAccount(account, mayAsk: true) { token throws(StoreFailure) in
                try await session.client.content(download.id, request, token: token)
            }
            guard let granted = GrantedContent(grant, at: store, for: download.productID) else {
                return .refused(.contentGrant)
            }
            return .granted(granted)
        } catch {
            switch error {
            case .unreachable: return .unreachable
            case .notSignedIn: return .refused(.otherAccount)
            case .refused(let refusal): return .refused(PaymentFailure(contentRefusal: refusal))
            }
        }
    }
}
